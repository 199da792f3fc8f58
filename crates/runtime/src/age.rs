//! The text form of ages, such as `30d`: a whole number and a unit. All options, filters and rules of
//! lop use the same units. `m` is not one of them, because it could mean minutes or months.

use std::time::Duration;

/// The units, for messages.
pub const UNITS: &str = "s, min, h, d, w, mo (30 days) or y (365 days)";

/// The units with their seconds, largest first.
const SECONDS: [(&str, u64); 7] = [
    ("y", 365 * 86_400),
    ("mo", 30 * 86_400),
    ("w", 7 * 86_400),
    ("d", 86_400),
    ("h", 3600),
    ("min", 60),
    ("s", 1),
];

/// Parses an age. Units may be in any case. Returns `None` if the text is not an age, or if its
/// seconds exceed 64 bits.
pub fn parse(text: &str) -> Option<Duration> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    let (number, unit) = text.split_at(end);
    let (_, seconds) = SECONDS.iter().find(|(known, _)| known.eq_ignore_ascii_case(unit))?;
    number.parse::<u64>().ok()?.checked_mul(*seconds).map(Duration::from_secs)
}

/// Returns the shortest text that [`parse`] reads as this age. If several texts are equally short, it
/// returns the one with the largest unit. Fractions of a second are dropped.
pub fn to_text(age: Duration) -> String {
    let all = age.as_secs();
    let exact = SECONDS.iter().filter(|(_, seconds)| all > 0 && all.is_multiple_of(*seconds));
    let texts = exact.map(|(unit, seconds)| format!("{}{unit}", all / seconds));
    texts.min_by_key(String::len).unwrap_or_else(|| "0s".to_owned())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{SECONDS, UNITS, parse, to_text};

    #[test]
    fn ages_are_a_number_and_a_unit() {
        let seconds = |text| parse(text).map(|age| age.as_secs());
        for (text, expected) in [
            ("0s", 0),
            ("7S", 7),
            ("90min", 5400),
            ("2h", 7200),
            ("30d", 30 * 86_400),
            ("2w", 14 * 86_400),
            ("6mo", 180 * 86_400),
            ("1y", 365 * 86_400),
        ] {
            assert_eq!(seconds(text), Some(expected), "{text}");
        }
        for text in ["", "30", "d", "1m", "y", "-1d", "1.5h", "1 d", "99999999999999999999d"] {
            assert_eq!(seconds(text), None, "{text}");
        }
        assert_eq!(parse(&format!("{}y", u64::MAX / 1000)), None, "exceeds 64 bits");
    }

    #[test]
    fn ages_have_the_shortest_text_and_the_largest_unit_among_those() {
        let text = |seconds| to_text(Duration::from_secs(seconds));
        let ages = [0, 59, 120, 7200, 86_400 * 14, 86_400 * 60, 86_400 * 365].map(text);
        assert_eq!(ages, ["0s", "59s", "2min", "2h", "2w", "2mo", "1y"]);
        assert_eq!(text(810 * 7 * 86_400), "810w", "189mo is longer");
    }

    #[test]
    fn no_text_of_an_age_is_shorter() {
        for (unit, _) in SECONDS {
            for number in 0..1000 {
                let given = format!("{number}{unit}");
                let age = parse(&given).expect("an age");
                assert!(to_text(age).len() <= given.len(), "{given}: {}", to_text(age));
                assert_eq!(parse(&to_text(age)), Some(age), "{given}");
            }
        }
    }

    #[test]
    fn messages_name_all_units() {
        let named = |unit: &str| UNITS.split([' ', ',']).any(|word| word == unit);
        assert!(SECONDS.iter().all(|(unit, _)| named(unit)));
    }
}
