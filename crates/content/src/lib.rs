//! Reads, hashes and compares the contents of open files.
//!
//! There are three ways to compare files, cheapest first:
//!
//! - [`read_head`] returns a 64-bit hash of the first bytes of a file. Two files with unequal heads
//!   are different. Equal heads prove nothing.
//! - [`partition()`] reads several files side by side and splits them into sets of identical files.
//! - [`extend_prefix`] computes BLAKE3 hashes. These are used for files that are too numerous, or
//!   too far apart on the disk, to be read side by side.
//!
//! | module | contents |
//! |---|---|
//! | `head` | heads |
//! | `partition` | comparison of files side by side |
//! | `digest` | BLAKE3 of files and prefixes |
//! | `scratch` | buffers |
//! | `fingerprints` | a table of the heads and content numbers of files |
//!
//! # Why both bytes and BLAKE3
//!
//! Hashing every candidate with BLAKE3 would take 30 % of the time of a warm scan. When files are
//! read side by side, their bytes are compared directly, and only one file per group has to be
//! hashed for the digest that is stored. The digest is the value that `b3sum` prints, so users can
//! check it.
//!
//! This crate takes open files and has no notion of paths or trees.

mod digest;
mod fingerprints;
mod hash_key;
mod head;
mod partition;
mod scratch;

pub use digest::{
    Digest, HashRange, HashedPrefix, ParseDigestError, PrefixDigest, extend_prefix, round_length,
};
pub use fingerprints::{ContentId, Fingerprints};
pub use hash_key::HashKey;
pub use head::{Head, checksum, head_length, head_of, read_head};
pub use partition::{CompareOptions, EqualFiles, ReadFailure, partition, partition_bytes};
pub use scratch::Scratch;

/// Reason why the bytes of a file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A system call failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The file is shorter than its size in the metadata.
    #[error("the file ended before its size")]
    Short,
    /// A stop was requested.
    #[error(transparent)]
    Interrupted(#[from] runtime::Interrupted),
}

/// Reads exactly `buffer.len()` bytes at `offset` and adds their number to `progress.bytes_read`.
///
/// # Errors
///
/// Fails if the read fails, or the file ends before the buffer is full.
pub fn read_exact(
    file: &fsops::File,
    buffer: &mut [u8],
    offset: u64,
    progress: &runtime::Progress,
) -> Result<(), ReadError> {
    use std::sync::atomic::Ordering::Relaxed;
    let n = file.read_at(buffer, offset)?;
    progress.bytes_read.fetch_add(n as u64, Relaxed);
    if n < buffer.len() { Err(ReadError::Short) } else { Ok(()) }
}
