//! Keeps a removal from going faster than asked for, for the sake of others that use the disk.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use fsops::Watch;

/// A sleep is at most so long: who is asked to stop does so soon.
const NAP: Duration = Duration::from_millis(50);

/// Counts entries from the start of a removal on.
#[derive(Debug)]
pub(crate) struct Throttle {
    rate: Option<NonZeroU64>,
    start: Instant,
    done: AtomicU64,
}

impl Throttle {
    pub(crate) fn new(rate: Option<NonZeroU64>) -> Throttle {
        Throttle { rate, start: Instant::now(), done: AtomicU64::new(0) }
    }

    /// Waits until one entry more may be done; returns whether it may, and the work is not to stop.
    pub(crate) fn pass(&self, watch: &Watch) -> bool {
        let Some(rate) = self.rate else { return true };
        let before = self.done.fetch_add(1, Relaxed);
        let nanos = u128::from(before) * 1_000_000_000 / u128::from(rate.get());
        let due = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        while let Some(rest) = due.checked_sub(self.start.elapsed()).filter(|_| !watch.stopped()) {
            std::thread::sleep(rest.min(NAP));
        }
        !watch.stopped()
    }
}
