//! Counts the files and bytes that a run or an undo has to process, and those that it has processed, for progress.
//!
//! Files that are refused count as processed, so the counters of the watch reach their totals at the end.

use std::cell::Cell;
use std::io;
use std::iter::Sum;
use std::ops::Add;
use std::sync::atomic::Ordering::Relaxed;

use runtime::{Interrupted, Progress};

use crate::kind::Kind;
use crate::settle::ABREAST;

/// Files, and bytes of them that are compared, copied or shared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Files to act on.
    pub files: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Amount {
    /// Returns the work of acting on `others` files of one size that equal a kept file. Kinds that compare read the
    /// kept file too, once for all the files that are compared side by side.
    pub fn of(kind: Kind, size: u64, others: usize) -> Amount {
        let is_compared = !matches!(kind, Kind::Reflink | Kind::Separate);
        let kept = if is_compared { others.div_ceil(ABREAST) } else { 0 };
        let bytes = size.saturating_mul((others + kept) as u64);
        Amount { files: others as u64, bytes }
    }

    /// Adds this to the totals of a watch.
    pub fn expect(self, progress: &Progress) {
        progress.files_total.fetch_add(self.files, Relaxed);
        progress.bytes_total.fetch_add(self.bytes, Relaxed);
    }
}

impl Add for Amount {
    type Output = Amount;

    fn add(self, other: Amount) -> Amount {
        let bytes = self.bytes.saturating_add(other.bytes);
        Amount { files: self.files + other.files, bytes }
    }
}

impl Sum for Amount {
    fn sum<I: Iterator<Item = Amount>>(all: I) -> Amount {
        all.fold(Amount::default(), Add::add)
    }
}

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
