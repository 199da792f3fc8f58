//! The disk space of files, as independent tools count it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Returns the disk space that a file takes, in bytes, as `du` counts it.
///
/// The space that XFS allocates beyond a file's need and takes back later is not counted.
///
/// # Panics
///
/// If there is no such file.
pub fn disk_space(path: impl AsRef<Path>) -> u64 {
    let metadata = fs::symlink_metadata(path).expect("is there");
    let block = metadata.blksize().min(4096);
    (metadata.blocks() * 512).min(metadata.len().next_multiple_of(block))
}
