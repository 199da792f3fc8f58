//! Counts the processed files and bytes of a run or an undo to show progress.
//!
//! Refused files count as processed, so that the counters reach their totals at the end.

use std::cell::Cell;
use std::io;
use std::sync::atomic::Ordering::Relaxed;

use runtime::{Interrupted, Progress};

use crate::plan::kind::Amount;

/// Counts the bytes that one thread processes.
#[derive(Debug)]
pub(crate) struct Meter<'w> {
    progress: &'w Progress,
    /// Bytes counted since the last [`Meter::complete`].
    counted: Cell<u64>,
}

impl<'w> Meter<'w> {
    pub(crate) fn new(progress: &'w Progress) -> Meter<'w> {
        Meter { progress, counted: Cell::new(0) }
    }

    /// Counts the bytes of one step.
    ///
    /// # Errors
    ///
    /// Fails if the user asked to stop.
    pub(crate) fn step(&self, bytes: u64) -> io::Result<()> {
        self.progress.bytes_done.fetch_add(bytes, Relaxed);
        self.add_counted(bytes);
        self.progress.check().map_err(|Interrupted| io::ErrorKind::Interrupted.into())
    }

    /// Returns a progress object whose bytes are not counted.
    pub(crate) fn uncounted(&self) -> Progress {
        self.progress.uncounted()
    }

    /// Records bytes that the progress has already counted.
    pub(crate) fn add_counted(&self, bytes: u64) {
        self.counted.set(self.counted.get().saturating_add(bytes));
    }

    /// Counts an amount of work as processed, except for the bytes that were already counted.
    pub(crate) fn complete(&self, Amount { files, bytes }: Amount) {
        let rest = bytes.saturating_sub(self.counted.replace(0));
        self.progress.files_done.fetch_add(files, Relaxed);
        self.progress.bytes_done.fetch_add(rest, Relaxed);
    }
}
