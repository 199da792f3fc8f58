//! Directories waiting to be listed, shared by the workers.
//!
//! Each worker keeps a stack of its own and gives away the older half of it (the larger
//! subtrees) only when another worker has nothing to do. Depth first keeps the stacks short and
//! the parent's descriptor warm.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, PoisonError};

use crate::tree::DirId;

#[derive(Debug)]
pub(crate) struct Queue {
    shared: Mutex<Shared>,
    wake: Condvar,
    workers: usize,
    /// Copy of `Shared::idle` that can be read without the lock.
    idle: AtomicUsize,
}

#[derive(Debug, Default)]
struct Shared {
    ready: Vec<DirId>,
    idle: usize,
    closed: bool,
}

impl Queue {
    pub(crate) fn new(workers: usize, start: DirId) -> Queue {
        let shared = Mutex::new(Shared { ready: vec![start], ..Shared::default() });
        Queue { shared, wake: Condvar::new(), workers, idle: AtomicUsize::new(0) }
    }

    /// Returns the next directory, from `own` if it has one, else from the other workers'
    /// surplus; `None` once every worker is out of work.
    pub(crate) fn next(&self, own: &mut Vec<DirId>) -> Option<DirId> {
        if let Some(dir) = own.pop() {
            return Some(dir);
        }
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        shared.idle += 1;
        loop {
            if shared.idle == self.workers && shared.ready.is_empty() {
                shared.closed = true;
                self.wake.notify_all();
            }
            if shared.closed {
                return None;
            }
            if let Some(dir) = shared.ready.pop() {
                shared.idle -= 1;
                self.idle.store(shared.idle, Relaxed);
                return Some(dir);
            }
            self.idle.store(shared.idle, Relaxed);
            shared = self.wake.wait(shared).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Gives away the older half of `own` if a worker is waiting.
    pub(crate) fn share(&self, own: &mut Vec<DirId>) {
        if self.idle.load(Relaxed) == 0 || own.len() < 2 {
            return;
        }
        let mut shared = self.shared.lock().unwrap_or_else(PoisonError::into_inner);
        let half = own.len() / 2;
        shared.ready.extend(own.drain(..half));
        self.wake.notify_all();
    }

    /// Returns a guard that closes the queue when it is dropped by a panic, so that the other
    /// workers do not wait for ever for the one that is gone.
    pub(crate) fn close_on_panic(&self) -> CloseOnPanic<'_> {
        CloseOnPanic(self)
    }

    /// Lets every worker stop at its next look.
    pub(crate) fn close(&self) {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.wake.notify_all();
    }
}

#[must_use = "it guards until it is dropped"]
pub(crate) struct CloseOnPanic<'a>(&'a Queue);

impl Drop for CloseOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.close();
        }
    }
}
