//! The disk space of files, as independent tools count it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Returns the disk space of a file in bytes, as `du` counts it.
///
/// Space that XFS preallocates beyond the needs of a file and frees later is not counted.
///
/// # Panics
///
/// Panics if the file does not exist.
pub fn disk_space(path: impl AsRef<Path>) -> u64 {
    let metadata = fs::symlink_metadata(path).expect("is there");
    let block = metadata.blksize().min(4096);
    (metadata.blocks() * 512).min(metadata.len().next_multiple_of(block))
}
