//! Finds out whether the disk is seek-bound, by timing reads of inodes and directories that are far
//! apart ([`device::Probe`]).
//!
//! The waits measured during a removal cannot be used to classify the disk. The requests overlap,
//! and the kernel may have prefetched the data.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use device::{Probe, spread};
use runtime::ThreadUsage;

use crate::engine::batch::Batch;
use crate::engine::inode_blocks::{NameIndex, fetch_inode, one_per_block};
use crate::engine::job::PurgeTask;
use crate::engine::nodes::NodeId;
use crate::engine::worker::Worker;

/// Maximum size of a small read, in blocks of 512 bytes. A small read takes hardly any longer than
/// a read of a single block. On ext4, the kernel may read 256 blocks of inodes to get a single
/// inode. This takes longer even on an SSD.
const SMALL_READ_BLOCKS: u64 = 64;

/// Maximum number of large reads. After that many, the probe stops, because the remaining reads are
/// expected to be large too.
const MAX_LARGE_READS: usize = 2 * Probe::READS;

/// Data that may have to be read from the disk.
#[derive(Clone, Copy, Debug)]
enum Sample {
    /// The inode of a name.
    Name(NameIndex),
    /// A directory that has not been listed yet.
    Dir(NodeId),
}

/// Reads directories that have not been listed, and inodes of the names in `batches`, until the
/// disk is classified or nothing is left to read. Reads served from the cache are not counted.
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
            // An error is ignored here. It is reported when the directory is listed.
            let _seen = worker.open(id).and_then(|dir| dir.prefetch_first_block());
        }
    }
}

/// Returns the duration of a small read from the disk, or `None` for a large read or if the data
/// was cached. Counts large reads in `in_vain`.
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
