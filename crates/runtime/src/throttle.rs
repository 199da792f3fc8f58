//! Limits the rate of operations or bytes, so that other processes can use the disk.

use std::num::NonZeroU64;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::progress::Progress;

/// Maximum length of a sleep. It is short so that requests to stop take effect soon. It is also the
/// maximum amount of lost time that callers can make up for after a pause.
const NAP: Duration = Duration::from_millis(50);

/// A rate limit that threads share.
#[derive(Debug, Default)]
pub struct Throttle {
    rate: Option<NonZeroU64>,
    turns: Mutex<Turns>,
}

/// The turns of operations that share a rate limit.
#[derive(Debug, Default)]
pub struct Turns {
    /// Time at which the next operation may start.
    next: Option<Instant>,
}

impl Turns {
    /// Reserves `amount` units at `rate` units per second. Returns the time at which the caller may use
    /// them, which is in the past if the caller need not wait.
    pub fn reserve(&mut self, rate: NonZeroU64, amount: u64, now: Instant) -> Instant {
        let earliest = now.checked_sub(NAP).unwrap_or(now);
        let due = self.next.unwrap_or(now).max(earliest);
        self.next = Some(due + Duration::from_nanos(amount.saturating_mul(1_000_000_000) / rate));
        due
    }
}

impl Throttle {
    /// Returns a throttle for `rate` units per second. `None` means no limit.
    pub fn new(rate: Option<NonZeroU64>) -> Throttle {
        Throttle { rate, turns: Mutex::default() }
    }

    /// Returns the limit in units per second.
    pub fn rate(&self) -> Option<NonZeroU64> {
        self.rate
    }

    /// Waits until the rate limit allows one more unit. Returns false if a stop was requested.
    pub fn pass(&self, progress: &Progress) -> bool {
        self.pass_some(1, progress)
    }

    /// Waits until the rate limit allows `amount` more units. Returns false if a stop was
    /// requested.
    pub fn pass_some(&self, amount: u64, progress: &Progress) -> bool {
        let Some(rate) = self.rate else { return true };
        let due = self.next_turn(rate, amount);
        while let Some(rest) = due.checked_duration_since(Instant::now()) {
            if rest.is_zero() || progress.poll_stop() {
                break;
            }
            std::thread::sleep(rest.min(NAP));
        }
        !progress.poll_stop()
    }

    /// Reserves `amount` units. Returns the time after which the caller may use them; the caller does
    /// the waiting. A caller that does not use them has taken them from the others.
    pub fn reserve(&self, amount: u64) -> Duration {
        let Some(rate) = self.rate else { return Duration::ZERO };
        self.next_turn(rate, amount).saturating_duration_since(Instant::now())
    }

    fn next_turn(&self, rate: NonZeroU64, amount: u64) -> Instant {
        let mut turns = self.turns.lock().unwrap_or_else(PoisonError::into_inner);
        turns.reserve(rate, amount, Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;
    use std::time::Duration;

    use super::{NAP, Throttle};

    #[test]
    fn long_pause_earns_no_burst() {
        let rate = NonZeroU64::new(10).expect("10 is not 0");
        let throttle = Throttle::new(Some(rate));
        let first = throttle.next_turn(rate, 1);
        // This is longer than the amount of lost time that callers can make up for.
        let pause = Duration::from_millis(400);
        std::thread::sleep(pause);
        let late = throttle.next_turn(rate, 1);
        assert!(late + NAP >= first + pause, "{:?}", late - first);
        assert_eq!(throttle.next_turn(rate, 1) - late, Duration::from_millis(100));
    }

    #[test]
    fn reservations_wait_for_those_before_them() {
        let throttle = Throttle::new(NonZeroU64::new(10));
        assert_eq!(throttle.reserve(100_000), Duration::ZERO);
        let (second, third) = (throttle.reserve(100_000), throttle.reserve(1));
        // The test itself takes a small part of the time.
        assert!(second > Duration::from_secs(5_000), "{second:?}");
        assert!(third > second + Duration::from_secs(5_000), "{third:?}");
        assert_eq!(Throttle::new(None).reserve(u64::MAX), Duration::ZERO);
    }
}
