//! Hashes of the first bytes of files, a cheap way to tell different files apart.

use std::num::NonZeroU64;

use fsops::File;
use runtime::Progress;
use twox_hash::XxHash3_64;

use crate::{ReadError, Scratch, read_exact};

/// Number of bytes that a head covers. A head is long enough to extend past the header that files
/// of the same type share, and short enough to be cheap to copy.
///
/// Measured in a warm cache on a home directory of 265,000 files. The alternative was to hash files
/// of up to 64 KiB completely, and the first 16 KiB of larger files. With heads of 8 KiB, a quarter
/// less data was read, and the scan took 1 to 2 % less time. Heads of 2 or 4 KiB saved another 1 %,
/// but ten times as many pairs of different files had equal heads.
const FIRST: u64 = 8 * 1024;

/// XXH3-64 of the first [`head_length`] bytes of a file. A hash of 0 is stored as 1.
///
/// On its own, a head only eliminates candidates. Files with equal heads are then compared by content
/// key, bytes or BLAKE3. The hash has only 64 bits to keep the records of files small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Head(pub NonZeroU64);

/// Returns the number of bytes that the head of a file of `size` bytes covers.
pub fn head_length(size: u64) -> u64 {
    size.min(FIRST)
}

/// Computes the head of a file from its first [`head_length`] bytes.
pub fn head_of(bytes: &[u8]) -> Head {
    Head(NonZeroU64::new(XxHash3_64::oneshot(bytes)).unwrap_or(NonZeroU64::MIN))
}

/// Computes the XXH3-64 hash of `bytes`, which is used to detect damage in lop's own files.
pub fn checksum(bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot(bytes)
}

/// Reads a file's head.
///
/// # Errors
///
/// Same as for [`read_exact`].
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
