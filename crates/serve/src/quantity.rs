//! Sizes, counts and times as pages show them.
//!
//! Times are sent in UTC; `times.js` shows them in the time zone of the browser.

use jiff::Timestamp;
use maud::{Markup, html};

/// The units of sizes; each is 1024 times the previous one.
const UNITS: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/// Returns a size in the largest unit in which it is at least one, such as `1.5 GiB`.
pub(crate) fn size(bytes: u64) -> String {
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let mut unit = 1;
    // Integer tenths, because rounded floats would turn 999.96 KiB into "1000.0 KiB".
    while unit < UNITS.len() - 1 && tenths(bytes, unit) >= 10_240 {
        unit += 1;
    }
    let tenths = tenths(bytes, unit);
    format!("{}.{} {}", grouped(&(tenths / 10).to_string()), tenths % 10, UNITS[unit])
}

fn tenths(bytes: u64, unit: usize) -> u128 {
    let one = 1u128 << (10 * unit);
    (u128::from(bytes) * 10 + one / 2) / one
}

/// Returns a number with commas between thousands, such as `1,234,567`.
pub(crate) fn count(number: u64) -> String {
    grouped(&number.to_string())
}

/// Returns a number with its noun, such as `1 file` or `1,234 files`.
pub(crate) fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// Returns a number of files, such as `1 file`.
pub(crate) fn files(number: u64) -> String {
    counted(number, "file", "files")
}

fn grouped(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.char_indices() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a time in milliseconds since the epoch as an element that the script shows in local time.
pub(crate) fn time(ms: i64) -> Markup {
    // Only a damaged journal or catalog contains a time outside the years -9999 to 9999.
    let Ok(time) = Timestamp::from_millisecond(ms) else { return html! { "unknown time" } };
    let machine = time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    html! { time datetime=(machine) { (time.strftime("%Y-%m-%d %H:%M UTC").to_string()) } }
}

#[cfg(test)]
mod tests {
    use super::{count, counted, size, time};

    #[test]
    fn sizes_round_to_the_nearest_tenth() {
        for (bytes, text) in [
            (0, "0 B"),
            (1023, "1023 B"),
            (1024, "1.0 KiB"),
            (1024 * 1024 - 1, "1.0 MiB"),
            (3 << 29, "1.5 GiB"),
            (u64::MAX, "16,384.0 PiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn counts_have_commas_and_nouns() {
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(counted(1, "file", "files"), "1 file");
        assert_eq!(counted(123_456, "file", "files"), "123,456 files");
    }

    #[test]
    fn times_are_sent_in_utc() {
        let shown = time(1_782_108_000_000).into_string();
        assert_eq!(shown, "<time datetime=\"2026-06-22T06:00:00Z\">2026-06-22 06:00 UTC</time>");
        assert_eq!(time(i64::MAX).into_string(), "unknown time");
    }
}
