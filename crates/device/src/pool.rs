//! Threads at work in one disk: one per processor, and more while they are seen waiting.
//!
//! In a warm cache a thread more than there are processors only costs. On cold storage one waits
//! nearly all the time, and a device that serves many requests at once wants as many of them. Which
//! of the two it is each thread sees for itself: it measures the time its pieces of work take, and
//! asks the kernel now and then how much of it was spent on a processor. When the disk has turned out to
//! be cold, each that sees itself waiting doubles the pool.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, Scope};
use std::time::{Duration, Instant};

use runtime::{ThreadUsage, own_descriptor_table};

use crate::disk::Disk;

/// Work after which a thread looks back at it: long enough for the time on a processor to be
/// exact, and for the look to cost a thousandth.
const SAMPLE: Duration = Duration::from_millis(2);

/// The blocks that the kernel counts are of 512 bytes; what it fetches are pages.
const BLOCKS_OF_A_PAGE: u64 = 8;

/// How many threads are put to work on a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threads {
    /// As many as there are if it is not known that they will wait.
    pub first: usize,
    /// Whether there may be more of them.
    pub grows: bool,
}

/// Threads to start in a disk.
#[derive(Clone, Copy, Debug)]
pub struct WorkerPool<'a> {
    /// The disk.
    pub disk: &'a Disk,
    /// How many there are.
    pub threads: Threads,
    /// How many pieces of work there are, if that is known: more threads would have nothing to do.
    pub pieces: Option<usize>,
}

/// Tells a thread's work from its waiting.
pub struct WaitMeter<'a> {
    disk: &'a Disk,
    spawn: &'a dyn Fn(),
    began: Instant,
    busy: Duration,
    before: ThreadUsage,
}

struct Shared<'a, R, F> {
    pool: WorkerPool<'a>,
    each: F,
    size: AtomicUsize,
    results: Mutex<Vec<R>>,
}

impl WorkerPool<'_> {
    /// Runs `work` on each thread, and returns what they made of it, in no order.
    ///
    /// The thread that calls is one of them. The others get descriptor tables of their own.
    ///
    /// `work` MUST take its pieces from where all threads find them and return when there are none
    /// left. Threads may start at any time until then.
    pub fn run<R: Send>(&self, work: impl Fn(&mut WaitMeter<'_>) -> R + Sync) -> Vec<R> {
        let results = Mutex::new(Vec::new());
        let shared = Shared { pool: *self, each: work, size: AtomicUsize::new(1), results };
        std::thread::scope(|scope| {
            let most = self.most();
            let threads = if self.disk.is_cold() { most } else { most.min(self.threads.first) };
            let _all = (1..threads).all(|_| spawn(scope, &shared));
            work_on(&shared, &|| spawn_more(scope, &shared));
        });
        shared.results.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how many threads there may be by now.
    fn most(&self) -> usize {
        let Threads { first, grows } = self.threads;
        let most = if grows { self.disk.depth(first) } else { first };
        self.pieces.map_or(most, |pieces| most.min(pieces))
    }
}

/// Starts one more thread, unless there are enough; returns whether it did.
fn spawn<'scope, R: Send, F: Fn(&mut WaitMeter<'_>) -> R + Sync>(
    scope: &'scope Scope<'scope, '_>,
    shared: &'scope Shared<'_, R, F>,
) -> bool {
    let wanted = shared.size.fetch_add(1, Relaxed) < shared.pool.most();
    let run = move || {
        own_descriptor_table();
        work_on(shared, &|| spawn_more(scope, shared));
    };
    let hired = wanted && Builder::new().spawn_scoped(scope, run).is_ok();
    if !hired {
        shared.size.fetch_sub(1, Relaxed);
    }
    hired
}

/// Makes the pool twice as large: a device's depth is reached in four steps.
fn spawn_more<'scope, R: Send, F: Fn(&mut WaitMeter<'_>) -> R + Sync>(
    scope: &'scope Scope<'scope, '_>,
    shared: &'scope Shared<'_, R, F>,
) {
    let _all = (0..shared.size.load(Relaxed)).all(|_| spawn(scope, shared));
}

fn work_on<R, F: Fn(&mut WaitMeter<'_>) -> R>(shared: &Shared<'_, R, F>, spawn: &dyn Fn()) {
    let now = Instant::now();
    let mut meter = WaitMeter {
        disk: shared.pool.disk,
        spawn,
        began: now,
        busy: Duration::ZERO,
        before: if shared.pool.disk.is_auto() {
            ThreadUsage::now()
        } else {
            ThreadUsage::default()
        },
    };
    let result = (shared.each)(&mut meter);
    shared.results.lock().unwrap_or_else(PoisonError::into_inner).push(result);
}

impl WaitMeter<'_> {
    /// Begins a piece of work.
    pub fn begin(&mut self) {
        if self.disk.is_auto() {
            self.began = Instant::now();
        }
    }

    /// Ends it, and begins the next. What is between this and a later [`WaitMeter::begin`] counts as
    /// neither work nor waiting.
    pub fn tick(&mut self) {
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
        // Waiting for a lock or a processor takes time too. What is on no block device shows by its
        // waits only; elsewhere no more of them were for the device than pages were fetched.
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
        let waited = share(self.busy.saturating_sub(worked));
        self.before = now;
        let busy = std::mem::take(&mut self.busy);
        if fetches > 0 && waited * 2 > busy {
            self.disk.note_wait(waited);
            // Not before: where there are more threads than processors, waits are for those too.
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
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::sync::{Arc, Barrier};
    use std::time::Duration;

    use super::{Threads, WorkerPool};
    use crate::disk::{Disk, Disks, Io};

    const TWO: Threads = Threads { first: 2, grows: true };

    fn disk(io: Io) -> Arc<Disk> {
        // A number that no device has.
        Disks::new(io).of(u64::MAX)
    }

    /// Takes all pieces, each of which sleeps; returns how many each thread did.
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
    fn every_piece_is_done_once() {
        for (first, pieces) in [(1, 0), (1, 5), (2, 1), (4, 100)] {
            let disk = disk(Io::Cached);
            let threads = Threads { first, grows: true };
            let pool = WorkerPool { disk: &disk, threads, pieces: Some(pieces) };
            let done = sleepy(&pool, pieces);
            assert_eq!(done.iter().sum::<usize>(), pieces);
            assert_eq!(done.len(), first.min(pieces.max(1)));
        }
    }

    #[test]
    fn a_pool_that_waits_grows_and_its_disk_is_cold() {
        let disk = disk(Io::Auto);
        let pool = WorkerPool { disk: &disk, threads: TWO, pieces: None };
        assert!(sleepy(&pool, 1000).len() > 2);
        assert!(disk.is_cold());
        // From now on there are as many from the beginning.
        let all = Barrier::new(disk.depth(2));
        let met = pool.run(|_| all.wait());
        assert_eq!(met.len(), disk.depth(2));
    }

    #[test]
    fn a_pool_that_may_not_grow_does_not() {
        let disk = disk(Io::Auto);
        let pool =
            WorkerPool { disk: &disk, threads: Threads { grows: false, ..TWO }, pieces: None };
        assert_eq!(sleepy(&pool, 200).len(), 2);
    }

    #[test]
    fn a_pool_that_works_is_not_taken_to_wait() {
        let disk = disk(Io::Auto);
        let pool = WorkerPool { disk: &disk, threads: TWO, pieces: None };
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
