//! BLAKE3 digests of whole files and of their prefixes.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::Ordering::Relaxed;

use blake3::hazmat::{HasherExt, Mode, merge_subtrees_non_root, merge_subtrees_root};
use fsops::File;
use runtime::Progress;

use crate::{Head, ReadError, Scratch, head_length, head_of, read_exact};

/// A BLAKE3 digest. For a whole file, this is the value that `b3sum` prints.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// Returns the digest of `bytes`.
    pub fn of(bytes: &[u8]) -> Digest {
        Digest(*blake3::hash(bytes).as_bytes())
    }
}

impl From<PrefixDigest> for Digest {
    /// Converts the digest of a prefix that spans the whole file.
    fn from(whole: PrefixDigest) -> Digest {
        Digest(whole.0)
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

/// Error for a string that is not exactly 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("not a digest of 64 hexadecimal digits")]
pub struct ParseDigestError;

impl FromStr for Digest {
    type Err = ParseDigestError;

    fn from_str(text: &str) -> Result<Digest, ParseDigestError> {
        blake3::Hash::from_hex(text).map(Digest::from).map_err(|_| ParseDigestError)
    }
}

/// The BLAKE3 hash of a prefix of a file.
///
/// For a proper prefix, this is the chaining value of the prefix's subtree (BLAKE3 paper, section
/// 2.1). For a whole file, this is its [`Digest`]. If two files have the same size, and two
/// prefixes of the same length have the same hash, the prefixes are identical. The hash of a longer
/// prefix is computed from this hash and the bytes that follow, so no byte is read twice when a
/// file is read in several rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PrefixDigest(pub [u8; 32]);

/// The range of a file to read in order to extend a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashRange {
    /// The file's size in bytes.
    pub size: u64,
    /// Length and hash of the prefix read so far, or `None` at the start of the file.
    pub before: Option<(u64, PrefixDigest)>,
    /// End of the range: the file's size, or a smaller [`round_length`].
    pub to: u64,
}

/// Result of [`extend_prefix`].
#[derive(Clone, Copy, Debug)]
pub struct HashedPrefix {
    /// Hash of the prefix up to the end of the range.
    pub beginning: PrefixDigest,
    /// Head of the file, if the range includes it.
    pub head: Option<Head>,
}

/// Returns the smallest valid prefix length that is at least `length`.
pub fn round_length(length: u64) -> u64 {
    length.max(blake3::CHUNK_LEN as u64).checked_next_power_of_two().unwrap_or(1 << 63)
}

/// Reads a range of a file and computes the hash of the extended prefix. Adds to
/// `progress.bytes_done` as it reads. If reading fails, the unread rest of the range also counts as
/// done.
///
/// # Errors
///
/// Fails if a read fails, the file is shorter than its size, or a stop was requested.
pub fn extend_prefix(
    file: &File,
    range: HashRange,
    scratch: &mut Scratch,
    progress: &Progress,
) -> Result<HashedPrefix, ReadError> {
    let HashRange { size, before, to } = range;
    let mut reader = Reader { file, size, scratch, progress, head: None, read: 0 };
    let beginning = reader.range(before, to);
    let all = to.min(size) - before.map_or(0, |(at, _)| at);
    progress.bytes_done.fetch_add(all - reader.read, Relaxed);
    Ok(HashedPrefix { beginning: PrefixDigest(beginning?), head: reader.head })
}

struct Reader<'a> {
    file: &'a File,
    size: u64,
    scratch: &'a mut Scratch,
    progress: &'a Progress,
    head: Option<Head>,
    /// Number of bytes added to the progress so far.
    read: u64,
}

impl Reader<'_> {
    fn range(
        &mut self,
        before: Option<(u64, PrefixDigest)>,
        to: u64,
    ) -> Result<[u8; 32], ReadError> {
        Ok(match before {
            None if to >= self.size => *self.hash(0, self.size)?.finalize().as_bytes(),
            None => self.hash(0, to)?.finalize_non_root(),
            Some((at, PrefixDigest(value))) => self.grow(at, value, self.size, to)?,
        })
    }

    /// Extends the prefix of length `at`, whose hash is `value`, to length `to`. Each step doubles
    /// the prefix by reading a subtree of the same length. At the end of the file, the last step
    /// reads the rest.
    fn grow(
        &mut self,
        mut at: u64,
        mut value: [u8; 32],
        size: u64,
        to: u64,
    ) -> Result<[u8; 32], ReadError> {
        while at.saturating_mul(2) <= to && at.saturating_mul(2) < size {
            let next = self.hash(at, at)?.finalize_non_root();
            value = merge_subtrees_non_root(&value, &next, Mode::Hash);
            at *= 2;
        }
        if to < size {
            return Ok(value);
        }
        let rest = self.hash(at, size - at)?.finalize_non_root();
        Ok(*merge_subtrees_root(&value, &rest, Mode::Hash).as_bytes())
    }

    /// Hashes a range of the file as one subtree.
    fn hash(&mut self, start: u64, length: u64) -> Result<blake3::Hasher, ReadError> {
        let mut hasher = blake3::Hasher::new();
        hasher.set_input_offset(start);
        // A chunk of 256 KiB stays in the L2 cache until it is hashed. Larger chunks were no
        // faster.
        let buffer = self.scratch.bytes(length.min(256 * 1024));
        let mut at = 0;
        while at < length {
            self.progress.check()?;
            let step =
                usize::try_from(length - at).map_or(buffer.len(), |left| left.min(buffer.len()));
            read_exact(self.file, &mut buffer[..step], start + at, self.progress)?;
            if start + at == 0 {
                let head = usize::try_from(head_length(self.size)).unwrap_or(usize::MAX);
                self.head = buffer[..step].get(..head).map(head_of);
            }
            hasher.update(&buffer[..step]);
            at += step as u64;
            self.read += step as u64;
            self.progress.bytes_done.fetch_add(step as u64, Relaxed);
        }
        Ok(hasher)
    }
}

#[cfg(test)]
mod tests {
    use super::Digest;

    /// Digest of the empty input, from the test vectors of the BLAKE3 paper.
    const EMPTY: &str = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";

    #[test]
    fn digest_prints_and_parses_as_b3sum_does() {
        let digest = Digest::of(b"");
        assert_eq!(digest.to_string(), EMPTY);
        assert_eq!(EMPTY.parse::<Digest>().ok(), Some(digest));
        assert!("af13".parse::<Digest>().is_err());
    }
}
