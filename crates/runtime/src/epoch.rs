//! Times as numbers since the epoch, as catalogs, journals and `stat(2)` have them. A time before the
//! epoch counts as the epoch.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Returns the current time in milliseconds since the epoch.
pub fn now_ms() -> i64 {
    ms(SystemTime::now())
}

/// Returns the current time in nanoseconds since the epoch.
pub fn now_ns() -> i64 {
    ns(SystemTime::now())
}

/// Returns a time in milliseconds since the epoch.
pub fn ms(time: SystemTime) -> i64 {
    i64::try_from(since(time).as_millis()).unwrap_or(i64::MAX)
}

/// Returns a time in nanoseconds since the epoch.
pub fn ns(time: SystemTime) -> i64 {
    i64::try_from(since(time).as_nanos()).unwrap_or(i64::MAX)
}

fn since(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::{ms, now_ms, now_ns, ns};

    #[test]
    fn times_are_numbers_since_the_epoch() {
        let time = UNIX_EPOCH + Duration::from_micros(1_234_567);
        assert_eq!((ms(time), ns(time)), (1234, 1_234_567_000));
        let before = UNIX_EPOCH - Duration::from_secs(1);
        assert_eq!((ms(before), ns(before)), (0, 0));
        let far = UNIX_EPOCH + Duration::from_secs(1 << 40);
        assert_eq!((ms(far), ns(far)), (1000 << 40, i64::MAX));
        assert!(now_ms() <= now_ns() / 1_000_000);
    }
}
