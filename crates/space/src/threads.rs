//! Divides work among threads.

use std::thread::{ScopedJoinHandle, available_parallelism, scope};

/// Maximum number of threads. More threads would wait for each other, because some of the work cannot
/// be divided.
const MAX: usize = 4;

/// Returns the number of threads that work is divided among.
pub(crate) fn count() -> usize {
    available_parallelism().map_or(1, std::num::NonZero::get).min(MAX)
}

/// Divides items among threads. Returns the results in the order of the items.
pub(crate) fn each<I: Sync, T: Send>(items: &[I], work: impl Fn(&[I]) -> T + Sync) -> Vec<T> {
    let work = &work;
    scope(|scope| {
        let chunks = items.chunks(items.len().div_ceil(count()).max(1));
        let threads: Vec<_> = chunks.map(|chunk| scope.spawn(move || work(chunk))).collect();
        threads.into_iter().map(join).collect()
    })
}

/// Like [`each`], for work that changes the items.
pub(crate) fn each_mut<I: Send, T: Send>(
    items: &mut [I],
    work: impl Fn(&mut [I]) -> T + Sync,
) -> Vec<T> {
    let work = &work;
    scope(|scope| {
        let chunks = items.chunks_mut(items.len().div_ceil(count()).max(1));
        let threads: Vec<_> = chunks.map(|chunk| scope.spawn(move || work(chunk))).collect();
        threads.into_iter().map(join).collect()
    })
}

/// Returns the result of a thread, or continues its panic.
pub(crate) fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
