//! Finds out how many workers remove most in a given time.
//!
//! That depends on the file system as much as on the disk. Two threads remove twice as much as one on ext4,
//! and half as much on btrfs, where they wait for each other at the root of one tree; what has to be
//! fetched wants as many as the disk serves at a time, unless it has an arm. So some other number is tried
//! now and then, for a moment, and kept if it does better: as long as workers wait. If they do not, there
//! is nothing to gain.

use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A number of workers is judged by what they do in this time. What a file system puts off comes in bursts
/// of some ten milliseconds.
const TRIAL: Duration = Duration::from_millis(200);

/// The first trial comes after this, the next ones after longer and longer.
const FIRST: Duration = Duration::from_millis(300);
const LONGEST: Duration = Duration::from_secs(30);

/// Workers that are on a processor for more of their time than this do not wait, in percent.
const BUSY: u32 = 80;

/// What is no more than this much better than before and after the trial is chance, in percent.
const BETTER: u64 = 120;

/// Decides how many workers there may be.
#[derive(Debug)]
pub(crate) struct Tuner(Mutex<State>);

#[derive(Debug)]
struct State {
    /// How many there are.
    workers: usize,
    phase: Phase,
    /// Whether more of them are tried next, and not fewer.
    more: bool,
    since: Sample,
    pause: Duration,
}

/// What there was at a moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    pub(crate) at: Instant,
    /// Entries removed.
    pub(crate) done: u64,
    /// Time on processors, of all threads.
    pub(crate) cpu: Duration,
}

/// What goes on. Rates are in entries a second.
#[derive(Clone, Copy, Debug)]
enum Phase {
    /// Work as usual.
    Usual,
    /// Work with another number, after that rate with `of` workers.
    Trial { before: u64, of: usize },
    /// Work as before, after `other` workers came to that rate.
    Check { before: u64, tried: u64, other: usize },
}

impl Tuner {
    pub(crate) fn new(workers: usize, since: Sample) -> Tuner {
        let (pause, workers) = (FIRST, workers.max(1));
        let (phase, more) = (Phase::Usual, false);
        Tuner(Mutex::new(State { workers, phase, more, since, pause }))
    }

    /// Looks at how much was done by now, and returns how many workers there may be from now on, if that
    /// is another number. `most` is how many could be of use, `cpu` is only asked when it matters.
    pub(crate) fn look(
        &self,
        done: u64,
        cpu: impl FnOnce() -> Duration,
        at: Instant,
        most: usize,
    ) -> Option<usize> {
        // Who does not get the lock has something else to do.
        let mut state = self.0.try_lock().ok()?;
        let period = if matches!(state.phase, Phase::Usual) { state.pause } else { TRIAL };
        let passed = at.saturating_duration_since(state.since.at);
        if passed < period {
            return None;
        }
        let now = Sample { at, done, cpu: cpu() };
        let was = state.workers;
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
        self.phase = match self.phase {
            Phase::Usual if worked > all * BUSY => Phase::Usual,
            Phase::Usual => self.attempt(rate, most),
            Phase::Trial { before, of } => {
                let other = std::mem::replace(&mut self.workers, of);
                Phase::Check { before, tried: rate, other }
            }
            Phase::Check { before, tried, other } => {
                if tried > before.max(rate) * BETTER / 100 {
                    // It may go on like this.
                    self.pause = TRIAL;
                    self.workers = other;
                } else {
                    self.more = !self.more;
                    self.pause = (self.pause * 4).clamp(FIRST * 4, LONGEST);
                }
                Phase::Usual
            }
        };
    }

    fn attempt(&mut self, before: u64, most: usize) -> Phase {
        let double = (self.workers * 2).min(most);
        let half = (self.workers / 2).max(1);
        let next = if self.more { [double, half] } else { [half, double] };
        let Some(&next) = next.iter().find(|&&next| next != self.workers) else {
            return Phase::Usual;
        };
        self.more = next > self.workers;
        Phase::Trial { before, of: std::mem::replace(&mut self.workers, next) }
    }
}

fn rate(done: u64, time: Duration) -> u64 {
    let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX).max(1);
    done.saturating_mul(1_000_000) / micros
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{Sample, Tuner};

    /// Returns how many workers there are most of a minute, where so many do so much in a millisecond, and
    /// what they do.
    fn in_a_minute(first: usize, most: usize, rate: impl Fn(usize) -> u64) -> (usize, u64) {
        let at = Instant::now();
        let tuner = Tuner::new(first, Sample { at, done: 0, cpu: Duration::ZERO });
        let (mut workers, mut done, mut times) = (first, 0, [0; 17]);
        for ms in 0..60_000 {
            done += rate(workers);
            let now = at + Duration::from_millis(ms);
            workers = tuner.look(done, || Duration::ZERO, now, most).unwrap_or(workers);
            times[workers] += 1;
        }
        ((0..times.len()).max_by_key(|&n| times[n]).unwrap_or(0), done)
    }

    #[test]
    fn as_many_are_left_as_do_most() {
        // Twice as much with two; half as much; more and more up to eight; fewer and fewer.
        assert_eq!(in_a_minute(2, 2, |n| [0, 100, 200][n]).0, 2);
        assert_eq!(in_a_minute(2, 2, |n| [0, 200, 100][n]).0, 1);
        assert_eq!(in_a_minute(2, 16, |n| 100 * n.min(8) as u64).0, 8);
        assert_eq!(in_a_minute(16, 16, |n| 3200 / n as u64).0, 1);
        assert_eq!(in_a_minute(1, 1, |_| 7).0, 1);
    }

    #[test]
    fn nothing_is_tried_while_nobody_waits() {
        let at = Instant::now();
        let tuner = Tuner::new(2, Sample { at, done: 0, cpu: Duration::ZERO });
        for ms in 0..10_000 {
            let passed = Duration::from_millis(ms);
            assert_eq!(tuner.look(ms, || passed * 2, at + passed, 2), None);
        }
    }

    #[test]
    fn trials_cost_little() {
        let (_, done) = in_a_minute(2, 2, |n| [0, 100, 200][n]);
        assert!(done > 60_000 * 200 * 98 / 100, "{done}");
    }
}
