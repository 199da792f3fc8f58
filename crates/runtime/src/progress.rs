//! Counters an engine keeps while it works, and the flag that stops it.
//!
//! One struct of atomics rather than a trait with callbacks: the engines add to it in batches
//! and never wait for whoever shows progress, which reads it at leisure from another thread.

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};

use crate::spill;

/// What an engine is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Stage {
    /// Loading what the catalog remembers. This stage has no counters.
    Begin,
    /// Finding entries.
    Walk,
    /// Sorting what was found, and looking up what is known of it.
    Sort,
    /// Reading the beginnings of files.
    Heads,
    /// Comparing whole contents.
    Compare,
    /// Looking whether remembered files are unchanged.
    Look,
    /// Comparing directories.
    Relate,
    /// Writing the catalog.
    Commit,
    /// Changing files.
    Act,
    /// Restoring files that a run changed.
    Restore,
    /// Counting what is to be removed.
    Count,
    /// Removing trees.
    Purge,
    /// Making one tree like another.
    Mirror,
}

/// The work was stopped on request; nothing was changed by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

/// Progress so far, and the request to stop. All counters only grow.
///
/// At the end of work that has a total, what is done is equal to it: work that turned out unnecessary, or failed,
/// counts as done.
#[derive(Debug, Default)]
pub struct Progress {
    stop: Arc<AtomicBool>,
    stage: AtomicU8,
    /// Whether results are being saved: work that was asked to stop is given the time for it.
    pub saving: AtomicBool,
    /// Entries of any kind seen by a walk.
    pub entries: AtomicU64,
    /// Size in bytes of the regular files seen by a walk.
    pub bytes_seen: AtomicU64,
    /// Beginnings of files that have to be read.
    pub heads_total: AtomicU64,
    /// Of those, beginnings that were read.
    pub heads_done: AtomicU64,
    /// Whether `files_total` and `bytes_total` are still being counted: they are the least there can be.
    pub totals_grow: AtomicBool,
    /// Files whose content has to be looked at.
    pub files_total: AtomicU64,
    /// Of those, files that are done, failed ones included.
    pub files_done: AtomicU64,
    /// Bytes that may have to be read or copied: an upper bound that `bytes_done` reaches at the end.
    pub bytes_total: AtomicU64,
    /// Of those, bytes read, copied, or found unnecessary.
    pub bytes_done: AtomicU64,
    /// Entries that are to be removed, or 0 if that is not known.
    pub removed_total: AtomicU64,
    /// Entries that were removed, or counted as such.
    pub removed_done: AtomicU64,
    /// Bytes of content read.
    pub bytes_read: AtomicU64,
    /// Files opened to read their content.
    pub opened: AtomicU64,
}

impl Progress {
    /// Returns a watch for a part of the work whose counters nobody looks at; a request to stop reaches both.
    #[must_use]
    pub fn uncounted(&self) -> Progress {
        Progress { stop: Arc::clone(&self.stop), ..Progress::default() }
    }

    /// Asks the engines to stop soon.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Returns whether a stop was asked for.
    ///
    /// Whoever works asks this often, and so the memory of the process is looked at here too, once
    /// there is any need for that.
    pub fn poll_stop(&self) -> bool {
        self.make_room();
        self.stop.load(Relaxed)
    }

    /// Looks at the memory of the process, as [`Progress::poll_stop`] does, on behalf of what is long and
    /// cannot be stopped.
    pub fn make_room(&self) {
        spill::relieve();
    }

    /// Waits while the process lets go of memory: what a sort can do at each comparison.
    #[inline]
    pub fn give_way(&self) {
        spill::give_way();
    }

    /// Compares two values on behalf of a sort, giving way.
    #[inline]
    pub fn compare<T: Ord>(&self, a: &T, b: &T) -> Ordering {
        self.give_way();
        a.cmp(b)
    }

    /// Returns [`Interrupted`] as an error once a stop was asked for.
    pub fn check(&self) -> Result<(), Interrupted> {
        if self.poll_stop() { Err(Interrupted) } else { Ok(()) }
    }

    /// Says what is being done now.
    pub fn enter(&self, stage: Stage) {
        self.stage.store(stage as u8, Relaxed);
    }

    /// Returns what is being done now.
    pub fn stage(&self) -> Stage {
        let stages = [
            Stage::Begin,
            Stage::Walk,
            Stage::Sort,
            Stage::Heads,
            Stage::Compare,
            Stage::Look,
            Stage::Relate,
            Stage::Commit,
            Stage::Act,
            Stage::Restore,
            Stage::Count,
            Stage::Purge,
            Stage::Mirror,
        ];
        stages[usize::from(self.stage.load(Relaxed))]
    }
}
