//! Fingerprints of the first bytes of files, which tell different files apart cheaply.

use std::num::NonZeroU64;

use fsops::File;
use runtime::Progress;
use twox_hash::XxHash3_64;

use crate::{ReadError, Scratch, read_exact};

/// Number of bytes that a head covers: enough to reach past the headers that files of one type
/// share, and cheap to copy.
///
/// Measured warm on a home folder of 265,000 files, against 16 KiB for large files and all of those
/// up to 64 KiB: 8 KiB read a quarter less and saved 1 to 2 % of the wall time. 2 and 4 KiB saved
/// another 1 %, but let through ten times as many pairs that differ later.
const FIRST: u64 = 8 * 1024;

/// XXH3-64 of a file's first [`head_length`] bytes. A hash of 0 is stored as 1.
///
/// Heads only eliminate candidates. Equal heads are always followed by a comparison of the bytes or
/// of BLAKE3, so a collision costs a read but is never an error. 64 bits keep a file's record
/// small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Head(pub NonZeroU64);

/// Returns the number of bytes that the head of a file of `size` bytes covers.
pub fn head_length(size: u64) -> u64 {
    size.min(FIRST)
}

/// Returns the head of a file from its first [`head_length`] bytes.
pub fn head_of(bytes: &[u8]) -> Head {
    Head(NonZeroU64::new(XxHash3_64::oneshot(bytes)).unwrap_or(NonZeroU64::MIN))
}

/// Returns XXH3-64 of some bytes, which detects damage in lop's own files.
pub fn checksum(bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot(bytes)
}

/// Reads a file's head.
///
/// # Errors
///
/// As for [`read_exact`].
pub fn read_head(
    file: &File,
    size: u64,
    scratch: &mut Scratch,
    progress: &Progress,
) -> Result<Head, ReadError> {
    let buffer = scratch.bytes(head_length(size));
    read_exact(file, buffer, 0, progress)?;
    Ok(head_of(buffer))
}
