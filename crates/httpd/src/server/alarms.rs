//! Connections that wait until a certain time.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Interval between wakeups in milliseconds. Connections whose times fall into the same interval are woken
/// together at its end, which costs less than a wakeup of the thread for each of them.
const GRAIN: u64 = 25;

/// The connections of a thread that wait until a certain time.
#[derive(Debug)]
pub(super) struct Alarms {
    start: Instant,
    /// The numbers of the connections, by the time at which they are woken, in units of [`GRAIN`] since the
    /// start.
    waiting: BTreeMap<u64, Vec<u64>>,
}

impl Alarms {
    pub(super) fn new() -> Alarms {
        Alarms { start: Instant::now(), waiting: BTreeMap::new() }
    }

    /// Adds a connection that waits until `time`. Its alarm goes off at the next multiple of [`GRAIN`], at
    /// most 25 ms later.
    pub(super) fn add(&mut self, time: Instant, number: u64) {
        let tick = self.ticks(time) + 1;
        self.waiting.entry(tick).or_default().push(number);
    }

    /// Returns the time of the next alarm.
    pub(super) fn next(&self) -> Option<Instant> {
        let (&tick, _) = self.waiting.first_key_value()?;
        let since = Duration::from_millis(tick.saturating_mul(GRAIN));
        self.start.checked_add(since)
    }

    /// Removes the connections whose alarms are due, and returns their numbers.
    pub(super) fn due(&mut self, now: Instant) -> Vec<u64> {
        let later = self.waiting.split_off(&(self.ticks(now) + 1));
        let due = std::mem::replace(&mut self.waiting, later);
        due.into_values().flatten().collect()
    }

    fn ticks(&self, time: Instant) -> u64 {
        let ticks = time.saturating_duration_since(self.start).as_millis() / u128::from(GRAIN);
        u64::try_from(ticks).unwrap_or(u64::MAX - 1)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{Alarms, GRAIN};

    #[test]
    fn alarms_are_never_early_and_hardly_late() {
        let mut alarms = Alarms::new();
        assert_eq!((alarms.next(), alarms.due(alarms.start)), (None, vec![]));
        let times = [7, 0, 24, 25, 26, 300].map(|ms| alarms.start + Duration::from_millis(ms));
        for (number, time) in (0..).zip(times) {
            alarms.add(time, number);
        }
        let mut woken = Vec::new();
        while let Some(next) = alarms.next() {
            let before = next.checked_sub(Duration::from_nanos(1)).expect("after the start");
            assert!(alarms.due(before).is_empty());
            for number in alarms.due(next) {
                let time = times[usize::try_from(number).expect("small")];
                assert!(next >= time && next <= time + Duration::from_millis(GRAIN), "{number}");
                woken.push(number);
            }
        }
        assert_eq!(woken, [0, 1, 2, 3, 4, 5]);
    }
}
