//! Hashes of 64 and 128 bits with a random key. They decide whether small files are equal.

use std::fmt;
use std::hash::{BuildHasher, RandomState};

use twox_hash::{XxHash3_64, XxHash3_128};

/// Length of the key in bytes. XXH3 calls the key a secret.
const KEY_BYTES: usize = 192;

/// The random key of a hash: XXH3 with a random secret.
///
/// The key differs in each run and never leaves the process. Nobody can therefore prepare files
/// that differ but have the same hash. Two different files have the same 128-bit hash with a
/// probability of about 2^-128, and the same 64-bit hash with a probability of about 2^-64.
pub struct HashKey(Box<[u8; KEY_BYTES]>);

impl HashKey {
    /// Returns a new random key.
    pub fn random() -> HashKey {
        // The standard library seeds this hasher with random bytes of the system.
        let random = RandomState::new();
        let mut key = Box::new([0; KEY_BYTES]);
        for (number, chunk) in (0_u64..).zip(key.chunks_exact_mut(8)) {
            chunk.copy_from_slice(&random.hash_one(number).to_ne_bytes());
        }
        HashKey(key)
    }

    /// Returns the 64-bit hash of `bytes`.
    ///
    /// # Panics
    ///
    /// Never, because the key is long enough.
    pub fn hash64(&self, bytes: &[u8]) -> u64 {
        XxHash3_64::oneshot_with_secret(&*self.0, bytes).expect("a key of 192 bytes")
    }

    /// Returns the 128-bit hash of `bytes`.
    ///
    /// # Panics
    ///
    /// Never, because the key is long enough.
    pub fn hash128(&self, bytes: &[u8]) -> u128 {
        XxHash3_128::oneshot_with_secret(&*self.0, bytes).expect("a key of 192 bytes")
    }
}

impl fmt::Debug for HashKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HashKey")
    }
}

#[cfg(test)]
mod tests {
    use super::HashKey;

    #[test]
    fn hashes_depend_on_the_key_and_on_every_byte() {
        let (one, other) = (HashKey::random(), HashKey::random());
        for length in [1, 7, 100, 1000, 8192, 65536] {
            let bytes = vec![7; length];
            assert_eq!(one.hash64(&bytes), one.hash64(&bytes));
            assert_eq!(one.hash128(&bytes), one.hash128(&bytes));
            assert_ne!(one.hash64(&bytes), other.hash64(&bytes));
            assert_ne!(one.hash128(&bytes), other.hash128(&bytes));
            for at in [0, length / 2, length - 1] {
                let mut changed = bytes.clone();
                changed[at] ^= 1;
                assert_ne!(one.hash64(&bytes), one.hash64(&changed), "{length}, {at}");
                assert_ne!(one.hash128(&bytes), one.hash128(&changed), "{length}, {at}");
            }
        }
    }
}
