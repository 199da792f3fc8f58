//! Threads at work in one lane: one per processor, and more while they are seen waiting.
//!
//! In a warm cache a thread more than there are processors only costs. On cold storage one waits
//! nearly all the time, and a device that serves many requests at once wants as many of them. Which
//! of the two it is each thread sees for itself: it measures the time its pieces of work take, and
//! asks the kernel now and then how much of it was spent on a processor. When the lane has turned out to
//! be cold, each that sees itself waiting doubles the crew.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, Scope};
use std::time::{Duration, Instant};

use fsops::{ThreadUsage, own_descriptor_table};

use crate::lane::Lane;

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

/// Threads to start in a lane.
#[derive(Clone, Copy, Debug)]
pub struct Crew<'a> {
    /// The lane.
    pub lane: &'a Lane,
    /// How many there are.
    pub threads: Threads,
    /// How many pieces of work there are, if that is known: more threads would have nothing to do.
    pub pieces: Option<usize>,
}

/// Tells a thread's work from its waiting.
pub struct Pace<'a> {
    lane: &'a Lane,
    hire: &'a dyn Fn(),
    began: Instant,
    busy: Duration,
    before: ThreadUsage,
}

struct Shared<'a, R, F> {
    crew: Crew<'a>,
    each: F,
    size: AtomicUsize,
    results: Mutex<Vec<R>>,
}

impl Crew<'_> {
    /// Runs `work` on each thread, and returns what they made of it, in no order.
    ///
    /// The thread that calls is one of them. The others get descriptor tables of their own.
    ///
    /// `work` MUST take its pieces from where all threads find them and return when there are none
    /// left. Threads may start at any time until then.
    pub fn run<R: Send>(&self, work: impl Fn(&mut Pace<'_>) -> R + Sync) -> Vec<R> {
        let results = Mutex::new(Vec::new());
        let shared = Shared { crew: *self, each: work, size: AtomicUsize::new(1), results };
        std::thread::scope(|scope| {
            let most = self.most();
            let threads = if self.lane.is_cold() { most } else { most.min(self.threads.first) };
            let _all = (1..threads).all(|_| hire(scope, &shared));
            work_on(&shared, &|| hire_more(scope, &shared));
        });
        shared.results.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how many threads there may be by now.
    fn most(&self) -> usize {
        let Threads { first, grows } = self.threads;
        let most = if grows { self.lane.depth(first) } else { first };
        self.pieces.map_or(most, |pieces| most.min(pieces))
    }
}

/// Starts one more thread, unless there are enough; returns whether it did.
fn hire<'scope, R: Send, F: Fn(&mut Pace<'_>) -> R + Sync>(
    scope: &'scope Scope<'scope, '_>,
    shared: &'scope Shared<'_, R, F>,
) -> bool {
    let wanted = shared.size.fetch_add(1, Relaxed) < shared.crew.most();
    let run = move || {
        own_descriptor_table();
        work_on(shared, &|| hire_more(scope, shared));
    };
    let hired = wanted && Builder::new().spawn_scoped(scope, run).is_ok();
    if !hired {
        shared.size.fetch_sub(1, Relaxed);
    }
    hired
}

/// Makes the crew twice as large: a device's depth is reached in four steps.
fn hire_more<'scope, R: Send, F: Fn(&mut Pace<'_>) -> R + Sync>(
    scope: &'scope Scope<'scope, '_>,
    shared: &'scope Shared<'_, R, F>,
) {
    let _all = (0..shared.size.load(Relaxed)).all(|_| hire(scope, shared));
}

fn work_on<R, F: Fn(&mut Pace<'_>) -> R>(shared: &Shared<'_, R, F>, hire: &dyn Fn()) {
    let now = Instant::now();
    let mut pace = Pace {
        lane: shared.crew.lane,
        hire,
        began: now,
        busy: Duration::ZERO,
        before: if shared.crew.lane.finds_out() {
            ThreadUsage::now()
        } else {
            ThreadUsage::default()
        },
    };
    let result = (shared.each)(&mut pace);
    shared.results.lock().unwrap_or_else(PoisonError::into_inner).push(result);
}

impl Pace<'_> {
    /// Begins a piece of work.
    pub fn begin(&mut self) {
        if self.lane.finds_out() {
            self.began = Instant::now();
        }
    }

    /// Ends it, and begins the next. What is between this and a later [`Pace::begin`] counts as
    /// neither work nor waiting.
    pub fn tick(&mut self) {
        if !self.lane.finds_out() {
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
        let fetches = if self.lane.is_block_device() {
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
            self.lane.note_wait(waited);
            // Not before: where there are more threads than processors, waits are for those too.
            if self.lane.is_cold() {
                (self.hire)();
            }
        } else {
            self.lane.note_work(worked.min(busy));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
    use std::sync::{Arc, Barrier};
    use std::time::Duration;

    use super::{Crew, Threads};
    use crate::lane::{Io, Lane, Lanes};

    const TWO: Threads = Threads { first: 2, grows: true };

    fn lane(io: Io) -> Arc<Lane> {
        // A number that no device has.
        Lanes::new(io).of(u64::MAX)
    }

    /// Takes all pieces, each of which sleeps; returns how many each thread did.
    fn sleepy(crew: &Crew<'_>, pieces: usize) -> Vec<usize> {
        let next = AtomicUsize::new(0);
        crew.run(|pace| {
            let mut done = 0;
            while next.fetch_add(1, Relaxed) < pieces {
                pace.begin();
                std::thread::sleep(Duration::from_millis(1));
                pace.tick();
                done += 1;
            }
            done
        })
    }

    #[test]
    fn every_piece_is_done_once() {
        for (first, pieces) in [(1, 0), (1, 5), (2, 1), (4, 100)] {
            let lane = lane(Io::Cached);
            let threads = Threads { first, grows: true };
            let crew = Crew { lane: &lane, threads, pieces: Some(pieces) };
            let done = sleepy(&crew, pieces);
            assert_eq!(done.iter().sum::<usize>(), pieces);
            assert_eq!(done.len(), first.min(pieces.max(1)));
        }
    }

    #[test]
    fn a_crew_that_waits_grows_and_its_lane_is_cold() {
        let lane = lane(Io::Auto);
        let crew = Crew { lane: &lane, threads: TWO, pieces: None };
        assert!(sleepy(&crew, 1000).len() > 2);
        assert!(lane.is_cold());
        // From now on there are as many from the beginning.
        let all = Barrier::new(lane.depth(2));
        let met = crew.run(|_| all.wait());
        assert_eq!(met.len(), lane.depth(2));
    }

    #[test]
    fn a_crew_that_may_not_grow_does_not() {
        let lane = lane(Io::Auto);
        let crew = Crew { lane: &lane, threads: Threads { grows: false, ..TWO }, pieces: None };
        assert_eq!(sleepy(&crew, 200).len(), 2);
    }

    #[test]
    fn a_crew_that_works_is_not_taken_to_wait() {
        let lane = lane(Io::Auto);
        let crew = Crew { lane: &lane, threads: TWO, pieces: None };
        let busy = crew.run(|pace| {
            let mut sum = 0u64;
            for round in 0..20 {
                pace.begin();
                sum = (0..200_000u64).fold(sum, |sum, n| sum.rotate_left(5) ^ n ^ round);
                pace.tick();
            }
            sum
        });
        assert_eq!(busy.len(), 2);
        assert!(!lane.is_cold());
    }
}
