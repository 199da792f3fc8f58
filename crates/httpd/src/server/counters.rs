//! Counters of connections, requests and bytes.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counters of one thread. Only this thread changes them; any thread may read them.
#[derive(Debug, Default)]
pub(super) struct Counters {
    pub(super) accepted: Counter,
    pub(super) closed: Counter,
    pub(super) requests: Counter,
    pub(super) refused: Counter,
    pub(super) timed_out: Counter,
    pub(super) cut: Counter,
    pub(super) bytes: Counter,
}

impl Counters {
    /// Returns a number that grows with each connection and request.
    pub(super) fn serial(&self) -> u64 {
        self.accepted.get() + self.requests.get()
    }
}

/// A number that only one thread changes, so that additions need no locked instructions. Any thread may read it.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds an amount.
    pub fn add(&self, amount: u64) {
        self.0.store(self.get().wrapping_add(amount), Relaxed);
    }

    /// Subtracts an amount.
    pub fn subtract(&self, amount: u64) {
        self.0.store(self.get().wrapping_sub(amount), Relaxed);
    }

    /// Returns the number.
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// The sums of the counters of all threads since the server started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Connections accepted.
    pub accepted: u64,
    /// Connections that are open.
    pub open: u64,
    /// Valid requests.
    pub requests: u64,
    /// Requests that were refused because they are not valid HTTP.
    pub refused: u64,
    /// Connections closed because the client was too slow, without those that had no request.
    pub timed_out: u64,
    /// Responses cut off because the client went away, or the file changed or could not be read.
    pub cut: u64,
    /// Bytes of responses sent.
    pub bytes: u64,
}

impl Activity {
    pub(super) fn of(threads: &[Arc<Counters>]) -> Activity {
        threads.iter().fold(Activity::default(), |sum, thread| Activity {
            accepted: sum.accepted + thread.accepted.get(),
            open: sum.open + thread.accepted.get().saturating_sub(thread.closed.get()),
            requests: sum.requests + thread.requests.get(),
            refused: sum.refused + thread.refused.get(),
            timed_out: sum.timed_out + thread.timed_out.get(),
            cut: sum.cut + thread.cut.get(),
            bytes: sum.bytes + thread.bytes.get(),
        })
    }
}
