//! Locks without poisoning, and cleanup after a panic.
//!
//! A panic in a worker is a bug and ends the operation. The other workers stop, the panic is raised
//! again once all of them have finished, and the results are discarded. Code that acquires a lock
//! therefore does not need to know whether another thread panicked while holding it.

use std::sync::{MutexGuard, PoisonError};
use std::time::Duration;

/// A mutual exclusion lock like [`std::sync::Mutex`].
#[derive(Debug, Default)]
pub struct Mutex<T>(std::sync::Mutex<T>);

/// A condition variable like [`std::sync::Condvar`].
#[derive(Debug, Default)]
pub struct Condvar(std::sync::Condvar);

/// Runs a function when a panic drops it. See [`on_panic`].
#[must_use = "the guard lasts until it is dropped"]
pub struct OnPanic<F: FnMut()>(F);

/// Returns a guard that runs `wake` if the thread panics while it holds the guard. `wake` ends the waits of other
/// threads for this one.
pub fn on_panic<F: FnMut()>(wake: F) -> OnPanic<F> {
    OnPanic(wake)
}

impl<F: FnMut()> Drop for OnPanic<F> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            (self.0)();
        }
    }
}

impl<T> Mutex<T> {
    /// Returns an unlocked mutex.
    pub const fn new(value: T) -> Mutex<T> {
        Mutex(std::sync::Mutex::new(value))
    }

    /// Locks the mutex. **May block** until another thread unlocks it.
    pub fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the value.
    pub fn into_inner(self) -> T {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Condvar {
    /// Returns a condition variable on which no threads are waiting.
    pub const fn new() -> Condvar {
        Condvar(std::sync::Condvar::new())
    }

    /// Unlocks the mutex of `guard`, blocks until another thread notifies this one, and locks the mutex again.
    pub fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        self.0.wait(guard).unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits like [`Condvar::wait`], but for at most `timeout`. The second value is true if the time ran out.
    pub fn wait_timeout<'a, T>(
        &self,
        guard: MutexGuard<'a, T>,
        timeout: Duration,
    ) -> (MutexGuard<'a, T>, bool) {
        let waited = self.0.wait_timeout(guard, timeout);
        let (guard, result) = waited.unwrap_or_else(PoisonError::into_inner);
        (guard, result.timed_out())
    }

    /// Wakes one waiting thread.
    pub fn notify_one(&self) {
        self.0.notify_one();
    }

    /// Wakes all waiting threads.
    pub fn notify_all(&self) {
        self.0.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::{Mutex, on_panic};

    #[test]
    fn a_panic_runs_the_guard_and_leaves_the_lock_usable() {
        let (value, mut runs) = (Mutex::new(1), 0);
        let panic = AssertUnwindSafe(|| {
            let _guard = on_panic(|| runs += 1);
            let _locked = value.lock();
            panic!("expected");
        });
        catch_unwind(panic).expect_err("panics");
        assert_eq!((runs, *value.lock()), (1, 1));
    }

    #[test]
    fn without_a_panic_the_guard_does_nothing() {
        drop(on_panic(|| unreachable!("nothing panicked")));
    }
}
