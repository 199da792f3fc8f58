//! Fingerprints of the beginnings of files, to tell unlike files apart cheaply.

use std::num::NonZeroU64;

use fsops::{File, Watch};
use twox_hash::XxHash3_64;

use crate::{ReadError, Scratch, read_exact};

/// Files of up to this many bytes are read whole at once.
///
/// In a warm cache a second open costs as much as copying some 64 KiB.
pub const WHOLE: u64 = 64 * 1024;

/// What is read of larger files at first: enough to tell most unlike files apart, and about what
/// an open costs in a warm cache.
const FIRST: u64 = 16 * 1024;

/// XXH3-64 of a file's first [`head_length`] bytes; a hash of zero is kept as one.
///
/// It serves elimination only: equal heads are always followed by a comparison of the bytes or
/// of BLAKE3, so a collision costs a read and never an error. 64 bits keep a file's record small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Head(pub NonZeroU64);

/// Returns how many bytes the head of a file of `size` bytes covers.
pub fn head_length(size: u64) -> u64 {
    if size <= WHOLE { size } else { FIRST }
}

/// Returns the head of a file that begins with `bytes`, which are [`head_length`] long.
pub fn head_of(bytes: &[u8]) -> Head {
    Head(NonZeroU64::new(XxHash3_64::oneshot(bytes)).unwrap_or(NonZeroU64::MIN))
}

/// Reads a file's head.
pub fn read_head(
    file: &File,
    size: u64,
    scratch: &mut Scratch,
    watch: &Watch,
) -> Result<Head, ReadError> {
    let buffer = scratch.bytes(head_length(size));
    read_exact(file, buffer, 0, watch)?;
    Ok(head_of(buffer))
}
