//! Progress counters of an engine, and a flag that asks the engine to stop.
//!
//! [`Progress`] is a struct of atomics rather than a trait with callbacks. Engines update the
//! counters in batches and never wait for the thread that displays them.

use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};

use crate::spill;

/// The current activity of an engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Stage {
    /// Loading the catalog. This stage has no counters.
    Begin,
    /// Walking directories.
    Walk,
    /// Sorting the entries that were found and matching them with the catalog.
    Sort,
    /// Reading the heads of files.
    Heads,
    /// Comparing the whole contents of files.
    Compare,
    /// Checking whether remembered files have changed.
    Look,
    /// Comparing directories.
    Relate,
    /// Writing the catalog.
    Commit,
    /// Changing files.
    Act,
    /// Restoring files that a run changed.
    Restore,
    /// Counting entries before their removal.
    Count,
    /// Removing trees.
    Purge,
    /// Mirroring a tree.
    Mirror,
    /// Writing the files of an export.
    Export,
    /// Making a catalog of an export.
    Import,
}

/// Error of an operation that was stopped on request.
///
/// Changes made before the stop are kept. `purge`, `mirror` and `action` can return this error
/// after they have changed files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

/// Counters of an engine's progress, and a flag that asks the engine to stop. The counters never
/// decrease.
///
/// Work that fails or turns out to be unnecessary counts as done. At the end of a stage that has a
/// total, the done counter is therefore equal to the total.
#[derive(Debug, Default)]
pub struct Progress {
    stop: Arc<AtomicBool>,
    stage: AtomicU8,
    /// True while results are being saved. Saving may still take a while after a stop was
    /// requested.
    pub saving: AtomicBool,
    /// Number of entries of any type that the walk has found.
    pub entries: AtomicU64,
    /// Total size in bytes of the regular files that the walk has found.
    pub bytes_seen: AtomicU64,
    /// Number of heads to read.
    pub heads_total: AtomicU64,
    /// Number of heads read.
    pub heads_done: AtomicU64,
    /// True while `files_total` and `bytes_total` are still being counted and are only lower
    /// bounds.
    pub totals_grow: AtomicBool,
    /// Number of files whose content has to be processed.
    pub files_total: AtomicU64,
    /// Number of files whose content has been processed, including failed ones.
    pub files_done: AtomicU64,
    /// Maximum number of bytes to read or copy. At the end, `bytes_done` reaches this value.
    pub bytes_total: AtomicU64,
    /// Number of bytes that have been read or copied, or that turned out not to be needed.
    pub bytes_done: AtomicU64,
    /// Number of entries to remove, or 0 if unknown.
    pub removed_total: AtomicU64,
    /// Number of entries removed, or counted during [`Stage::Count`].
    pub removed_done: AtomicU64,
    /// Number of bytes read from the contents of files.
    pub bytes_read: AtomicU64,
    /// Number of files opened in order to read their content.
    pub opened: AtomicU64,
}

impl Progress {
    /// Returns a separate set of counters that are not displayed. A request to stop applies to both
    /// sets of counters.
    #[must_use]
    pub fn uncounted(&self) -> Progress {
        Progress { stop: Arc::clone(&self.stop), ..Progress::default() }
    }

    /// Asks the engine to stop soon.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// Returns true if a stop was requested. **May block** to release memory.
    ///
    /// Workers call this often, so it also checks that the process is within its memory bound
    /// ([`crate::memory`]).
    pub fn poll_stop(&self) -> bool {
        self.relieve_memory();
        self.stop.load(Relaxed)
    }

    /// Releases memory beyond the bound. Long operations that cannot be stopped call this instead
    /// of [`Progress::poll_stop`].
    pub fn relieve_memory(&self) {
        spill::relieve();
    }

    /// Blocks while memory is being released. Sorts call this for each comparison.
    #[inline]
    pub fn wait_for_release(&self) {
        spill::wait_for_release();
    }

    /// Compares two values in a sort. **May block** while memory is being released.
    #[inline]
    pub fn compare<T: Ord>(&self, a: &T, b: &T) -> Ordering {
        self.wait_for_release();
        a.cmp(b)
    }

    /// Sorts a large table. The sort is not stable. **May block** while memory is being released.
    pub fn sort<T: Ord>(&self, table: &mut [T]) {
        table.sort_unstable_by(|a, b| self.compare(a, b));
    }

    /// Like [`Progress::sort`], but sorts by a key.
    pub fn sort_by_key<T, K: Ord>(&self, table: &mut [T], key: impl Fn(&T) -> K) {
        table.sort_unstable_by(|a, b| self.compare(&key(a), &key(b)));
    }

    /// Fails if a stop was requested. **May block**, like [`Progress::poll_stop`].
    ///
    /// # Errors
    ///
    /// Returns [`Interrupted`] if a stop was requested.
    pub fn check(&self) -> Result<(), Interrupted> {
        if self.poll_stop() { Err(Interrupted) } else { Ok(()) }
    }

    /// Sets the current stage.
    pub fn enter(&self, stage: Stage) {
        self.stage.store(stage as u8, Relaxed);
    }

    /// Returns the current stage.
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
            Stage::Export,
            Stage::Import,
        ];
        stages[usize::from(self.stage.load(Relaxed))]
    }
}
