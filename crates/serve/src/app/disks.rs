//! Work on the files of the user.
//!
//! A disk that does not answer, such as a mount whose server is gone, can block a thread forever. Pages that
//! only need the catalog must not wait for such a disk. The number of threads that work on files is therefore
//! limited, for each disk and in total, and is lower than the number of threads for slow work.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use crate::error::PageError;

/// Maximum number of threads that work on files. Must be less than the number of threads for slow work.
pub(crate) const FILE_THREADS: usize = 16;

/// Maximum number of these threads that work on one disk.
const THREADS_PER_DISK: usize = 4;

/// Time after which a disk counts as not answering. A disk that was powered down needs about ten seconds to
/// start.
pub(crate) const ANSWER_TIMEOUT: Duration = Duration::from_secs(20);

/// The threads that work on files.
#[derive(Debug)]
pub(crate) struct Disks {
    threads: Arc<Threads>,
    disks: Mutex<HashMap<u64, Arc<Threads>>>,
}

/// Places for threads, and the number of times that a place was released.
#[derive(Debug)]
struct Threads {
    places: Arc<Semaphore>,
    ended: AtomicU64,
}

/// The disk does not answer. The work may still be done, if the disk answers later.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoAnswer;

impl Disks {
    pub(super) fn new() -> Disks {
        Disks { threads: Arc::new(Threads::new(FILE_THREADS)), disks: Mutex::default() }
    }

    /// Runs `work` on another thread. `disk` is a number that identifies the disk with the files: the device
    /// number, or the number of a file system. 0 stands for disks that are not known.
    ///
    /// # Errors
    ///
    /// Fails if `work` does not end within the time `limit`, or if other work has all places of the disk and
    /// none of it ends within this time.
    ///
    /// # Panics
    ///
    /// Panics if `work` panics.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        disk: u64,
        limit: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, NoAnswer> {
        // The place of the disk comes first, so that requests that wait for it take no place of others.
        let of_disk = Threads::take(self.of(disk), limit).await?;
        let of_all = Threads::take(Arc::clone(&self.threads), limit).await?;
        let done = tokio::task::spawn_blocking(move || {
            let _places = (of_disk, of_all);
            work()
        });
        match timeout(limit, done).await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(panic)) => std::panic::resume_unwind(panic.into_panic()),
            Err(_) => Err(NoAnswer),
        }
    }

    fn of(&self, disk: u64) -> Arc<Threads> {
        let mut disks = self.disks.lock().unwrap_or_else(PoisonError::into_inner);
        // Only disks with work need an entry.
        disks.retain(|_, threads| Arc::strong_count(threads) > 1);
        Arc::clone(disks.entry(disk).or_insert_with(|| Arc::new(Threads::new(THREADS_PER_DISK))))
    }
}

impl Threads {
    fn new(count: usize) -> Threads {
        Threads { places: Arc::new(Semaphore::new(count)), ended: AtomicU64::new(0) }
    }

    /// Waits for a place, as long as other work ends within the time `limit`.
    async fn take(threads: Arc<Threads>, limit: Duration) -> Result<Place, NoAnswer> {
        loop {
            let ended = threads.ended.load(Relaxed);
            let place = Arc::clone(&threads.places).acquire_owned();
            if let Ok(place) = timeout(limit, place).await {
                let place = place.map_err(|_closed| NoAnswer)?;
                return Ok(Place { threads, _place: place });
            }
            if threads.ended.load(Relaxed) == ended {
                return Err(NoAnswer);
            }
        }
    }
}

/// A place that is in use.
struct Place {
    threads: Arc<Threads>,
    _place: OwnedSemaphorePermit,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.threads.ended.fetch_add(1, Relaxed);
    }
}

impl From<NoAnswer> for PageError {
    fn from(_: NoAnswer) -> PageError {
        PageError::unavailable(
            "The disk does not answer",
            "If it was powered down, try again when it has started. Otherwise, check its mount.",
        )
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};
    use std::time::Duration;

    use super::{Disks, FILE_THREADS, NoAnswer, THREADS_PER_DISK};

    /// A limit that is reached, and one that is not.
    const SHORT: Duration = Duration::from_millis(20);
    const LONG: Duration = Duration::from_secs(600);

    fn run(test: impl Future<Output = ()>) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(test);
    }

    /// Starts work that ends when the senders are dropped.
    async fn hang(disks: &Disks, disk: u64, times: usize) -> Vec<Sender<()>> {
        let mut senders = Vec::new();
        for _ in 0..times {
            let (sender, receiver): (_, Receiver<()>) = channel();
            let work = move || receiver.recv().is_err();
            assert_eq!(disks.run(disk, SHORT, work).await, Err(NoAnswer));
            senders.push(sender);
        }
        senders
    }

    #[test]
    fn a_disk_that_does_not_answer_delays_no_other() {
        run(async {
            let disks = Disks::new();
            let hung = hang(&disks, 1, THREADS_PER_DISK).await;
            assert_eq!(disks.run(1, SHORT, || ()).await, Err(NoAnswer), "all places are taken");
            assert_eq!(disks.run(2, LONG, || 7).await, Ok(7));
            drop(hung);
            assert_eq!(disks.run(1, LONG, || 8).await, Ok(8), "it answers again");
        });
    }

    #[test]
    fn threads_are_left_when_many_disks_do_not_answer() {
        run(async {
            let disks = Disks::new();
            let mut hung = Vec::new();
            for disk in 0..FILE_THREADS / THREADS_PER_DISK {
                hung.extend(hang(&disks, disk as u64, THREADS_PER_DISK).await);
            }
            assert_eq!(disks.run(99, SHORT, || ()).await, Err(NoAnswer));
            drop(hung);
            assert_eq!(disks.run(99, LONG, || 9).await, Ok(9));
        });
    }
}
