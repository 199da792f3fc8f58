//! Faults of a simulated disk, to test how programs react: sectors that cannot be read, slow
//! requests, and requests that are never answered.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use fuser::Errno;

/// The effect of a fault on requests that touch a part of the disk. The disk has few movers, so a
/// few waiting requests delay all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// Requests fail with an input/output error.
    Error,
    /// Requests take this much longer. Several delayed requests can wait at the same time.
    Delay(Duration),
    /// Requests are not answered until the disk is healed.
    Silence,
}

/// The faults of a disk, shared between threads.
#[derive(Debug, Clone, Default)]
pub(super) struct Health(Arc<State>);

#[derive(Debug, Default)]
struct State {
    troubles: Mutex<Vec<(Range<u64>, Trouble)>>,
    healed: Condvar,
    /// Number of requests that wait for the disk to be healed.
    unanswered: AtomicUsize,
}

impl Health {
    /// Adds a fault to a part of the disk. Where faults overlap, the first one applies.
    pub(super) fn add(&self, part: Range<u64>, trouble: Trouble) {
        self.lock().push((part, trouble));
    }

    /// Removes all faults and wakes the waiting requests.
    pub(super) fn heal(&self) {
        self.lock().clear();
        self.0.healed.notify_all();
    }

    /// Returns the number of requests that wait for the disk to be healed.
    pub(super) fn unanswered(&self) -> usize {
        self.0.unanswered.load(Relaxed)
    }

    /// Applies the faults of the disk to a request of `len` bytes at offset `at`.
    ///
    /// # Errors
    ///
    /// The request touches a part with [`Trouble::Error`].
    pub(super) fn meet(&self, at: u64, len: u64) -> Result<(), Errno> {
        let mut troubles = self.lock();
        loop {
            let touched = troubles.iter().find(|(part, _)| part.start < at + len && at < part.end);
            match touched.map(|&(_, trouble)| trouble) {
                None => return Ok(()),
                Some(Trouble::Error) => return Err(Errno::EIO),
                Some(Trouble::Delay(longer)) => {
                    drop(troubles);
                    thread::sleep(longer);
                    return Ok(());
                }
                Some(Trouble::Silence) => {
                    self.0.unanswered.fetch_add(1, Relaxed);
                    let waited = self.0.healed.wait(troubles);
                    self.0.unanswered.fetch_sub(1, Relaxed);
                    troubles = waited.unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Vec<(Range<u64>, Trouble)>> {
        self.0.troubles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
