//! The contents of files, described by a few numbers and generated at the speed of memory.
//!
//! Two files have the same bytes if and only if their [`Content`] values are equal. The plans
//! ensure this: they never use a seed twice for different content. Every new tree is read back to
//! verify this.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use blake3::{Hash, Hasher};

use testkit::dice::mix;

use super::dice::word;

/// Number of bytes generated at a time.
const CHUNK_BYTES: usize = 1 << 20;

/// The granularity of holes and data in a disk image.
const BLOCK_BYTES: u64 = 1 << 20;

/// The bytes of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Content {
    pub(crate) size: u64,
    /// Tells files of one shape apart.
    pub(crate) seed: u64,
    pub(crate) shape: Shape,
}

/// The part of the bytes that is identical in files with different content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Shape {
    /// Nothing.
    Plain,
    /// The first `len` bytes, such as the header of a file type, a licence, or the notes of a
    /// camera. The last 8 bytes of a file are never shared.
    Header { id: u32, len: u32 },
    /// Everything except the byte at offset `at`, to which the seed is added.
    Marked { family: u64, at: u64 },
    /// The first `shared` bytes of a disk image. A quarter of the 1 MiB blocks are holes, but never
    /// the last block.
    Image { family: u64, shared: u64 },
}

impl Content {
    pub(crate) const EMPTY: Self = Self { size: 0, seed: 0, shape: Shape::Plain };

    pub(crate) fn plain(size: u64, seed: u64) -> Self {
        Self { size, seed, shape: Shape::Plain }
    }

    /// Writes the content into an empty file.
    pub(crate) fn write(&self, file: &File, buffer: &mut Vec<u8>) -> io::Result<()> {
        if self.has_holes() {
            file.set_len(self.size)?;
        }
        self.each_chunk(buffer, |at, chunk| match chunk {
            Some(bytes) => file.write_all_at(bytes, at),
            None => Ok(()),
        })
    }

    /// Returns the BLAKE3 of the content.
    pub(crate) fn digest(&self, buffer: &mut Vec<u8>) -> Hash {
        let zeros = vec![0; if self.has_holes() { CHUNK_BYTES } else { 0 }];
        let mut hasher = Hasher::new();
        let outcome = self.each_chunk(buffer, |at, chunk| {
            hasher.update(chunk.unwrap_or(&zeros[..self.chunk_at(at).min(zeros.len())]));
            Ok(())
        });
        outcome.expect("hashing does not fail");
        hasher.finalize()
    }

    /// Passes each chunk with its offset to a function. A hole is passed without bytes.
    fn each_chunk(
        &self,
        buffer: &mut Vec<u8>,
        mut take: impl FnMut(u64, Option<&[u8]>) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut at = 0;
        while at < self.size {
            let len = self.chunk_at(at);
            if self.is_hole(at) {
                take(at, None)?;
            } else {
                buffer.resize(len, 0);
                self.fill(at, buffer);
                take(at, Some(buffer))?;
            }
            at += len as u64;
        }
        Ok(())
    }

    fn has_holes(&self) -> bool {
        matches!(self.shape, Shape::Image { .. })
    }

    fn is_hole(&self, at: u64) -> bool {
        match self.shape {
            Shape::Image { family, .. } => {
                // The last block must hold data, because it tells images apart.
                let last = (self.size - 1) / BLOCK_BYTES == at / BLOCK_BYTES;
                !last && word(family, at / BLOCK_BYTES).is_multiple_of(4)
            }
            _ => false,
        }
    }

    /// Returns the number of bytes that one call can fill from offset `at`.
    #[expect(clippy::cast_possible_truncation, reason = "at most a chunk")]
    fn chunk_at(&self, at: u64) -> usize {
        (self.size - at).min(CHUNK_BYTES as u64 - at % CHUNK_BYTES as u64) as usize
    }

    /// Fills the buffer with the bytes from offset `at`, which must be a multiple of 8.
    fn fill(&self, at: u64, buffer: &mut [u8]) {
        match self.shape {
            Shape::Plain => stream(self.seed, at, buffer),
            Shape::Header { id, len } => {
                let header = u64::from(len).min(self.size.saturating_sub(8)) & !7;
                let (first, rest) = split(buffer, at, header);
                stream(mix(u64::from(id) | 1 << 40), at, first);
                stream(self.seed, at.saturating_sub(header), rest);
            }
            Shape::Marked { family, at: mark } => {
                stream(family, at, buffer);
                let inside = mark.checked_sub(at).and_then(|i| usize::try_from(i).ok());
                if let Some(byte) = inside.and_then(|inside| buffer.get_mut(inside)) {
                    *byte = byte.wrapping_add(self.seed.to_le_bytes()[0]);
                }
            }
            Shape::Image { family, shared } => {
                let (first, rest) = split(buffer, at, shared & !7);
                stream(family, at, first);
                stream(self.seed, at.max(shared & !7), rest);
            }
        }
    }
}

/// Splits a buffer that begins at file offset `at` into the parts before and after offset `border`.
#[expect(clippy::cast_possible_truncation, reason = "at most the buffer's length")]
fn split(buffer: &mut [u8], at: u64, border: u64) -> (&mut [u8], &mut [u8]) {
    let first = border.saturating_sub(at).min(buffer.len() as u64);
    buffer.split_at_mut(first as usize)
}

/// Fills the buffer from the random stream of `seed`, beginning at offset `at`, which must be a
/// multiple of 8.
fn stream(seed: u64, at: u64, buffer: &mut [u8]) {
    let mut words = buffer.chunks_exact_mut(8);
    let mut index = at / 8;
    for to in words.by_ref() {
        to.copy_from_slice(&word(seed, index).to_le_bytes());
        index += 1;
    }
    let rest = words.into_remainder();
    rest.copy_from_slice(&word(seed, index).to_le_bytes()[..rest.len()]);
}

#[cfg(test)]
mod tests {
    use super::{CHUNK_BYTES, Content, Shape};
    use std::io::Read;

    fn bytes(content: Content) -> Vec<u8> {
        let temp = testkit::TempTree::new();
        let path = temp.join("file");
        let file = std::fs::File::create(&path).expect("a new file");
        content.write(&file, &mut Vec::new()).expect("room");
        let mut bytes = Vec::new();
        std::fs::File::open(&path).expect("it").read_to_end(&mut bytes).expect("it");
        assert_eq!(bytes.len() as u64, content.size);
        bytes
    }

    #[test]
    fn the_bytes_never_change() {
        let digest = blake3::hash(&bytes(Content::plain(100_003, 7)));
        assert_eq!(&digest.to_hex()[..16], "cb705794fdfeed9c");
    }

    #[test]
    fn a_header_is_shared_and_the_rest_is_not() {
        let of =
            |seed, size| bytes(Content { size, seed, shape: Shape::Header { id: 3, len: 100 } });
        let (a, b) = (of(1, 200), of(2, 200));
        assert_eq!(a[..96], b[..96]);
        assert_ne!(a[96..104], b[96..104]);
        assert_ne!(of(1, 8), of(2, 8), "a file shorter than its header");
        assert_ne!(of(1, 21), of(2, 21));
    }

    #[test]
    fn only_a_mark_differs() {
        let at = CHUNK_BYTES as u64 + 3;
        let of = |seed| {
            let size = 2 * CHUNK_BYTES as u64;
            bytes(Content { size, seed, shape: Shape::Marked { family: 9, at } })
        };
        let (a, b) = (of(3), of(0));
        let differ: Vec<usize> = (0..a.len()).filter(|&i| a[i] != b[i]).collect();
        assert_eq!(differ, [CHUNK_BYTES + 3]);
    }

    #[test]
    fn images_share_a_prefix_and_their_holes() {
        let (size, shared) = (8 * CHUNK_BYTES as u64, 5 * CHUNK_BYTES as u64 + 8);
        let of = |seed| bytes(Content { size, seed, shape: Shape::Image { family: 5, shared } });
        let (a, b) = (of(1), of(2));
        let first = a.iter().zip(&b).position(|(a, b)| a != b).expect("they differ");
        assert_eq!(first as u64, shared);
        let holes = a.chunks(CHUNK_BYTES).filter(|block| block.iter().all(|&b| b == 0)).count();
        assert!(holes > 0);
        let content = Content { size, seed: 1, shape: Shape::Image { family: 5, shared } };
        assert_eq!(content.digest(&mut Vec::new()), blake3::hash(&a));
    }
}
