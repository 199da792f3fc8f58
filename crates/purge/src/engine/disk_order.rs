//! Removal from a cold hard disk: prefetches what is needed in disk order, and removes in tree
//! order.
//!
//! When directories are emptied one by one, the disk head moves for nearly every name, since the
//! entries of an old tree's directory are scattered over the disk. Instead, directories are listed
//! in inode order until there are enough names, and the inode blocks of these names are read in
//! their order. Then the directories are removed one after the other.
//!
//! # Measured
//!
//! 100,000 names of 20 backups, ext4 on the simulated hard disk: the disk was busy for 4.1 to 4.2 s
//! with `rm -rf`, for 0.50 to 1.3 s with this (78 head movements instead of 734), and for 1.9 s
//! with sixteen threads, so this uses one thread. Removing the names in inode order across all
//! directories took 66 s: each directory block was changed again and again and written with each
//! journal commit, while a directory that is removed at once is hardly written at all.

use std::io::ErrorKind;

use fsops::Op;

use super::inode_blocks::{fetch_inode, one_per_block};
use super::probe;
use crate::Operation;
use crate::engine::batch::Batch;
use crate::engine::job::{Job, PurgeTask, Tally};
use crate::engine::nodes::NodeId;
use crate::engine::worker::{Scratch, Worker};
use crate::outcome::Reason;

/// Bytes per round, counting names and what is stored with them.
const ROUND_BYTES: usize = 8 << 20;

/// Bytes that a directory takes in addition.
const DIR_BYTES: usize = 128;

/// Maximum number of queued directories. Beyond it the traversal is depth-first, as on other disks,
/// so that a tree of millions of directories does not need memory for each.
const MAX_QUEUED_DIRS: usize = 1 << 14;

/// Seconds in which prefetched entries have to be removed under a rate limit. Later they may have
/// left the cache.
const MAX_AGE_SECONDS: u64 = 10;

/// Approximate size of a name in a batch, in bytes.
const NAME: u64 = 32;

/// Bytes of names that suffice for a probe of the disk. Directories that are not listed yet serve
/// it too.
const PROBE_BYTES: usize = 4 << 10;

/// Lists directories until a round is full, and removes their entries. Probes the disk first if it
/// is not classified.
pub(crate) fn round(job: &Job<'_>, tally: &mut Tally) {
    let mut worker = Worker::new(job);
    let needs_probe = !job.disk.is_classified();
    let batches =
        list(&mut worker, if needs_probe { PROBE_BYTES } else { enough(job) }, MAX_QUEUED_DIRS);
    if needs_probe {
        probe::run(&mut worker, &batches);
        job.defer_probe();
    }
    if job.disk.is_classified() && job.disk.is_seek_bound() {
        // Counting names needs no inodes.
        if job.options.operation != Operation::Count {
            for place in one_per_block(&batches) {
                fetch_inode(&mut worker, &batches, place);
            }
        }
        worker.tally.outcome.prefetch_rounds = 1;
    }
    remove(&mut worker, &batches);
    tally.add(vec![worker.end()]);
}

/// Returns the number of bytes per round.
fn enough(job: &Job<'_>) -> usize {
    let bound =
        job.options.throttle.rate().map(|rate| rate.get().saturating_mul(MAX_AGE_SECONDS * NAME));
    bound
        .map_or(ROUND_BYTES, |bytes| ROUND_BYTES.min(usize::try_from(bytes).unwrap_or(ROUND_BYTES)))
}

/// Lists directories in inode order until there are `enough` bytes. `line` is as [`MAX_QUEUED_DIRS`].
fn list(worker: &mut Worker<'_>, enough: usize, line: usize) -> Vec<Batch> {
    let job = worker.job;
    let (mut batches, mut scratch, mut listed) = (Vec::new(), Scratch::default(), 0);
    job.queue.join();
    // The remaining directories are sorted too.
    worker.stack = job.queue.drain();
    job.queue.enqueue_sorted(&mut worker.stack);
    while let Some(task) = job.queue.next(&mut worker.stack) {
        if let PurgeTask::Empty { dir, place, inode } = task {
            list_one(worker, (dir, place, inode), enough, &mut scratch);
            if scratch.batch.len() > 0 {
                listed += scratch.batch.bytes() + DIR_BYTES;
                batches.push(std::mem::take(&mut scratch.batch));
            }
        }
        if job.queue.in_line() + worker.stack.len() <= line {
            job.queue.enqueue_sorted(&mut worker.stack);
        }
        worker.count();
        if worker.stopped() || listed >= enough {
            // The rest of the stack waits for the next round.
            job.queue.close();
            break;
        }
    }
    batches
}

fn list_one(
    worker: &mut Worker<'_>,
    task: (NodeId, u64, u64),
    enough: usize,
    scratch: &mut Scratch,
) {
    let (id, place, inode) = task;
    scratch.batch.clear();
    let Some(dir) = worker.enter(id, place) else { return };
    scratch.batch.dir = id;
    let bottom = worker.stack.len();
    let enough = if worker.job.can_resume_listing { enough } else { usize::MAX };
    let rest = worker.fill(id, &dir, enough, scratch);
    drop(dir);
    if scratch.batch.len() > 0 {
        // The directory waits for these names.
        worker.job.nodes().hold(id);
    }
    match rest {
        // Directories found before come first, so that only a part of millions is in memory at a
        // time.
        Some(place) => worker.stack.insert(bottom, PurgeTask::Empty { inode, dir: id, place }),
        None => worker.settle(id),
    }
}

/// Removes the listed entries, one directory after the other.
fn remove(worker: &mut Worker<'_>, batches: &[Batch]) {
    for batch in batches {
        match worker.open(batch.dir) {
            Ok(dir) => worker.remove_some(&dir, batch, 0..batch.len()),
            // Another process removed it.
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(source) => worker.fail(batch.dir, b"", Reason::Failed { op: Op::Open, source }),
        }
        if worker.stopped() {
            return;
        }
        worker.settle(batch.dir);
        worker.count();
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;
    use std::sync::Arc;

    use device::Io;
    use runtime::Progress;
    use testkit::{TempTree, TreeBuilder};

    use super::{enough, list};
    use crate::engine::job::{Job, PurgeTask};
    use crate::engine::worker::Worker;
    use crate::example::{options, top};
    use runtime::Throttle;

    /// Lists a tree of `dirs` directories, with a file in each of the first twenty, until it finds
    /// names. Returns the number of directories with names, and the remaining stack.
    fn list_some(dirs: u32) -> (usize, Vec<PurgeTask>) {
        let (tree, mut made) = (TempTree::new(), TreeBuilder::new());
        for n in 0..dirs {
            let name = n.to_string();
            made = if n < 20 { made.file(format!("{name}/file"), "") } else { made.dir(name) };
        }
        made.make(tree.path());
        let (options, progress) = (options(Io::Hdd), Progress::default());
        let mut job = Job::new(top(tree.path()), &options, &progress).expect("it is open");
        job.can_resume_listing = true;
        let mut worker = Worker::new(&job);
        let batches = list(&mut worker, 1, 1);
        (batches.len(), std::mem::take(&mut worker.stack))
    }

    #[test]
    fn a_sweep_ends_when_there_is_enough_whatever_else_waits() {
        let (batches, stack) = list_some(20);
        let untouched = |task: &&PurgeTask| matches!(task, PurgeTask::Empty { place: 0, .. });
        assert_eq!((batches, stack.iter().filter(untouched).count()), (1, 19));
    }

    #[test]
    fn of_a_wide_directory_a_part_is_listed_at_a_time() {
        let (_, stack) = list_some(10_000);
        let goes_on =
            |task: &PurgeTask| matches!(task, PurgeTask::Empty { place, .. } if *place > 0);
        assert!(stack.first().is_some_and(goes_on), "it was listed to its end");
    }

    #[test]
    fn no_more_is_fetched_in_advance_than_may_be_removed_soon() {
        let mut options = options(Io::Hdd);
        options.throttle = Arc::new(Throttle::new(NonZeroU64::new(10)));
        let (tree, progress) = (TempTree::new(), Progress::default());
        let job = Job::new(top(tree.path()), &options, &progress).expect("it is open");
        assert_eq!(enough(&job), 10 * 10 * 32);
    }
}
