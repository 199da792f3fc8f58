//! Parses sizes, counts, durations and times as users type them, and formats them for people.

use std::num::NonZeroU64;
use std::str::FromStr;
use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use runtime::age;

pub(crate) use runtime::quantity::{append_counts, count, counted, parse_size, size};

/// Parses a rate in bytes per second. Zero is refused.
pub(crate) fn parse_rate(text: &str) -> Result<NonZeroU64, String> {
    NonZeroU64::new(parse_size(text)?).ok_or_else(|| "must not be zero".to_string())
}

/// Parses a whole number. Zero is refused.
pub(crate) fn at_least_one<N: FromStr>(text: &str) -> Result<N, String> {
    let is_zero = !text.is_empty() && text.bytes().all(|b| b == b'0');
    let wrong = if is_zero { "must be 1 or more" } else { "not a whole number, such as 4" };
    text.parse().map_err(|_| wrong.to_string())
}

/// Parses the number of results to print. 0 means all.
pub(crate) fn parse_limit(text: &str) -> Result<usize, String> {
    let number: usize = text.parse().map_err(|_| "a limit is a whole number".to_string())?;
    Ok(if number == 0 { usize::MAX } else { number })
}

/// Returns the change of free space by a plan as text that starts with a comma, or an empty text if it does not
/// change.
pub(crate) fn space_change(freed: u64, taken: u64) -> String {
    match (freed, taken) {
        (0, 0) => String::new(),
        (0, taken) => format!(", up to {} more in use", size(taken)),
        (freed, _) => format!(", {} to free", size(freed)),
    }
}

/// Returns the number of files and of directories, such as `3 files and 1 directory`. `entries` includes the
/// directories.
pub(crate) fn files_and_dirs(entries: u64, dirs: u64) -> String {
    let files = counted(entries - dirs, "file", "files");
    match (entries - dirs, dirs) {
        (_, 0) => files,
        (0, dirs) => counted(dirs, "directory", "directories"),
        (_, dirs) => format!("{files} and {}", counted(dirs, "directory", "directories")),
    }
}

/// Returns a duration with its units, such as `0.42 s`, `1 min 5 s` or `2 h 3 min`.
pub(crate) fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    match seconds {
        0..60 => format!("{:.2} s", time.as_secs_f64()),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

/// Returns a duration in the form of a clock, such as `0:07`, `12:34` or `2:03:10`.
pub(crate) fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    let (hours, minutes, seconds) = (seconds / 3600, seconds % 3600 / 60, seconds % 60);
    match hours {
        0 => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}

/// Parses an age, as [`age::parse`] does, for an option.
pub(crate) fn parse_age(text: &str) -> Result<Duration, String> {
    let units = age::UNITS;
    age::parse(text)
        .ok_or_else(|| format!("an age is a whole number with a unit, {units}: 30d, 6mo"))
}

/// Returns a time in the local time zone with minute precision, such as `2026-11-22 06:43`. `ms` is in milliseconds
/// since the epoch.
///
/// The time zone comes from `TZ`, or from `/etc/localtime` if that is not set. If neither is usable, it is UTC.
pub(crate) fn local_time(ms: i64) -> String {
    time_in(ms, TimeZone::system())
}

/// Returns the month of a time in the local time zone, such as `2026-11`. `ms` is in milliseconds since the epoch.
pub(crate) fn local_month(ms: i64) -> String {
    local_time(ms).chars().take("2026-11".len()).collect()
}

fn time_in(ms: i64, zone: TimeZone) -> String {
    match Timestamp::from_millisecond(ms) {
        Ok(time) => time.to_zoned_datetime(zone).strftime("%Y-%m-%d %H:%M").to_string(),
        // Only a damaged journal or catalog contains a time outside the years -9999 to 9999.
        Err(_) => "????-??-?? ??:??".into(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::tz::TimeZone;

    use super::{clock, duration, time_in};

    #[test]
    fn durations_have_units() {
        assert_eq!(duration(Duration::from_millis(417)), "0.42 s");
        assert_eq!(duration(Duration::from_secs(65)), "1 min 5 s");
        assert_eq!(duration(Duration::from_secs(7380)), "2 h 3 min");
        assert_eq!(clock(Duration::from_secs(7)), "0:07");
        assert_eq!(clock(Duration::from_secs(3599)), "59:59");
        assert_eq!(clock(Duration::from_secs(7390)), "2:03:10");
        assert_eq!(clock(Duration::from_secs(36_000)), "10:00:00");
        assert_eq!(clock(Duration::from_secs(360_000)), "100:00:00");
    }

    #[test]
    fn times_are_shown_in_a_time_zone() {
        let berlin = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").expect("a time zone");
        // Output of `date -d @…` with TZ=UTC and with the time zone of Berlin.
        for (seconds, utc, local) in [
            (0, "1970-01-01 00:00", "1970-01-01 01:00"),
            (951_782_399, "2000-02-28 23:59", "2000-02-29 00:59"),
            (1_782_108_000, "2026-06-22 06:00", "2026-06-22 08:00"),
            (1_795_329_815, "2026-11-22 06:43", "2026-11-22 07:43"),
            (-1, "1969-12-31 23:59", "1970-01-01 00:59"),
            (4_107_542_400, "2100-03-01 00:00", "2100-03-01 01:00"),
        ] {
            assert_eq!(time_in(seconds * 1000, TimeZone::UTC), utc);
            assert_eq!(time_in(seconds * 1000, berlin.clone()), local);
        }
        assert_eq!(time_in(i64::MAX, TimeZone::UTC), "????-??-?? ??:??");
    }
}
