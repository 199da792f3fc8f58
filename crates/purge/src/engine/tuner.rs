//! Finds the number of workers that removes the most entries per second.
//!
//! The best number of workers depends on the file system as much as on the disk. On ext4 and XFS,
//! two threads remove twice as many entries per second as one thread. On btrfs, two threads remove
//! half as many, because they contend for the root of a single tree.
//!
//! The tuner starts with the number of workers that is known to be good for the file system. On
//! btrfs and XFS, it keeps this number, because additional threads only wait for each other. When
//! it was allowed to experiment there, it sometimes kept additional threads that did not make the
//! removal faster. On XFS with a cold cache, one run of three took 9.3 s instead of 5.4 s.
//!
//! On other file systems, the tuner experiments. Cold data needs as many threads as the disk can
//! serve in parallel, unless the disk is seek-bound. No good number is known
//! for machines with many processors. From time to time, the tuner briefly tries another number, and keeps it if it
//! is faster. The tuner does not experiment while every processor has a worker and all workers are
//! busy.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use device::Threads;
use fsops::Volume;

/// Duration of an experiment. File systems do delayed work in bursts of tens of milliseconds. An
/// experiment must be long enough to average over these bursts.
const EXPERIMENT_TIME: Duration = Duration::from_millis(200);

/// Delay before the first experiment, and maximum delay between later experiments.
const FIRST_DELAY: Duration = Duration::from_millis(300);
const LONGEST: Duration = Duration::from_secs(30);

/// Share of processor time, in percent, above which workers count as busy.
const BUSY_PERCENT: u32 = 80;

/// Minimum rate at which the tuner keeps a new number of workers, in percent of the rates before
/// and after the experiment. Smaller differences can be random.
const BETTER_PERCENT: u64 = 120;

/// Decides on the number of workers.
#[derive(Debug)]
pub(crate) struct Tuner(Mutex<State>);

/// Initial number of workers and its limits, set before any measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Start {
    /// Initial number of workers.
    pub(crate) workers: usize,
    /// Minimum number of workers.
    least: usize,
    /// Maximum number of workers.
    most: usize,
    /// Number of processors.
    usual: usize,
}

#[derive(Debug)]
struct State {
    /// Current number of workers.
    workers: usize,
    known: Start,
    phase: Phase,
    /// True if the next experiment should try more workers, false if it should try fewer.
    more: bool,
    since: Sample,
    pause: Duration,
}

/// A measurement.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) at: Instant,
    /// Number of entries removed.
    pub(crate) done: u64,
    /// Processor time of all threads.
    pub(crate) cpu: Duration,
}

/// Phase of the tuner. Rates are in entries per second.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// No experiment is running.
    Usual,
    /// Trying another number of workers. The rate was `before` with `of` workers.
    Experiment { before: u64, of: usize },
    /// Measuring the previous number of workers again. The rate was `before` with the previous
    /// number, and `tried` with `other` workers.
    Check { before: u64, tried: u64, other: usize },
}

impl Start {
    /// Returns the initial number of workers for a file system, and its limits. If the user set the
    /// number, both limits are equal to it.
    pub(crate) fn on(volume: Volume, threads: Threads) -> Start {
        let usual = threads.first.max(1);
        let all = Start { workers: usual, least: 1, most: usize::MAX, usual };
        if !threads.grows {
            Start { least: usual, most: usual, ..all }
        } else if volume.is_btrfs() {
            Start { workers: 1, most: 1, ..all }
        } else if volume.is_xfs() {
            Start { least: usual, most: usual, ..all }
        } else if volume.is_ext() {
            Start { least: usual.min(2), ..all }
        } else {
            all
        }
    }
}

impl Tuner {
    pub(crate) fn new(known: Start, since: Sample) -> Tuner {
        let (phase, more, pause) = (Phase::Usual, false, FIRST_DELAY);
        let workers = known.workers;
        Tuner(Mutex::new(State { workers, known, phase, more, since, pause }))
    }

    /// Measures the progress. Returns the new number of workers if it changes. `most` is the
    /// maximum number of workers that can be useful. `cpu` is called only if a measurement is due.
    pub(crate) fn look(
        &self,
        done: u64,
        cpu: impl FnOnce() -> Duration,
        at: Instant,
        most: usize,
    ) -> Option<usize> {
        // If another thread holds the lock, that thread takes the measurement.
        let mut state = self.0.try_lock().ok()?;
        let period =
            if matches!(state.phase, Phase::Usual) { state.pause } else { EXPERIMENT_TIME };
        let passed = at.saturating_duration_since(state.since.at);
        if passed < period {
            return None;
        }
        let now = Sample { at, done, cpu: cpu() };
        let was = state.workers;
        let most = most.min(state.known.most);
        state.judge(now, passed, most);
        state.since = now;
        (state.workers != was).then_some(state.workers)
    }
}

impl State {
    fn judge(&mut self, now: Sample, passed: Duration, most: usize) {
        let rate = rate(now.done.saturating_sub(self.since.done), passed);
        let worked = now.cpu.saturating_sub(self.since.cpu) * 100;
        let all = passed * u32::try_from(self.workers).unwrap_or(u32::MAX);
        let is_busy = worked > all * BUSY_PERCENT;
        self.phase = match self.phase {
            Phase::Usual if is_busy && self.workers >= self.known.usual => Phase::Usual,
            Phase::Usual => self.attempt(rate, most, is_busy),
            Phase::Experiment { before, of } => {
                let other = std::mem::replace(&mut self.workers, of);
                Phase::Check { before, tried: rate, other }
            }
            Phase::Check { before, tried, other } => {
                if tried > before.max(rate) * BETTER_PERCENT / 100 {
                    // After a success, the next experiment follows soon.
                    self.pause = EXPERIMENT_TIME;
                    self.workers = other;
                } else {
                    self.more = !self.more;
                    self.pause = (self.pause * 4).clamp(FIRST_DELAY * 4, LONGEST);
                }
                Phase::Usual
            }
        };
    }

    fn attempt(&mut self, before: u64, most: usize, is_busy: bool) -> Phase {
        let double = (self.workers * 2).min(most);
        let half = (self.workers / 2).max(self.known.least);
        let next = if self.more || is_busy { [double, half] } else { [half, double] };
        let Some(&next) = next.iter().find(|&&next| next != self.workers) else {
            return Phase::Usual;
        };
        self.more = next > self.workers;
        Phase::Experiment { before, of: std::mem::replace(&mut self.workers, next) }
    }
}

fn rate(done: u64, time: Duration) -> u64 {
    let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX).max(1);
    done.saturating_mul(1_000_000) / micros
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{Sample, Start, Tuner};

    fn start(workers: usize, usual: usize) -> Start {
        Start { workers, least: 1, most: usize::MAX, usual }
    }

    fn tuner(start: Start, at: Instant) -> Tuner {
        Tuner::new(start, Sample { at, done: 0, cpu: Duration::ZERO })
    }

    /// Simulates a minute in which `n` workers remove `rate(n)` entries per millisecond and use no
    /// processor time. Returns the most frequent number of workers, and the number of entries
    /// removed.
    fn in_a_minute(first: usize, most: usize, rate: impl Fn(usize) -> u64) -> (usize, u64) {
        minute(start(first, first), most, 0, rate)
    }

    /// Simulates a minute like [`in_a_minute`], with workers that use `busy` percent of a
    /// processor.
    fn minute(start: Start, most: usize, busy: u64, rate: impl Fn(usize) -> u64) -> (usize, u64) {
        let at = Instant::now();
        let (tuner, mut cpu) = (tuner(start, at), Duration::ZERO);
        let (mut workers, mut done, mut times) = (start.workers, 0, [0; 17]);
        for ms in 0..60_000 {
            done += rate(workers);
            cpu += Duration::from_micros(10 * busy * workers as u64);
            let now = at + Duration::from_millis(ms);
            workers = tuner.look(done, || cpu, now, most).unwrap_or(workers);
            times[workers] += 1;
        }
        ((0..times.len()).max_by_key(|&n| times[n]).unwrap_or(0), done)
    }

    #[test]
    fn the_fastest_number_of_workers_is_kept() {
        // The cases are: two workers are twice as fast as one, two workers are half as fast as one,
        // the rate grows with up to eight workers, and the rate falls with each additional worker.
        assert_eq!(in_a_minute(2, 2, |n| [0, 100, 200][n]).0, 2);
        assert_eq!(in_a_minute(2, 2, |n| [0, 200, 100][n]).0, 1);
        assert_eq!(in_a_minute(2, 16, |n| 100 * n.min(8) as u64).0, 8);
        assert_eq!(in_a_minute(16, 16, |n| 3200 / n as u64).0, 1);
        assert_eq!(in_a_minute(1, 1, |_| 7).0, 1);
    }

    #[test]
    fn no_experiments_while_all_workers_are_busy() {
        let at = Instant::now();
        let tuner = tuner(start(2, 2), at);
        for ms in 0..10_000 {
            let passed = Duration::from_millis(ms);
            assert_eq!(tuner.look(ms, || passed * 2, at + passed, 2), None);
        }
    }

    #[test]
    fn fewer_workers_than_processors_always_try_more() {
        for busy in [0, 60, 100] {
            let twice = |n| [0, 100, 200][n];
            assert_eq!(minute(start(1, 2), 2, busy, twice).0, 2, "{busy}");
            assert_eq!(minute(start(1, 2), 2, busy, |n| [0, 200, 100][n]).0, 1, "{busy}");
        }
    }

    #[test]
    fn the_minimum_is_respected() {
        let known = Start { least: 2, ..start(2, 2) };
        assert_eq!(minute(known, 2, 50, |n| [0, 200, 100][n]), (2, 6_000_000));
    }

    #[test]
    fn the_maximum_is_respected() {
        let known = Start { most: 1, ..start(1, 2) };
        assert_eq!(minute(known, 16, 50, |n| 100 * n as u64), (1, 6_000_000));
        let known = Start { least: 2, most: 2, ..start(2, 2) };
        assert_eq!(minute(known, 16, 50, |n| 100 * n as u64), (2, 12_000_000));
    }

    #[test]
    fn experiments_cost_little() {
        let (_, done) = in_a_minute(2, 2, |n| [0, 100, 200][n]);
        assert!(done > 60_000 * 200 * 98 / 100, "{done}");
    }
}
