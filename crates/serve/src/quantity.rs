//! Sizes, counts and times as pages show them.
//!
//! Times are sent in UTC; `times.js` shows them in the time zone of the browser.

use jiff::Timestamp;
use maud::{Markup, html};

pub(crate) use runtime::quantity::{count, counted, size};

/// Returns a number of files, such as `1 file`.
pub(crate) fn files(number: u64) -> String {
    counted(number, "file", "files")
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
    use super::time;

    #[test]
    fn times_are_sent_in_utc() {
        let shown = time(1_782_108_000_000).into_string();
        assert_eq!(shown, "<time datetime=\"2026-06-22T06:00:00Z\">2026-06-22 06:00 UTC</time>");
        assert_eq!(time(i64::MAX).into_string(), "unknown time");
    }
}
