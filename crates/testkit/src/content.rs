//! The contents of files as data: bytes, seeded noise, noise with one byte changed, and holes with
//! islands.
//!
//! The noise is a fixed function of its seed, so that failures are reproducible.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use crate::dice::Dice;

/// The content of one regular file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// Exactly these bytes.
    Bytes(Vec<u8>),
    /// `len` pseudo-random bytes that depend only on `seed`. Shorter content is a prefix of longer
    /// content with the same seed.
    Seeded {
        /// The seed of the noise.
        seed: u64,
        /// Length in bytes.
        len: u64,
    },
    /// [`Content::Seeded`] with the byte at offset `at` changed by XOR with `variant`.
    ///
    /// All other bytes are the same as in [`Content::Seeded`]. A `variant` of 0, or `at` beyond the
    /// end, changes nothing.
    Differing {
        /// The seed of the noise.
        seed: u64,
        /// Length in bytes.
        len: u64,
        /// Offset of the byte that differs.
        at: u64,
        /// The other operand of the XOR. Each value gives different content.
        variant: u8,
    },
    /// A hole of `len` bytes with data at some offsets. It reads as zeros elsewhere.
    Sparse {
        /// Length in bytes.
        len: u64,
        /// Pairs of an offset in bytes and the data at that offset. An island beyond `len` extends the file.
        islands: Vec<(u64, Vec<u8>)>,
    },
}

impl Content {
    /// Returns all bytes of the file, with holes as zeros. Needs as much memory as the file is
    /// long.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Bytes(bytes) => bytes.clone(),
            Self::Seeded { seed, len } => noise(*seed, *len),
            Self::Differing { seed, len, at, variant } => {
                let mut bytes = noise(*seed, *len);
                if let Some(byte) = usize::try_from(*at).ok().and_then(|at| bytes.get_mut(at)) {
                    *byte ^= variant;
                }
                bytes
            }
            Self::Sparse { len, islands } => {
                let mut bytes = vec![0; index(*len)];
                for (offset, data) in islands {
                    let end = index(*offset) + data.len();
                    bytes.resize(bytes.len().max(end), 0);
                    bytes[index(*offset)..end].copy_from_slice(data);
                }
                bytes
            }
        }
    }

    /// Writes the content into a new, empty `file` and preserves holes.
    pub(crate) fn write_to(&self, file: &File) -> io::Result<()> {
        let Self::Sparse { len, islands } = self else {
            return file.write_all_at(&self.bytes(), 0);
        };
        file.set_len(*len)?;
        islands.iter().try_for_each(|(offset, data)| file.write_all_at(data, *offset))
    }
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes)
    }
}

impl From<&[u8]> for Content {
    fn from(bytes: &[u8]) -> Self {
        Self::Bytes(bytes.to_vec())
    }
}

impl<const N: usize> From<&[u8; N]> for Content {
    fn from(bytes: &[u8; N]) -> Self {
        Self::Bytes(bytes.to_vec())
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Bytes(text.as_bytes().to_vec())
    }
}

/// Returns the first `len` bytes of the little-endian stream of a seed ([`Dice`]).
fn noise(seed: u64, len: u64) -> Vec<u8> {
    let len = index(len);
    let mut bytes = Vec::with_capacity(len + 8);
    let mut dice = Dice::new(seed);
    while bytes.len() < len {
        bytes.extend_from_slice(&dice.bits().to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

fn index(bytes: u64) -> usize {
    usize::try_from(bytes).expect("a content that fits in memory")
}

#[cfg(test)]
mod tests {
    use super::Content;

    #[test]
    fn a_variant_changes_exactly_one_byte() {
        let same = Content::Seeded { seed: 7, len: 5000 }.bytes();
        let other = Content::Differing { seed: 7, len: 5000, at: 4999, variant: 3 }.bytes();
        let differing: Vec<_> = (0..5000).filter(|&i| same[i] != other[i]).collect();
        assert_eq!(differing, [4999]);
        let none = Content::Differing { seed: 7, len: 5000, at: 4999, variant: 0 };
        assert_eq!(none.bytes(), same);
    }

    #[test]
    fn shorter_noise_is_a_prefix_and_seeds_differ() {
        let long = Content::Seeded { seed: 1, len: 100 }.bytes();
        assert_eq!(Content::Seeded { seed: 1, len: 13 }.bytes(), long[..13]);
        assert_ne!(Content::Seeded { seed: 2, len: 100 }.bytes(), long);
    }

    #[test]
    fn islands_lie_in_zeros() {
        let sparse = Content::Sparse { len: 10, islands: vec![(3, b"ab".to_vec())] };
        assert_eq!(sparse.bytes(), b"\0\0\0ab\0\0\0\0\0");
    }
}
