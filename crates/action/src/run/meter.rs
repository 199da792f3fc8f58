//! Counts the files and bytes that a run or an undo has to process, and those that it has processed, for progress.
//!
//! Files that are refused count as processed, so the counters of the watch reach their totals at the end.

use std::cell::Cell;
use std::io;
use std::sync::atomic::Ordering::Relaxed;

use runtime::{Interrupted, Progress};

use crate::plan::kind::Amount;

/// Counts the bytes that one thread processes.
#[derive(Debug)]
pub(crate) struct Meter<'w> {
    progress: &'w Progress,
    /// Bytes that were counted since the last [`Meter::complete`].
    counted: Cell<u64>,
}

impl<'w> Meter<'w> {
    pub(crate) fn new(progress: &'w Progress) -> Meter<'w> {
        Meter { progress, counted: Cell::new(0) }
    }

    /// Counts the bytes that one step has processed.
    ///
    /// # Errors
    ///
    /// That a stop was asked for.
    pub(crate) fn step(&self, bytes: u64) -> io::Result<()> {
        self.progress.bytes_done.fetch_add(bytes, Relaxed);
        self.note(bytes);
        self.progress.check().map_err(|Interrupted| io::ErrorKind::Interrupted.into())
    }

    /// Returns a watch for work whose bytes do not count.
    pub(crate) fn uncounted(&self) -> Progress {
        self.progress.uncounted()
    }

    /// Notes bytes that the watch counts already.
    pub(crate) fn note(&self, bytes: u64) {
        self.counted.set(self.counted.get().saturating_add(bytes));
    }

    /// Counts an amount as processed, less the bytes that were counted on the way.
    pub(crate) fn complete(&self, Amount { files, bytes }: Amount) {
        let rest = bytes.saturating_sub(self.counted.replace(0));
        self.progress.files_done.fetch_add(files, Relaxed);
        self.progress.bytes_done.fetch_add(rest, Relaxed);
    }
}
