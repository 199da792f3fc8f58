//! The disk space of files. Most files take their size in whole blocks, so only the others are
//! stored.

/// Size of the blocks that a file usually consists of, in bytes.
const BLOCK_BYTES: u64 = 4096;

/// Returns the number of bytes that a file of this size usually takes on disk: its size in whole
/// blocks.
///
/// Sparse, compressed and preallocated files take other numbers of bytes, as do small files that a
/// file system stores in their inodes.
pub fn usual_allocation(size: u64) -> u64 {
    size.checked_next_multiple_of(BLOCK_BYTES).unwrap_or(u64::MAX)
}
