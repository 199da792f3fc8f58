//! BLAKE3 digests of whole files and of their beginnings.

use std::fmt;
use std::str::FromStr;

use fsops::{File, Watch};

use crate::{ReadError, Scratch, read_exact};

/// BLAKE3 of some bytes: for a whole file the value `b3sum` prints.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// Returns the digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Digest {
        Digest(*blake3::hash(bytes).as_bytes())
    }
}

impl From<blake3::Hash> for Digest {
    fn from(hash: blake3::Hash) -> Digest {
        Digest(*hash.as_bytes())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Text that is not 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("not a digest of 64 hexadecimal digits")]
pub struct ParseDigestError;

impl FromStr for Digest {
    type Err = ParseDigestError;

    fn from_str(text: &str) -> Result<Digest, ParseDigestError> {
        blake3::Hash::from_hex(text).map(Digest::from).map_err(|_| ParseDigestError)
    }
}

/// Returns the digest of the first `length` bytes of a file.
///
/// # Errors
///
/// A failed read, a file with fewer bytes, or a request to stop.
pub fn digest_prefix(
    file: &File,
    length: u64,
    scratch: &mut Scratch,
    watch: &Watch,
) -> Result<Digest, ReadError> {
    // Reads of 256 KiB stay in the L2 cache for the hash and were as fast as larger ones.
    let buffer = scratch.bytes(length.min(256 * 1024));
    let mut hasher = blake3::Hasher::new();
    let mut at = 0;
    while at < length {
        watch.check()?;
        let step = usize::try_from(length - at).map_or(buffer.len(), |left| left.min(buffer.len()));
        read_exact(file, &mut buffer[..step], at, watch)?;
        hasher.update(&buffer[..step]);
        at += step as u64;
    }
    Ok(hasher.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::Digest;

    /// The empty input's digest, from the BLAKE3 paper's test vectors.
    const EMPTY: &str = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";

    #[test]
    fn digest_prints_and_parses_as_b3sum_does() {
        let digest = Digest::of(b"");
        assert_eq!(digest.to_string(), EMPTY);
        assert_eq!(EMPTY.parse::<Digest>().ok(), Some(digest));
        assert!("af13".parse::<Digest>().is_err());
    }
}
