//! Reads and digests file contents, and finds out which open files are equal.
//!
//! There are three ways to look at a file, cheapest first:
//!
//! - [`read_head`] returns a 64-bit fingerprint of its first bytes. Unequal heads prove two files
//!   different; equal heads prove nothing.
//! - [`partition()`] reads several files side by side and splits them by their bytes.
//! - [`extend_prefix`] computes BLAKE3, for files that are too many or too far apart on disk to be read
//!   side by side.
//!
//! | module | contents |
//! |---|---|
//! | `head` | heads |
//! | `partition` | comparison side by side |
//! | `digest` | BLAKE3 of files and prefixes |
//! | `fingerprints` | a table of what is known about each file |
//!
//! # Why both bytes and BLAKE3
//!
//! BLAKE3 of every candidate would take 30 % of a warm scan's time. Reading side by side proves
//! equality by the bytes, and one BLAKE3 per group instead of per file gives the digest that is
//! stored. It is the value that `b3sum` prints, so anyone can check it.
//!
//! This crate knows open files, but no paths or trees.

mod digest;
mod fingerprints;
mod head;
mod partition;

pub use digest::{
    Digest, HashRange, HashedPrefix, ParseDigestError, PrefixDigest, extend_prefix, round_length,
};
pub use fingerprints::{ContentId, Fingerprints};
pub use head::{Head, checksum, head_length, head_of, read_head};
pub use partition::{CompareOptions, EqualFiles, ReadFailure, Scratch, partition, partition_bytes};

/// Why the bytes of a file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A system call failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The file ended before its size.
    #[error("the file ended before its size")]
    Short,
    /// A stop was requested.
    #[error(transparent)]
    Interrupted(#[from] runtime::Interrupted),
}

/// Reads exactly `buffer.len()` bytes at `offset` and adds them to the bytes read in `progress`.
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
