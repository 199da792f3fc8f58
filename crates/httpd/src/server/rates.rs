//! Limits the rate of each connection, and the rate of all connections together.
//!
//! A connection with a limited rate sends short bursts: up to a tenth of a second's worth of bytes, and then
//! nothing for the time that these bytes take at the limited rate. Letting the kernel pace the connection
//! (`SO_MAX_PACING_RATE`) costs half as much processor time again (docs/design/sharing.md).

use std::num::NonZeroU64;
use std::time::{Duration, Instant};

use runtime::{Throttle, Turns};

use super::limits::CALL;

/// Time that a burst takes at the limited rate, unless [`MIN_BURST`] or [`CALL`] determines its length.
const PERIOD: Duration = Duration::from_millis(100);

/// Minimum length of a burst in bytes, unless the bytes of a second are fewer.
const MIN_BURST: usize = 1 << 10;

/// Maximum number of bytes that a connection reserves at a time from the rate of all connections.
const SHARE: usize = 32 << 10;

/// The rates at which a server sends.
#[derive(Debug, Default)]
pub struct Rates {
    /// Maximum rate of each connection in bytes per second.
    pub connection: Option<NonZeroU64>,
    /// Bytes of each response that are sent before the rate of the connection applies.
    pub after: u64,
    /// Maximum rate of all connections together.
    pub total: Throttle,
}

/// How much a connection may send now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Allowance {
    /// This many bytes.
    Bytes(usize),
    /// No bytes until this time has passed.
    Wait(Duration),
}

/// The state of the rate limits for one connection.
#[derive(Debug, Default)]
pub(super) struct Quota {
    /// The turns of the bursts of the connection.
    bursts: Turns,
    /// Bytes that are left of the current burst.
    left: usize,
    /// Bytes that the connection has reserved from the rate of all connections, but not sent yet.
    reserved: usize,
}

impl Rates {
    /// Returns the maximum rate of a connection that has sent `sent` bytes of a response. `None` means no
    /// limit.
    fn at(&self, sent: u64) -> Option<NonZeroU64> {
        self.connection.filter(|_| sent >= self.after)
    }
}

impl Quota {
    /// Returns how many of `wanted` bytes the connection may send now, or how long it has to wait. It has
    /// already sent `sent` bytes of the response.
    pub(super) fn allow(
        &mut self,
        wanted: usize,
        sent: u64,
        rates: &Rates,
        now: Instant,
    ) -> Allowance {
        let mut allowed = wanted.min(CALL);
        if let Some(rate) = rates.at(sent) {
            if self.left == 0 {
                self.left = burst(rate);
                let wait =
                    self.bursts.reserve(rate, self.left as u64, now).saturating_duration_since(now);
                if !wait.is_zero() {
                    return Allowance::Wait(wait);
                }
            }
            allowed = allowed.min(self.left);
        } else if rates.connection.is_some() {
            let free = usize::try_from(rates.after.saturating_sub(sent)).unwrap_or(usize::MAX);
            allowed = allowed.min(free);
        }
        if rates.total.rate().is_none() {
            return Allowance::Bytes(allowed);
        }
        if self.reserved == 0 {
            self.reserved = allowed.min(SHARE);
            let wait = rates.total.reserve(self.reserved as u64);
            if !wait.is_zero() {
                return Allowance::Wait(wait);
            }
        }
        Allowance::Bytes(allowed.min(self.reserved))
    }

    /// Records that the connection sent `bytes` bytes, after the first `sent` bytes of the response.
    pub(super) fn spend(&mut self, bytes: usize, sent: u64, rates: &Rates) {
        self.reserved = self.reserved.saturating_sub(bytes);
        if rates.at(sent).is_some() {
            self.left = self.left.saturating_sub(bytes);
        }
    }
}

/// Returns the length of a burst in bytes.
fn burst(rate: NonZeroU64) -> usize {
    let bytes = |time: Duration| {
        let bytes = u128::from(rate.get()) * time.as_millis() / 1000;
        usize::try_from(bytes).unwrap_or(usize::MAX)
    };
    bytes(PERIOD).clamp(bytes(Duration::from_secs(1)).min(MIN_BURST), CALL)
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;
    use std::time::{Duration, Instant};

    use runtime::Throttle;

    use super::{Allowance, CALL, MIN_BURST, Quota, Rates, SHARE};

    /// Simulates a connection that always has bytes to send, on a thread that wakes up `late` after the end
    /// of each wait. Returns the total number of bytes sent by the end of each second, and the largest burst.
    fn sent_by(rates: &Rates, seconds: u64, late: Duration) -> (Vec<u64>, usize) {
        let start = Instant::now();
        let (mut now, mut sent, mut largest) = (start, 0, 0);
        let mut quota = Quota::default();
        let mut by_second = Vec::new();
        while by_second.len() < usize::try_from(seconds).expect("few") {
            match quota.allow(usize::MAX, sent, rates, now) {
                Allowance::Bytes(bytes) => {
                    quota.spend(bytes, sent, rates);
                    sent += bytes as u64;
                    largest = largest.max(bytes);
                }
                Allowance::Wait(time) => {
                    now += time + late;
                    let elapsed = usize::try_from((now - start).as_secs()).expect("few");
                    by_second.resize(elapsed.min(usize::try_from(seconds).expect("few")), sent);
                }
            }
        }
        (by_second, largest)
    }

    fn rates(connection: u64) -> Rates {
        Rates { connection: NonZeroU64::new(connection), ..Rates::default() }
    }

    #[test]
    fn a_connection_keeps_its_rate() {
        for rate in [1, 100, 10_000, 1_000_000, 100_000_000, 5_000_000_000] {
            for late in [0, 25, 45].map(Duration::from_millis) {
                let (sent, largest) = sent_by(&rates(rate), 60, late);
                let longest = (rate / 10).max(rate.min(MIN_BURST as u64));
                assert!(largest <= CALL && largest as u64 <= longest, "{rate}: {largest}");
                // The difference is at most one burst and the bytes that are due while the thread is late.
                let tolerance = largest as u64 + rate / 5;
                for (second, sent) in (1..).zip(sent) {
                    assert!(sent.abs_diff(rate * second) <= tolerance, "{rate}: {second}, {sent}");
                }
            }
        }
    }

    #[test]
    fn a_pause_earns_no_long_burst() {
        let (rates, mut now) = (rates(1_000_000), Instant::now());
        let mut quota = Quota::default();
        let mut at_once = |now| {
            let mut sent = 0;
            while let Allowance::Bytes(bytes) = quota.allow(usize::MAX, 0, &rates, now) {
                quota.spend(bytes, 0, &rates);
                sent += bytes;
            }
            sent
        };
        // Turns make up for half a burst of lost time, so another burst follows.
        assert_eq!(at_once(now), 100_000);
        now += Duration::from_secs(3600);
        assert_eq!(at_once(now), 200_000);
    }

    #[test]
    fn a_burst_consists_of_several_pieces() {
        let (rates, now) = (rates(1_000_000), Instant::now());
        let mut quota = Quota::default();
        for left in [100_000, 99_800, 80_000] {
            assert_eq!(quota.allow(usize::MAX, 0, &rates, now), Allowance::Bytes(left));
            quota.spend(if left == 100_000 { 200 } else { 19_800 }, 0, &rates);
        }
        quota.spend(60_200, 0, &rates);
        let wait = Allowance::Wait(Duration::from_millis(100));
        assert_eq!(quota.allow(usize::MAX, 0, &rates, now), wait);
    }

    #[test]
    fn the_first_bytes_have_no_limit() {
        let rates = Rates { after: 3_000_000, ..rates(1_000_000) };
        let (now, mut quota, mut sent) = (Instant::now(), Quota::default(), 0);
        while let Allowance::Bytes(bytes) = quota.allow(usize::MAX, sent, &rates, now) {
            quota.spend(bytes, sent, &rates);
            sent += bytes as u64;
        }
        assert_eq!(sent, 3_100_000);
    }

    #[test]
    fn without_a_limit_a_call_is_as_long_as_it_may_be() {
        let (mut quota, now) = (Quota::default(), Instant::now());
        let mut allow = |wanted| quota.allow(wanted, 0, &Rates::default(), now);
        assert_eq!(allow(10), Allowance::Bytes(10));
        assert_eq!(allow(CALL + 1), Allowance::Bytes(CALL));
    }

    #[test]
    fn connections_wait_for_their_share_once() {
        let total = Throttle::new(NonZeroU64::new(SHARE as u64));
        let (rates, now) = (Rates { total, ..Rates::default() }, Instant::now());
        let (mut first, mut second) = (Quota::default(), Quota::default());
        assert_eq!(first.allow(SHARE * 2, 0, &rates, now), Allowance::Bytes(SHARE));
        assert!(matches!(second.allow(SHARE, 0, &rates, now), Allowance::Wait(_)));
        assert_eq!(second.allow(SHARE, 0, &rates, now), Allowance::Bytes(SHARE), "after the wait");
        second.spend(SHARE - 1, 0, &rates);
        assert_eq!(second.allow(SHARE, 0, &rates, now), Allowance::Bytes(1));
    }
}
