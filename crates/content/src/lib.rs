//! Reads and digests bytes, and tells which open files are equal.
//!
//! Three ways to look at a file, cheapest first:
//!
//! - [`read_head`]: a 64-bit fingerprint of its beginning. Equal files have equal heads; unequal
//!   heads prove files unlike, equal heads prove nothing.
//! - [`partition()`]: several files side by side, split by the bytes themselves.
//! - [`read_on`]: BLAKE3, for files too many to have side by side, or too far apart.
//!
//! # Why both bytes and BLAKE3
//!
//! BLAKE3 of every candidate costs 30 % of a warm scan's time. Side by side, equality is proven
//! by the bytes, and one BLAKE3 per group (not per file) gives the digest that is stored. It is
//! the value `b3sum` prints, so anyone can check it.
//!
//! This crate knows open files, not paths or trees.

mod digest;
mod facts;
mod head;
mod partition;

pub use digest::{Beginning, Digest, Grown, ParseDigestError, Stretch, read_on, round_length};
pub use facts::{ContentId, Facts};
pub use head::{Head, checksum, head_length, head_of, read_head};
pub use partition::{Failure, Manner, Part, Scratch, partition, partition_bytes};

/// Why a file's bytes could not be had.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A system call failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// The file ended before its size.
    #[error("the file ended before its size")]
    Short,
    /// The work was stopped on request.
    #[error(transparent)]
    Interrupted(#[from] runtime::Interrupted),
}

/// Reads exactly `buffer.len()` bytes at `offset`, counting them in `progress`.
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
