//! Finds and reads the inode blocks of a set of names, in disk order.

use crate::engine::batch::Batch;
use crate::engine::worker::Worker;

/// Number of inodes per block. On ext4, a block of 4096 bytes contains 16 inodes of 256 bytes each.
/// Other file systems store more inodes in a block.
const INODES_PER_BLOCK: u64 = 16;

/// Maximum depth at which a directory is opened just to prefetch inodes. To open a directory at the
/// end of a chain of tens of thousands of directories, the kernel would have to resolve the whole
/// chain.
const MAX_DEPTH: usize = 256;

/// A name to remove, given as its inode number, the index of its batch, and its index in the batch.
pub(crate) type NameIndex = (u64, u32, u32);

/// Returns one name per inode block, in block order.
pub(crate) fn one_per_block(batches: &[Batch]) -> Vec<NameIndex> {
    let mut one_per_block: Vec<NameIndex> =
        Vec::with_capacity(batches.iter().map(Batch::len).sum());
    for (number, batch) in (0u32..).zip(batches) {
        one_per_block.extend(batch.inodes().zip(0u32..).map(|(inode, at)| (inode, number, at)));
    }
    one_per_block.sort_unstable();
    one_per_block.dedup_by_key(|place| place.0 / INODES_PER_BLOCK);
    one_per_block
}

/// Reads the inode block of a name.
pub(crate) fn fetch_inode(worker: &mut Worker<'_>, batches: &[Batch], (_, batch, at): NameIndex) {
    if worker.stopped() {
        return;
    }
    let batch = &batches[batch as usize];
    if worker.dirs.get(|&open| open == batch.dir).is_none()
        && worker.job.nodes().is_deeper(batch.dir, MAX_DEPTH)
    {
        return;
    }
    // An error is ignored here. It is reported when the name is removed.
    let _seen = worker.open(batch.dir).and_then(|dir| dir.stat_child(batch.name(at as usize)));
}
