//! The worker threads of one disk. A pool starts with one thread per processor, and more threads
//! are added while the existing ones wait for the disk.
//!
//! With a warm cache, more threads than processors only add overhead. With a cold disk, a thread
//! spends nearly all its time waiting, and a disk that serves requests in parallel needs many
//! threads to be fully used. Each thread measures how long it waits. It times its work items and
//! periodically asks the kernel how much processor time it has used. If the disk is cold, each
//! measurement that counts as a wait doubles the size of the pool.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::thread::{Builder, Scope};
use std::time::{Duration, Instant};

use runtime::{
    Mutex, Progress, ThreadUsage, on_panic, own_descriptor_table, spawn_with_own_descriptors,
    time_without_processor,
};

use crate::disk::Disk;

/// Time between two measurements. This is long enough to measure the processor time precisely, and
/// a measurement takes only a thousandth of it.
const SAMPLE: Duration = Duration::from_millis(2);

/// Minimum number of fetches in a sample for which it is enough that the thread waited for a quarter
/// of the time, instead of half. If one file in a hundred was evicted from the cache, a sample
/// contains about two fetches.
const MANY_FETCHES: u64 = 8;

/// Time that the first thread of a warm pool works alone. Starting and joining a thread takes about a
/// tenth of a millisecond, as long as looking at a hundred files.
const ALONE: Duration = Duration::from_micros(250);

/// Number of blocks per page. The kernel fetches pages of 4 KiB, but counts blocks of 512 bytes.
const BLOCKS_OF_A_PAGE: u64 = 8;

/// Number of threads on a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threads {
    /// Initial number of threads if the disk is not known to be cold.
    pub first: usize,
    /// True if the pool may grow.
    pub grows: bool,
}

/// Configuration of a pool.
#[derive(Clone, Copy, Debug)]
pub struct WorkerPool<'a> {
    /// The disk.
    pub disk: &'a Disk,
    /// The number of threads.
    pub threads: Threads,
    /// The number of work items, if known. It limits the number of threads.
    pub pieces: Option<usize>,
    /// Whether all threads start at once, because a single work item may take long. A walk has this
    /// unset: only one thread starts, and the others follow if work is left after a quarter of a
    /// millisecond.
    pub all_at_once: bool,
    /// Whether `work` opens files for writing. The pool then waits until each thread has its own
    /// descriptor table, so that no thread keeps a copy of another one's open file.
    pub writes: bool,
    /// The progress of the work. A panic in a worker stops the others through it.
    pub progress: &'a Progress,
}

/// Measures how much time a thread spends working and how much it spends waiting for the disk.
pub struct WaitMeter<'a> {
    disk: &'a Disk,
    spawn: &'a dyn Fn(),
    /// Starts the threads that have not started yet.
    start_others: &'a dyn Fn(),
    others_start: &'a OthersStart,
    began: Instant,
    busy: Duration,
    before: ThreadUsage,
    /// The value of [`time_without_processor`] when it was last queried.
    delayed_before: Duration,
    /// True if every work item accesses the disk, as in a walk. Items of other pools may only compute,
    /// so they do not show that the disk is warm.
    is_walk: bool,
}

/// When the other threads of a pool start.
struct OthersStart {
    at: Instant,
    /// False once they have started.
    pending: AtomicBool,
}

struct Shared<'a, R, F> {
    pool: WorkerPool<'a>,
    others: OthersStart,
    each: F,
    size: AtomicUsize,
    results: Mutex<Vec<R>>,
}

impl WorkerPool<'_> {
    /// Runs `work` once on each thread and returns the results in no particular order.
    ///
    /// The calling thread is one of the workers. Each of the other workers gets its own descriptor
    /// table.
    ///
    /// If `work` panics on a thread, the pool requests a stop of [`WorkerPool::progress`], and raises the panic again
    /// once all threads have ended.
    ///
    /// `work` MUST take its items from a source that all threads share, and return when the source
    /// is empty. Additional threads may start at any time until the source is empty.
    pub fn run<R: Send>(&self, work: impl Fn(&mut WaitMeter<'_>) -> R + Sync) -> Vec<R> {
        let results = Mutex::new(Vec::new());
        let others = OthersStart {
            at: Instant::now() + ALONE,
            pending: AtomicBool::new(!(self.all_at_once || self.disk.is_cold())),
        };
        let shared = Shared { pool: *self, others, each: work, size: AtomicUsize::new(1), results };
        std::thread::scope(|scope| {
            if !shared.others.pending.load(Relaxed) {
                start_others(scope, &shared);
            }
            work_on(&shared, scope);
        });
        shared.results.into_inner()
    }

    /// Returns the current maximum number of threads.
    fn most(&self) -> usize {
        let Threads { first, grows } = self.threads;
        let most = if grows { self.disk.depth(first) } else { first };
        self.pieces.map_or(most, |pieces| most.min(pieces))
    }
}

/// Starts one more thread unless the pool is full. Returns true if the thread was started.
fn spawn<'scope, R: Send, F: Fn(&mut WaitMeter<'_>) -> R + Sync>(
    scope: &'scope Scope<'scope, '_>,
    shared: &'scope Shared<'_, R, F>,
) -> bool {
    let wanted = shared.size.fetch_add(1, Relaxed) < shared.pool.most();
    let run = move || work_on(shared, scope);
    let start = || {
        if shared.pool.writes {
            return spawn_with_own_descriptors(scope, run);
        }
        Builder::new().spawn_scoped(scope, move || {
            own_descriptor_table();
            run();
        })
    };
    let hired = wanted && start().is_ok();
    if !hired {
        shared.size.fetch_sub(1, Relaxed);
    }
    hired
}

/// Starts the initial threads, apart from the calling one.
fn start_others<'scope, R: Send, F: Fn(&mut WaitMeter<'_>) -> R + Sync>(
    scope: &'scope Scope<'scope, '_>,
    shared: &'scope Shared<'_, R, F>,
) {
    let most = shared.pool.most();
    let is_cold = shared.pool.disk.is_cold();
    let threads = if is_cold { most } else { most.min(shared.pool.threads.first) };
    let _all = (1..threads).all(|_| spawn(scope, shared));
}

/// Doubles the number of threads in the pool. A pool reaches 16 threads in at most four such steps.
fn spawn_more<'scope, R: Send, F: Fn(&mut WaitMeter<'_>) -> R + Sync>(
    scope: &'scope Scope<'scope, '_>,
    shared: &'scope Shared<'_, R, F>,
) {
    let _all = (0..shared.size.load(Relaxed)).all(|_| spawn(scope, shared));
}

fn work_on<'scope, R: Send, F: Fn(&mut WaitMeter<'_>) -> R + Sync>(
    shared: &'scope Shared<'_, R, F>,
    scope: &'scope Scope<'scope, '_>,
) {
    let _guard = on_panic(|| shared.pool.progress.stop());
    let now = Instant::now();
    let mut meter = WaitMeter {
        disk: shared.pool.disk,
        spawn: &|| spawn_more(scope, shared),
        start_others: &|| start_others(scope, shared),
        others_start: &shared.others,
        began: now,
        busy: Duration::ZERO,
        before: if shared.pool.disk.is_auto() {
            ThreadUsage::now()
        } else {
            ThreadUsage::default()
        },
        delayed_before: Duration::ZERO,
        is_walk: !shared.pool.all_at_once,
    };
    let result = (shared.each)(&mut meter);
    shared.results.lock().push(result);
}

impl WaitMeter<'_> {
    /// Starts the clock for a work item.
    pub fn begin(&mut self) {
        self.start_others_in_time();
        if self.disk.is_auto() {
            self.began = Instant::now();
        }
    }

    /// Starts the other threads of the pool once the first thread has worked alone for [`ALONE`].
    fn start_others_in_time(&mut self) {
        let OthersStart { at, pending } = self.others_start;
        if pending.load(Relaxed) && Instant::now() >= *at && pending.swap(false, Relaxed) {
            (self.start_others)();
        }
    }

    /// Ends a work item and starts the clock for the next one. If [`WaitMeter::begin`] is called
    /// later, the time in between counts neither as work nor as waiting.
    pub fn tick(&mut self) {
        self.start_others_in_time();
        if !self.disk.is_auto() {
            return;
        }
        let now = Instant::now();
        self.busy += now - self.began;
        self.began = now;
        if self.busy >= SAMPLE {
            self.look_back();
        }
    }

    fn look_back(&mut self) {
        let now = ThreadUsage::now();
        let worked = now.cpu.saturating_sub(self.before.cpu);
        let waits = now.waits.saturating_sub(self.before.waits);
        // A thread also waits for locks and for a processor. On a block device, the number of waits
        // for the disk is at most the number of fetched pages. For other devices, the kernel does
        // not count fetched pages, so every wait counts as a wait for the disk.
        let fetches = if self.disk.is_block_device() {
            now.blocks_fetched.saturating_sub(self.before.blocks_fetched).div_ceil(BLOCKS_OF_A_PAGE)
        } else if waits > 1 {
            waits
        } else {
            0
        };
        let share = |time: Duration| {
            let waits = u32::try_from(waits.max(1)).unwrap_or(u32::MAX);
            time / waits * u32::try_from(fetches).unwrap_or(u32::MAX).min(waits)
        };
        self.before = now;
        let busy = std::mem::take(&mut self.busy);
        let idle = busy.saturating_sub(worked);
        // On a fast disk, the kernel may need as much processor time for a fetch as the disk needs to
        // serve it. If a sample contains many fetches, a quarter of its time is therefore enough.
        let enough = if fetches >= MANY_FETCHES { busy / 4 } else { busy / 2 };
        let mut waited = share(idle);
        if fetches > 0 && waited > enough {
            // On a busy machine, most of that time may have been spent without a processor.
            let delayed = time_without_processor();
            let delay =
                delayed.saturating_sub(std::mem::replace(&mut self.delayed_before, delayed));
            waited = share(idle.saturating_sub(delay));
        }
        if self.is_walk {
            self.disk.note_sample(busy, fetches > 0 || idle * 4 > busy);
        }
        if fetches > 0 && waited > enough {
            self.disk.note_wait(waited);
            // The pool must not grow until the disk is known to be cold. With more threads than
            // processors, threads also wait for a processor, which would be mistaken for waiting
            // for the disk.
            if self.disk.is_cold() {
                (self.spawn)();
            }
        } else {
            self.disk.note_work(worked.min(busy));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
    use std::sync::{Arc, Barrier};
    use std::time::Duration;

    use runtime::Progress;

    use super::{Threads, WorkerPool};
    use crate::disk::{Disk, Disks, Io};

    const TWO: Threads = Threads { first: 2, grows: true };

    fn disk(io: Io) -> Arc<Disk> {
        // No device has this number.
        Disks::new(io).of(u64::MAX)
    }

    fn pool_of<'a>(threads: Threads, disk: &'a Disk, progress: &'a Progress) -> WorkerPool<'a> {
        WorkerPool { disk, threads, pieces: None, all_at_once: true, writes: false, progress }
    }

    /// Runs a pool whose work items sleep. Returns the number of items that each thread processed.
    fn sleepy(pool: &WorkerPool<'_>, pieces: usize) -> Vec<usize> {
        let next = AtomicUsize::new(0);
        pool.run(|meter| {
            let mut done = 0;
            while next.fetch_add(1, Relaxed) < pieces {
                meter.begin();
                std::thread::sleep(Duration::from_millis(1));
                meter.tick();
                done += 1;
            }
            done
        })
    }

    #[test]
    fn each_item_is_processed_once() {
        for (first, pieces) in [(1, 0), (1, 5), (2, 1), (4, 100)] {
            let (disk, progress) = (disk(Io::Cached), Progress::default());
            let threads = Threads { first, grows: true };
            for writes in [false, true] {
                let pool = pool_of(threads, &disk, &progress);
                let done = sleepy(&WorkerPool { pieces: Some(pieces), writes, ..pool }, pieces);
                assert_eq!(done.iter().sum::<usize>(), pieces);
                assert_eq!(done.len(), first.min(pieces.max(1)));
            }
        }
    }

    #[test]
    fn waiting_pool_grows_and_makes_its_disk_cold() {
        let (disk, progress) = (disk(Io::Auto), Progress::default());
        let pool = pool_of(TWO, &disk, &progress);
        assert!(sleepy(&pool, 1000).len() > 2);
        assert!(disk.is_cold());
        // The next pool starts with the maximum number of threads.
        let all = Barrier::new(disk.depth(2));
        let met = pool.run(|_| all.wait());
        assert_eq!(met.len(), disk.depth(2));
    }

    #[test]
    fn fixed_pool_does_not_grow() {
        let (disk, progress) = (disk(Io::Auto), Progress::default());
        let pool = pool_of(Threads { grows: false, ..TWO }, &disk, &progress);
        assert_eq!(sleepy(&pool, 200).len(), 2);
    }

    #[test]
    fn a_panic_stops_the_other_workers_and_is_raised_again() {
        let (disk, progress) = (disk(Io::Cached), Progress::default());
        let pool = pool_of(TWO, &disk, &progress);
        let first = AtomicBool::new(true);
        let run = AssertUnwindSafe(|| {
            pool.run(|_| {
                assert!(!first.swap(false, Relaxed), "the first worker panics");
                while !progress.poll_stop() {
                    std::thread::yield_now();
                }
            })
        });
        catch_unwind(run).expect_err("the panic is raised again");
        assert!(progress.poll_stop());
    }

    #[test]
    fn computing_pool_does_not_grow() {
        let (disk, progress) = (disk(Io::Auto), Progress::default());
        let pool = pool_of(TWO, &disk, &progress);
        let busy = pool.run(|meter| {
            let mut sum = 0u64;
            for round in 0..20 {
                meter.begin();
                sum = (0..200_000u64).fold(sum, |sum, n| sum.rotate_left(5) ^ n ^ round);
                meter.tick();
            }
            sum
        });
        assert_eq!(busy.len(), 2);
        assert!(!disk.is_cold());
    }
}
