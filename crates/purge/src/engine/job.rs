//! The removal of one tree, and the state that its workers share.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, MutexGuard};
use std::time::Instant;

use device::{Disk, Queue, Threads, WorkerPool};
use fsops::{Dir, Stat};
use runtime::{Mutex, Progress};

use crate::Operation;
use crate::Options;
use crate::Tell;
use crate::engine::batch::Batch;
use crate::engine::linked::Linked;
use crate::engine::nodes::{NodeId, Nodes, TOP};
use crate::engine::tuner::{Sample, Start, Tuner};
use crate::outcome::Outcome;
use crate::paths::joined;

/// Minimum number of entries to process before the disk is probed again. A probe has no result if
/// everything that it read was cached.
const PROBE_INTERVAL: u64 = 10_000;

/// A task of a worker. Tasks are sorted by inode number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PurgeTask {
    /// Empty a directory, continuing its listing from position `place`.
    Empty { inode: u64, dir: NodeId, place: u64 },
    /// Help another worker to remove the names of the batch with this number.
    Help(u32),
}

/// The removal of one tree.
pub(crate) struct Job<'a> {
    pub(crate) options: &'a Options,
    pub(crate) progress: &'a Progress,
    pub(crate) disk: Arc<Disk>,
    pub(crate) top: Dir,
    /// The path of the top directory as given.
    pub(crate) given: &'a [u8],
    tell: Option<Tell<'a>>,
    /// True if the file system is btrfs, where a directory can be a subvolume.
    pub(crate) btrfs: bool,
    /// True if a listing can be interrupted and continued with another descriptor.
    pub(crate) can_resume_listing: bool,
    /// True if the run may remove a subvolume as a whole. The options must select every entry of the
    /// subvolume, and no file system may be mounted in it.
    pub(crate) whole_subvolumes: bool,
    pub(crate) queue: Queue<PurgeTask>,
    tuner: Tuner,
    /// Number of entries processed.
    done: AtomicU64,
    /// Value of `done` at which to probe the disk again.
    next_probe: AtomicU64,
    nodes: Mutex<Nodes>,
    /// A secret hash key, so that nobody can forge the identity of a directory.
    secret: RandomState,
    batches: Mutex<Batches>,
}

#[derive(Debug, Default)]
struct Batches {
    open: HashMap<u32, Arc<Batch>>,
    next: u32,
}

/// The results of a worker.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) outcome: Outcome,
    pub(crate) linked: Linked,
    /// Tasks that the worker did not process.
    pub(crate) rest: Vec<PurgeTask>,
}

impl Tally {
    /// Adds the results of all workers of a pool.
    pub(crate) fn add(&mut self, all: Vec<Tally>) {
        self.outcome.threads = self.outcome.threads.max(all.len());
        for other in all {
            self.outcome.add(other.outcome);
            self.linked.add(other.linked);
            self.rest.extend(other.rest);
        }
    }
}

/// An open top directory.
pub(crate) struct Top<'a> {
    pub(crate) dir: Dir,
    pub(crate) stat: Stat,
    pub(crate) given: &'a [u8],
    pub(crate) mounts_below: bool,
    pub(crate) tell: Option<Tell<'a>>,
}

impl<'a> Job<'a> {
    pub(crate) fn new(
        top: Top<'a>,
        options: &'a Options,
        progress: &'a Progress,
    ) -> io::Result<Job<'a>> {
        let volume = top.dir.volume()?;
        let begin = Start::on(volume, options.threads);
        let stays = options.selection.is_too_new(top.stat.mtime_ns());
        let mut nodes = Nodes::new(options.selection.chooses_all());
        if options.keep_root || stays || !options.selection.takes_emptied() {
            nodes.stay(TOP);
        }
        let queue = Queue::new(PurgeTask::Empty { inode: top.stat.inode, dir: TOP, place: 0 });
        queue.limit(begin.workers);
        let start = Sample { at: Instant::now(), done: 0, cpu: runtime::process_cpu() };
        Ok(Job {
            disk: options.disks.of(top.stat.device),
            btrfs: volume.is_btrfs(),
            can_resume_listing: volume.has_stable_listing_offsets() && !options.cross_mounts,
            whole_subvolumes: options.operation == Operation::Remove
                && options.selection.is_all()
                && top.tell.is_none()
                && !top.mounts_below,
            tell: top.tell,
            top: top.dir,
            given: top.given,
            queue,
            tuner: Tuner::new(begin, start),
            done: AtomicU64::new(0),
            next_probe: AtomicU64::new(0),
            nodes: Mutex::new(nodes),
            secret: RandomState::new(),
            batches: Mutex::default(),
            options,
            progress,
        })
    }

    pub(crate) fn pool(&self) -> WorkerPool<'_> {
        let (threads, progress) = (self.options.threads, self.progress);
        WorkerPool {
            disk: &self.disk,
            threads,
            pieces: None,
            all_at_once: true,
            writes: false,
            progress,
        }
    }

    /// Returns whether to run a round in disk order. Such a round may first probe the disk.
    pub(crate) fn goes_by_disk_order(&self) -> bool {
        if !self.disk.is_cold() {
            return false;
        }
        if self.disk.is_classified() {
            return self.disk.is_seek_bound();
        }
        // A probe relies on the kernel's count of fetched blocks, which exists only for block
        // devices.
        self.disk.is_block_device() && self.done.load(Relaxed) >= self.next_probe.load(Relaxed)
    }

    /// Sets the number of entries after which to probe the disk again if the last probe had no
    /// result.
    pub(crate) fn defer_probe(&self) {
        self.next_probe.store(self.done.load(Relaxed) * 4 + PROBE_INTERVAL, Relaxed);
    }

    pub(crate) fn nodes(&self) -> MutexGuard<'_, Nodes> {
        self.nodes.lock()
    }

    fn batches(&self) -> MutexGuard<'_, Batches> {
        self.batches.lock()
    }

    /// Records the identity of a directory before the directory is closed. The identity is checked
    /// when the directory is opened again.
    pub(crate) fn leave(&self, id: NodeId, dir: &Dir) {
        let identity = self.identity(dir);
        self.nodes().identify(id, identity);
    }

    /// Returns the identity of a directory for [`Nodes::identify`], or 0 if the identity is
    /// unknown.
    pub(crate) fn identity(&self, dir: &Dir) -> u64 {
        dir.identity().ok().flatten().map_or(0, |origin| self.secret.hash_one(origin))
    }

    /// Counts processed entries, and periodically adjusts the number of workers.
    pub(crate) fn count(&self, entries: u64) {
        let done = self.done.fetch_add(entries, Relaxed) + entries;
        self.progress.removed_done.fetch_add(entries, Relaxed);
        let Threads { first, grows } = self.options.threads;
        if !grows {
            return;
        }
        let most = if self.disk.is_cold() { self.disk.depth(first) } else { first };
        if let Some(workers) = self.tuner.look(done, runtime::process_cpu, Instant::now(), most) {
            self.queue.limit(workers);
        }
    }

    /// Offers a batch to an idle worker. Returns the number of the batch.
    pub(crate) fn offer(&self, batch: &Arc<Batch>) -> u32 {
        let mut batches = self.batches();
        let number = batches.next;
        batches.next = batches.next.wrapping_add(1);
        batches.open.insert(number, Arc::clone(batch));
        drop(batches);
        self.queue.offer(PurgeTask::Help(number));
        number
    }

    pub(crate) fn batch(&self, number: u32) -> Option<Arc<Batch>> {
        self.batches().open.get(&number).map(Arc::clone)
    }

    pub(crate) fn withdraw(&self, number: u32) {
        self.batches().open.remove(&number);
    }

    /// Reports the removal of the entry `name` in a directory. If `name` is empty, reports the
    /// removal of the directory itself.
    pub(crate) fn tell(&self, dir: NodeId, name: &[u8], is_dir: bool) {
        if let Some(tell) = self.tell {
            tell(&joined(&self.path(dir), name), is_dir);
        }
    }

    /// Returns the printed path of a directory.
    pub(crate) fn path(&self, dir: NodeId) -> Vec<u8> {
        joined(self.given, &self.nodes().path(dir))
    }
}
