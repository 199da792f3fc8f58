//! Comparisons with a number, such as `>10M` or `30d..1y`.
//!
//! Every number displays in a unit that divides it, so that no bytes or seconds are lost.

use std::time::Duration;

use runtime::age;

/// A comparison with one number, or a range that includes both ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Bound {
    Above(u64),
    AtLeast(u64),
    Below(u64),
    AtMost(u64),
    Exactly(u64),
    Between(u64, u64),
}

use Bound::{Above, AtLeast, AtMost, Below, Between, Exactly};

impl Bound {
    /// Parses a comparison whose numbers `number` can parse.
    pub(super) fn parse(text: &str, number: fn(&str) -> Option<u64>) -> Option<Bound> {
        if let Some((low, high)) = text.split_once("..") {
            return match (low, high) {
                ("", high) => number(high).map(AtMost),
                (low, "") => number(low).map(AtLeast),
                (low, high) => {
                    let (low, high) = (number(low)?, number(high)?);
                    (low <= high).then_some(Between(low, high))
                }
            };
        }
        let signs = [">=", "<=", ">", "<", "="];
        let sign = signs.into_iter().find(|sign| text.starts_with(sign)).unwrap_or_default();
        let number = number(&text[sign.len()..])?;
        Some(match sign {
            ">=" => AtLeast(number),
            "<=" => AtMost(number),
            ">" => Above(number),
            "<" => Below(number),
            _ => Exactly(number),
        })
    }

    pub(super) fn holds(self, value: u64) -> bool {
        match self {
            Above(bound) => value > bound,
            AtLeast(bound) => value >= bound,
            Below(bound) => value < bound,
            AtMost(bound) => value <= bound,
            Exactly(bound) => value == bound,
            Between(low, high) => (low..=high).contains(&value),
        }
    }

    pub(super) fn to_text(self, number: fn(u64) -> String) -> String {
        match self {
            Above(bound) => format!(">{}", number(bound)),
            AtLeast(bound) => format!(">={}", number(bound)),
            Below(bound) => format!("<{}", number(bound)),
            AtMost(bound) => format!("<={}", number(bound)),
            Exactly(bound) => number(bound),
            Between(low, high) => format!("{}..{}", number(low), number(high)),
        }
    }
}

/// Units of sizes, largest first.
const SIZES: [(&str, u64); 4] = [("T", 1 << 40), ("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)];

/// Parses a size in bytes, such as `4096`, `4k` or `4K`.
pub(super) fn size(text: &str) -> Option<u64> {
    with_unit(text, &SIZES)
}

/// Parses an age in seconds, such as `30d`.
pub(super) fn age(text: &str) -> Option<u64> {
    age::parse(text).map(|age| age.as_secs())
}

/// Parses a number without a unit.
pub(super) fn count(text: &str) -> Option<u64> {
    with_unit(text, &[])
}

pub(super) fn size_text(bytes: u64) -> String {
    to_text(bytes, &SIZES)
}

/// Returns seconds instead of minutes, because a filter must not become longer when it is displayed.
pub(super) fn age_text(seconds: u64) -> String {
    let text = age::to_text(Duration::from_secs(seconds));
    if text.ends_with("min") { format!("{seconds}s") } else { text }
}

fn with_unit(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let number: u64 = digits.parse().ok()?;
    if unit.is_empty() {
        return Some(number);
    }
    let known = units.iter().find(|(known, _)| known.eq_ignore_ascii_case(unit));
    number.checked_mul(known?.1)
}

fn to_text(number: u64, units: &[(&str, u64)]) -> String {
    let fits = |(_, size): &&(&str, u64)| number > 0 && number.is_multiple_of(*size);
    match units.iter().find(fits) {
        Some((unit, size)) => format!("{}{unit}", number / size),
        None => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Bound, age, age_text, size, size_text};

    #[test]
    fn numbers_have_units_of_1024_or_of_calendar_time() {
        for (text, bytes) in
            [("0", 0), ("4096", 4096), ("4k", 4096), ("2G", 2 << 30), ("1T", 1 << 40)]
        {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
        assert_eq!((age("5min"), age("1mo")), (Some(300), Some(2_592_000)));
        assert_eq!((age("7"), age("6m")), (None, None), "the unit is missing or ambiguous");
        for text in
            ["", "k", "-1", "1.5M", "1 M", "1MB", "18014398509481984K", "99999999999999999999"]
        {
            assert_eq!(size(text), None, "{text}");
        }
    }

    #[test]
    fn numbers_display_in_the_largest_unit_that_divides_them() {
        let sizes = [0, 1, 1023, 1024, 1536, 3 << 20, u64::MAX].map(size_text);
        assert_eq!(sizes, ["0", "1", "1023", "1K", "1536", "3M", "18446744073709551615"]);
        let ages = [0, 59, 120, 7200, 86_400 * 14, 86_400 * 365].map(age_text);
        assert_eq!(ages, ["0s", "59s", "120s", "2h", "2w", "1y"]);
    }

    #[test]
    fn comparisons_hold_up_to_their_bounds() {
        for (text, holds) in [
            (">10", [false, false, true]),
            (">=10", [false, true, true]),
            ("<10", [true, false, false]),
            ("<=10", [true, true, false]),
            ("10", [false, true, false]),
            ("=10", [false, true, false]),
            ("10..", [false, true, true]),
            ("..10", [true, true, false]),
            ("10..11", [false, true, true]),
            ("9..9", [true, false, false]),
        ] {
            let bound = Bound::parse(text, size).expect(text);
            assert_eq!([9, 10, 11].map(|value| bound.holds(value)), holds, "{text}");
        }
        for text in ["", ">", "..", "3..2", "1..2..3", "=>1", "> 1", "<>1"] {
            assert_eq!(Bound::parse(text, size), None, "{text}");
        }
    }
}
