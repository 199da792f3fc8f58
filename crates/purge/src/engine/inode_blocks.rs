//! The inode blocks behind a set of names, in disk order.

use crate::engine::batch::Batch;
use crate::engine::worker::Worker;

/// Inodes per block: 256 bytes in 4096 on ext4. Other file systems have more.
const INODES_PER_BLOCK: u64 = 16;

/// Maximum depth of a directory to prefetch while its parent is not open. In a chain of tens of
/// thousands of directories, each open would traverse the whole chain.
const MAX_DEPTH: usize = 256;

/// A name to remove: its inode, the index of its batch, and its index in the batch.
pub(crate) type NameIndex = (u64, u32, u32);

/// Returns one name per inode block, in the order of the blocks.
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
    // A failure shows when the name is removed.
    let _seen = worker.open(batch.dir).and_then(|dir| dir.stat_child(batch.name(at as usize)));
}
