//! Divides work among threads.

use std::thread::{ScopedJoinHandle, available_parallelism, scope};

/// Maximum number of threads. More threads would wait for each other, because some of the work cannot
/// be divided.
const MAX: usize = 4;

/// Returns the number of threads that work is divided among.
pub(crate) fn count() -> usize {
    available_parallelism().map_or(1, std::num::NonZero::get).min(MAX)
}

/// Returns the length of the chunks that divide `items` items among the threads.
pub(crate) fn chunk(items: usize) -> usize {
    items.div_ceil(count()).max(1)
}

/// Does each piece of work in a thread of its own. Returns the results in the order of the pieces.
pub(crate) fn each<W: Send, T: Send>(
    pieces: impl IntoIterator<Item = W>,
    work: impl Fn(W) -> T + Sync,
) -> Vec<T> {
    let work = &work;
    scope(|scope| {
        let spawn = |piece| scope.spawn(move || work(piece));
        let threads: Vec<_> = pieces.into_iter().map(spawn).collect();
        threads.into_iter().map(join).collect()
    })
}

/// Returns the result of a thread, or continues its panic.
pub(crate) fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
