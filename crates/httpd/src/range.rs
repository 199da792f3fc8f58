//! The field `Range` (RFC 9110, section 14).

use std::ops::Range;

/// Maximum number of ranges. A client that needs more asks again.
const MAX_RANGES: usize = 64;

/// The bytes that a field `Range` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// The field has no effect: it is malformed, has another unit, or asks for too much.
    All,
    /// No range begins before the end.
    Unsatisfiable,
    /// These ranges, each within the size, in the order of the request.
    Ranges(Vec<Range<u64>>),
}

/// Returns what `field` asks for of something that has `size` bytes.
///
/// A request for more than 64 ranges, or for ranges that together are larger than the whole, has no
/// effect. Overlapping ranges could otherwise multiply the work of a server (CVE-2011-3192).
pub fn wanted(field: &[u8], size: u64) -> Wanted {
    parse(field, size).unwrap_or(Wanted::All)
}

fn parse(field: &[u8], size: u64) -> Option<Wanted> {
    let text = std::str::from_utf8(field).ok()?;
    let (unit, set) = text.split_once('=')?;
    if !unit.trim().eq_ignore_ascii_case("bytes") {
        return None;
    }
    let mut ranges = Vec::new();
    for (count, spec) in set.split(',').map(str::trim).filter(|spec| !spec.is_empty()).enumerate() {
        if count >= MAX_RANGES {
            return None;
        }
        let range = one(spec, size)?;
        if !range.is_empty() {
            ranges.push(range);
        }
    }
    let total = ranges.iter().try_fold(0u64, |sum, range| sum.checked_add(range.end - range.start));
    match total {
        // A field without any range is malformed.
        Some(0) if set.bytes().any(|byte| byte == b'-') => Some(Wanted::Unsatisfiable),
        Some(total) if total > 0 && (ranges.len() == 1 || total <= size) => {
            Some(Wanted::Ranges(ranges))
        }
        _ => None,
    }
}

/// Returns one range, empty if it cannot be satisfied, or `None` if it is malformed.
fn one(spec: &str, size: u64) -> Option<Range<u64>> {
    let (first, last) = spec.split_once('-')?;
    let (first, last) = (first.trim_end(), last.trim_start());
    if first.is_empty() {
        return Some(size - number(last)?.min(size)..size);
    }
    let from = number(first)?;
    let last = if last.is_empty() { u64::MAX } else { number(last)? };
    if last < from {
        return None;
    }
    Some(from.min(size)..last.saturating_add(1).min(size))
}

/// Returns a number of digits only. A number that is too large is as good as the largest one.
fn number(digits: &str) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::{Wanted, wanted};

    #[expect(clippy::single_range_in_vec_init, reason = "it is a list of ranges")]
    fn some(from: u64, to: u64) -> Wanted {
        Wanted::Ranges(vec![from..to])
    }

    #[test]
    fn a_single_range_is_cut_to_the_size() {
        for (field, expected) in [
            ("bytes=0-0", some(0, 1)),
            ("bytes=2-5", some(2, 6)),
            ("bytes=9-", some(9, 10)),
            ("bytes=0-99999999999999999999999", some(0, 10)),
            ("bytes=5-18446744073709551615", some(5, 10)),
            ("bytes=-3", some(7, 10)),
            ("bytes=-100", some(0, 10)),
            ("Bytes = 1-2", some(1, 3)),
        ] {
            assert_eq!(wanted(field.as_bytes(), 10), expected, "{field}");
        }
    }

    #[test]
    fn ranges_without_bytes_are_unsatisfiable() {
        for (field, size) in [
            ("bytes=10-", 10),
            ("bytes=11-12", 10),
            ("bytes=-0", 10),
            ("bytes=0-", 0),
            ("bytes=-5", 0),
            ("bytes=10-, 20-30", 10),
        ] {
            assert_eq!(wanted(field.as_bytes(), size), Wanted::Unsatisfiable, "{field} of {size}");
        }
    }

    #[test]
    fn several_ranges_keep_their_order() {
        let expected = Wanted::Ranges(vec![5..7, 0..1, 8..10]);
        assert_eq!(wanted(b"bytes=5-6, 0-0,,-2, 10-12", 10), expected);
    }

    #[test]
    fn other_fields_have_no_effect() {
        let many = format!("bytes={}", "0-0,".repeat(65));
        for field in [
            "bytes=5-2",
            "lines=1-2",
            "bytes",
            "bytes=",
            "bytes=,",
            "bytes=-",
            "bytes=+1-2",
            "bytes=a-b",
            "bytes=1--2",
            "bytes=0-1,x",
            "bytes=0-,0-",
            "bytes=0-9,5-5",
            &many,
        ] {
            assert_eq!(wanted(field.as_bytes(), 10), Wanted::All, "{field}");
        }
    }
}
