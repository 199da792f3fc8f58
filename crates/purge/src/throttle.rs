//! Keeps a removal from going faster than asked for, for the sake of others that use the disk.

use std::num::NonZeroU64;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use fsops::Watch;

/// A sleep is at most so long: who is asked to stop does so soon. Of a longer pause nothing is made up for.
const NAP: Duration = Duration::from_millis(50);

/// Lets so many entries pass in a second, of all that is removed with it.
#[derive(Debug, Default)]
pub struct Throttle {
    rate: Option<NonZeroU64>,
    /// When the next entry may be done.
    next: Mutex<Option<Instant>>,
}

impl Throttle {
    /// Returns one that lets `rate` entries a second pass, or all at once.
    pub fn new(rate: Option<NonZeroU64>) -> Throttle {
        Throttle { rate, next: Mutex::default() }
    }

    pub(crate) fn rate(&self) -> Option<NonZeroU64> {
        self.rate
    }

    /// Waits until one entry more may be done; returns whether it may, and the work is not to stop.
    pub(crate) fn pass(&self, watch: &Watch) -> bool {
        let Some(rate) = self.rate else { return true };
        let due = self.next_turn(rate);
        while let Some(rest) = due.checked_duration_since(Instant::now()) {
            if rest.is_zero() || watch.stopped() {
                break;
            }
            std::thread::sleep(rest.min(NAP));
        }
        !watch.stopped()
    }

    fn next_turn(&self, rate: NonZeroU64) -> Instant {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let earliest = now.checked_sub(NAP).unwrap_or(now);
        let due = next.unwrap_or(now).max(earliest);
        *next = Some(due + Duration::from_nanos(1_000_000_000 / rate));
        due
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;
    use std::time::Duration;

    use super::{NAP, Throttle};

    #[test]
    fn a_pause_is_not_made_up_for() {
        let rate = NonZeroU64::new(10).expect("10 is not 0");
        let throttle = Throttle::new(Some(rate));
        let first = throttle.next_turn(rate);
        // Late by more than a nap.
        let pause = Duration::from_millis(400);
        std::thread::sleep(pause);
        let late = throttle.next_turn(rate);
        assert!(late + NAP >= first + pause, "{:?}", late - first);
        assert_eq!(throttle.next_turn(rate) - late, Duration::from_millis(100));
    }
}
