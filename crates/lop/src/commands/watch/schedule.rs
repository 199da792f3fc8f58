//! Decides when the next scan starts.
//!
//! A scan starts when nothing has changed for [`QUIET`], or when the time `every` has passed since the first change.
//! The first scan starts at once, because files may have changed before the watcher was started. After a scan, lop
//! rests for at least as long as the scan took. After a failed scan, it waits for the time `every`.
//!
//! Other processes scan, too. The watcher does not know whether such a scan succeeds, so another scan follows it. It is
//! quick if there is nothing to do.
//!
//! A full scan starts at the latest [`FULL_EVERY`] after the last one, because the watcher cannot notice every change.

use std::time::{Duration, Instant};

use watch::Status;

/// Time without changes after which a scan starts.
pub(super) const QUIET: Duration = Duration::from_secs(60);

/// Maximum time between two full scans.
const FULL_EVERY: Duration = Duration::from_secs(24 * 3600);

/// The times of past and future scans.
#[derive(Debug)]
pub(super) struct Schedule {
    /// The longest time between a change and a scan, or `None` if no scans are started.
    every: Option<Duration>,
    /// True if a scan is necessary although no change was noted.
    is_needed: bool,
    /// The start of the last scan. Changes before the start do not count, because the scan has found them.
    started: Option<Instant>,
    /// True if the last scan was a full scan.
    is_full: bool,
    /// The start of the last successful full scan.
    full_at: Option<Instant>,
    /// The end of the last successful scan of this process.
    confirmed: Option<Instant>,
    /// The end of the rest after the last scan. Before the first scan, the time at which the watcher was started.
    rest_until: Instant,
}

impl Schedule {
    pub(super) fn new(every: Option<Duration>) -> Schedule {
        let rest_until = Instant::now();
        Schedule {
            every,
            is_needed: true,
            started: None,
            is_full: false,
            full_at: None,
            confirmed: None,
            rest_until,
        }
    }

    /// Returns the time at which the next scan starts, or `None` if no scan is necessary.
    pub(super) fn due(&self, status: &Status) -> Option<Instant> {
        let every = self.every?;
        let changed = status.first.zip(status.last).map(|(first, last)| match self.started {
            Some(started) => (first.max(started), last),
            None => (first, last),
        });
        let changed = changed.filter(|(_, last)| self.started.is_none_or(|start| *last > start));
        let after_changes = changed.map(|(first, last)| (first + every).min(last + self.quiet()));
        if self.is_needed {
            return Some(self.rest_until);
        }
        let full = self.full_at.map(|at| at + FULL_EVERY);
        let after_others = status.answered.filter(|&at| self.confirmed.is_none_or(|end| at > end));
        let after_others = after_others.map(|at| at + self.quiet());
        let at = after_changes.into_iter().chain(full).chain(after_others).min()?;
        Some(at.max(self.rest_until))
    }

    /// Returns whether scans are started.
    pub(super) fn is_automatic(&self) -> bool {
        self.every.is_some()
    }

    /// Returns the time without changes after which a scan starts.
    pub(super) fn quiet(&self) -> Duration {
        QUIET.min(self.every.unwrap_or(QUIET))
    }

    /// Notes the start of a scan. Returns whether it has to be a full scan.
    pub(super) fn started(&mut self, now: Instant) -> bool {
        self.started = Some(now);
        self.is_full = self.full_at.is_none_or(|at| now.duration_since(at) >= FULL_EVERY);
        self.is_full
    }

    /// Notes the end of a scan.
    pub(super) fn ended(&mut self, is_done: bool, took: Duration, now: Instant) {
        self.is_needed = !is_done;
        if is_done {
            self.confirmed = Some(now);
            self.full_at = if self.is_full { self.started } else { self.full_at };
        }
        let rest = if is_done { took.max(self.quiet()) } else { self.every.unwrap_or(QUIET) };
        self.rest_until = now + rest;
    }

    /// Returns the time at which a failed scan is repeated, or `None` if no scan has to be repeated.
    pub(super) fn retry_at(&self) -> Option<Instant> {
        (self.is_needed && self.every.is_some()).then_some(self.rest_until)
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use watch::{Counts, Status};

    use super::{FULL_EVERY, Schedule};

    const EVERY: Duration = Duration::from_secs(900);

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn changed(first: Instant, last: Instant) -> Status {
        let counts = Counts { entries: 1, dirs: 1 };
        Status { counts, first: Some(first), last: Some(last), answered: None }
    }

    #[test]
    fn first_scan_starts_at_once() {
        let schedule = Schedule::new(Some(EVERY));
        assert!(schedule.due(&Status::default()).expect("due") <= Instant::now());
        assert_eq!(Schedule::new(None).due(&Status::default()), None);
    }

    #[test]
    fn scan_waits_for_a_quiet_minute_but_not_too_long() {
        let start = Instant::now();
        let mut schedule = Schedule::new(Some(EVERY));
        schedule.ended(true, seconds(1), start);
        assert_eq!(schedule.due(&Status::default()), None);
        let at =
            |first, last| schedule.due(&changed(start + seconds(first), start + seconds(last)));
        assert_eq!(at(100, 100), Some(start + seconds(160)));
        assert_eq!(at(100, 500), Some(start + seconds(560)));
        assert_eq!(at(100, 990), Some(start + seconds(1000)));
    }

    #[test]
    fn changes_before_a_scan_do_not_count() {
        let start = Instant::now();
        let mut schedule = Schedule::new(Some(EVERY));
        schedule.started(start + seconds(50));
        schedule.ended(true, seconds(1), start + seconds(51));
        let at =
            |first, last| schedule.due(&changed(start + seconds(first), start + seconds(last)));
        assert_eq!(at(10, 40), Some(start + seconds(50) + FULL_EVERY), "the daily full scan");
        assert_eq!(at(10, 200), Some(start + seconds(260)));
        assert_eq!(at(10, 900), Some(start + seconds(950)));
    }

    #[test]
    fn scans_take_at_most_half_of_the_time() {
        let start = Instant::now();
        let mut schedule = Schedule::new(Some(EVERY));
        schedule.ended(true, seconds(3600), start);
        let status = changed(start, start);
        assert_eq!(schedule.due(&status), Some(start + seconds(3600)));
    }

    #[test]
    fn failed_scan_is_tried_again_later() {
        let start = Instant::now();
        let mut schedule = Schedule::new(Some(EVERY));
        schedule.ended(false, seconds(1), start);
        assert_eq!(schedule.due(&Status::default()), Some(start + EVERY));
        assert_eq!(schedule.retry_at(), Some(start + EVERY));
        schedule.ended(true, seconds(1), start);
        assert_eq!((schedule.due(&Status::default()), schedule.retry_at()), (None, None));
    }

    #[test]
    fn scans_of_other_processes_are_followed_by_one() {
        let start = Instant::now();
        let mut schedule = Schedule::new(Some(EVERY));
        schedule.started(start);
        let answered = |at| Status { answered: Some(start + seconds(at)), ..Status::default() };
        schedule.ended(true, seconds(10), start + seconds(10));
        assert_eq!(schedule.due(&answered(5)), Some(start + FULL_EVERY), "an answer to this scan");
        assert_eq!(schedule.due(&answered(100)), Some(start + seconds(160)));
        schedule.started(start + seconds(160));
        schedule.ended(true, seconds(1), start + seconds(161));
        assert_eq!(schedule.due(&answered(160)), Some(start + FULL_EVERY));
    }

    #[test]
    fn one_scan_a_day_is_full() {
        let start = Instant::now();
        let mut schedule = Schedule::new(Some(EVERY));
        assert!(schedule.started(start), "the first scan");
        schedule.ended(false, seconds(1), start + seconds(1));
        assert!(schedule.started(start + seconds(2)), "the first scan failed");
        schedule.ended(true, seconds(1), start + seconds(3));
        assert_eq!(schedule.due(&Status::default()), Some(start + seconds(2) + FULL_EVERY));
        assert!(!schedule.started(start + FULL_EVERY));
        schedule.ended(true, seconds(1), start + FULL_EVERY + seconds(1));
        assert!(schedule.started(start + FULL_EVERY + seconds(2)));
    }

    #[test]
    fn short_interval_shortens_the_quiet_time() {
        let start = Instant::now();
        let mut schedule = Schedule::new(Some(seconds(5)));
        schedule.ended(true, seconds(1), start);
        let status = changed(start + seconds(10), start + seconds(11));
        assert_eq!(schedule.due(&status), Some(start + seconds(15)));
    }
}
