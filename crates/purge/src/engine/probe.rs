//! Finds out whether the disk is seek-bound, by timing reads of inodes and directories that are far
//! apart ([`device::Probe`]).
//!
//! The waiting time so far tells nothing: requests overlapped, and the kernel prefetched some of
//! the data.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use device::{Probe, spread};
use runtime::ThreadUsage;

use crate::engine::batch::Batch;
use crate::engine::inode_blocks::{NameIndex, fetch_inode, one_per_block};
use crate::engine::job::PurgeTask;
use crate::engine::nodes::NodeId;
use crate::engine::worker::Worker;

/// Maximum number of 512-byte blocks of a read that takes hardly longer than one. For ext4, the
/// kernel reads 256 blocks of inodes where one is needed, which takes time on an SSD too.
const SMALL_READ_BLOCKS: u64 = 64;

/// After this number of larger reads, the remaining ones are assumed to be large as well.
const MAX_LARGE_READS: usize = 2 * Probe::READS;

/// Data that may have to be read from the disk.
#[derive(Clone, Copy, Debug)]
enum Sample {
    /// The inode of a name.
    Name(NameIndex),
    /// A directory that has not been listed yet.
    Dir(NodeId),
}

/// Reads inodes of the names in batches, and waiting directories, until the disk is classified or
/// none is left. Cached data tells nothing.
pub(crate) fn run(worker: &mut Worker<'_>, batches: &[Batch]) {
    let job = worker.job;
    worker.stack.extend(job.queue.drain());
    let dirs = worker.stack.iter().filter_map(|task| match *task {
        PurgeTask::Empty { dir, place: 0, .. } => Some(Sample::Dir(dir)),
        _ => None,
    });
    let samples: Vec<Sample> =
        dirs.chain(one_per_block(batches).into_iter().map(Sample::Name)).collect();
    let in_vain = AtomicUsize::new(0);
    let fetch = |worker: &mut Worker<'_>, what| {
        if worker.stopped() || in_vain.load(Relaxed) > MAX_LARGE_READS {
            return None;
        }
        fetched(&in_vain, || take(worker, batches, what))
    };
    let samples: Vec<Sample> = spread(samples.len()).map(|n| samples[n]).collect();
    if let Some(probe) = Probe::run(&samples, || Worker::new(job), fetch) {
        job.disk.classify(probe);
    }
}

fn take(worker: &mut Worker<'_>, batches: &[Batch], what: Sample) {
    match what {
        Sample::Name(place) => fetch_inode(worker, batches, place),
        Sample::Dir(id) => {
            // A failure shows when the directory is listed.
            let _seen = worker.open(id).and_then(|dir| dir.prefetch_first_block());
        }
    }
}

/// Returns the time of a small read from the disk. Counts large reads in `in_vain`.
fn fetched(in_vain: &AtomicUsize, what: impl FnOnce()) -> Option<Duration> {
    let before = ThreadUsage::now().blocks_fetched;
    let start = Instant::now();
    what();
    let took = start.elapsed();
    let blocks = ThreadUsage::now().blocks_fetched - before;
    if blocks > SMALL_READ_BLOCKS {
        in_vain.fetch_add(1, Relaxed);
    }
    (1..=SMALL_READ_BLOCKS).contains(&blocks).then_some(took)
}
