//! The times at which the requests of an open loop are due.

use std::time::{Duration, Instant};

/// Requests at a fixed rate. Request `i` is due `i / rate` seconds after the start.
#[derive(Debug)]
pub(super) struct Schedule {
    start: Instant,
    /// Seconds between two requests.
    interval_s: f64,
    next: u32,
}

impl Schedule {
    /// Returns a schedule of `rate` requests per second.
    pub(super) fn new(start: Instant, rate: f64) -> Self {
        Self { start, interval_s: 1.0 / rate, next: 0 }
    }

    /// Takes the next request if it is due, and returns the time at which it was due.
    pub(super) fn take(&mut self, now: Instant) -> Option<Instant> {
        // Multiplication does not accumulate the rounding errors of a sum.
        let due = self.start + Duration::from_secs_f64(f64::from(self.next) * self.interval_s);
        (due <= now).then(|| {
            self.next += 1;
            due
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Schedule;
    use std::time::{Duration, Instant};

    #[test]
    fn requests_are_due_at_the_rate() {
        let start = Instant::now();
        let mut schedule = Schedule::new(start, 1_000.0);
        assert_eq!(schedule.take(start), Some(start), "the first one is due at once");
        assert_eq!(schedule.take(start + Duration::from_micros(999)), None);
        let due: Vec<_> = std::iter::from_fn(|| schedule.take(start + Duration::from_secs(2)))
            .map(|due| due.duration_since(start).as_millis())
            .collect();
        assert_eq!((due.len(), due[0], due[1_999]), (2_000, 1, 2_000));
    }

    #[test]
    fn a_delay_does_not_shift_later_requests() {
        let start = Instant::now();
        let mut schedule = Schedule::new(start, 10.0);
        let late = start + Duration::from_millis(950);
        let due = std::iter::from_fn(|| schedule.take(late)).last().expect("ten are due");
        assert_eq!(due, start + Duration::from_millis(900));
    }

    #[test]
    fn a_third_of_a_second_does_not_accumulate_errors() {
        let start = Instant::now();
        let mut schedule = Schedule::new(start, 3.0);
        let hour = start + Duration::from_secs(3_600);
        let due = std::iter::from_fn(|| schedule.take(hour)).count();
        assert_eq!(due, 10_801);
    }
}
