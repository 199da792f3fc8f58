//! Decides which bytes a request asks for: `Range`, `If-Range` and `If-None-Match` (RFC 9110).
//!
//! A request for several ranges is answered with the whole file, which the RFC permits. No browser needs
//! a multipart response.

use axum::http::HeaderMap;
use axum::http::header::{IF_NONE_MATCH, IF_RANGE, RANGE};

use crate::gate::single_header;

/// The answer to a request for a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The client has the current version.
    NotModified,
    /// The range starts behind the end of the file.
    Unsatisfiable,
    /// The bytes from `from` up to but not including `to`.
    Bytes { from: u64, to: u64, is_whole: bool },
}

/// Returns what to send of a file with this entity tag and size.
pub(super) fn part(headers: &HeaderMap, tag: &str, size: u64) -> Part {
    let whole = Part::Bytes { from: 0, to: size, is_whole: true };
    // The comparison is weak: a cache may have marked the tag as weak (RFC 9110, section 13.1.2).
    let is_same = |known: &str| known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag;
    if let Some(known) = single_header(headers, &IF_NONE_MATCH)
        && known.split(',').map(str::trim).any(is_same)
    {
        return Part::NotModified;
    }
    let Some(range) = single_header(headers, &RANGE) else { return whole };
    // With another version, the client needs the whole file. Dates are never sent, so no date is ours.
    if headers.contains_key(IF_RANGE) && single_header(headers, &IF_RANGE) != Some(tag) {
        return whole;
    }
    match parse(range, size) {
        Parsed::Ignored => whole,
        Parsed::Beyond => Part::Unsatisfiable,
        Parsed::Range(from, to) => Part::Bytes { from, to, is_whole: false },
    }
}

#[derive(Debug)]
enum Parsed {
    /// Not a single range of bytes. Such a header has no effect.
    Ignored,
    /// Behind the end of the file.
    Beyond,
    Range(u64, u64),
}

fn parse(range: &str, size: u64) -> Parsed {
    let bytes = match range.split_once('=') {
        Some((unit, bytes)) if unit.trim().eq_ignore_ascii_case("bytes") => bytes.trim(),
        _ => return Parsed::Ignored,
    };
    let Some((first, last)) = bytes.split_once('-') else { return Parsed::Ignored };
    if first.is_empty() {
        return match number(last) {
            None => Parsed::Ignored,
            Some(0) => Parsed::Beyond,
            Some(_) if size == 0 => Parsed::Beyond,
            Some(count) => Parsed::Range(size - count.min(size), size),
        };
    }
    let Some(from) = number(first) else { return Parsed::Ignored };
    let last = if last.is_empty() { Some(u64::MAX) } else { number(last) };
    match last {
        None => Parsed::Ignored,
        Some(last) if last < from => Parsed::Ignored,
        Some(_) if from >= size => Parsed::Beyond,
        Some(last) => Parsed::Range(from, last.saturating_add(1).min(size)),
    }
}

/// Returns a number of digits only. A number that is too large is as good as the largest one.
fn number(digits: &str) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;
    use axum::http::header::{IF_NONE_MATCH, IF_RANGE, RANGE};

    use super::{Part, part};

    fn of(range: &str, size: u64) -> Part {
        let mut headers = HeaderMap::new();
        headers.insert(RANGE, range.parse().expect("header"));
        part(&headers, "\"1\"", size)
    }

    fn some(from: u64, to: u64) -> Part {
        Part::Bytes { from, to, is_whole: false }
    }

    #[test]
    fn a_single_range_is_cut_to_the_file() {
        assert_eq!(of("bytes=0-0", 10), some(0, 1));
        assert_eq!(of("bytes=2-5", 10), some(2, 6));
        assert_eq!(of("bytes=9-", 10), some(9, 10));
        assert_eq!(of("bytes=0-99999999999999999999999", 10), some(0, 10));
        assert_eq!(of("bytes=5-18446744073709551615", 10), some(5, 10));
        assert_eq!(of("bytes=-3", 10), some(7, 10));
        assert_eq!(of("bytes=-100", 10), some(0, 10));
        assert_eq!(of("Bytes = 1-2", 10), some(1, 3));
    }

    #[test]
    fn a_range_without_bytes_is_unsatisfiable() {
        for (range, size) in [
            ("bytes=10-", 10),
            ("bytes=11-12", 10),
            ("bytes=-0", 10),
            ("bytes=0-", 0),
            ("bytes=-5", 0),
        ] {
            assert_eq!(of(range, size), Part::Unsatisfiable, "{range} of {size}");
        }
    }

    #[test]
    fn other_ranges_have_no_effect() {
        let whole = Part::Bytes { from: 0, to: 10, is_whole: true };
        for range in [
            "bytes=5-2",
            "bytes=0-1,3-4",
            "lines=1-2",
            "bytes",
            "bytes=",
            "bytes=-",
            "bytes=+1-2",
            "bytes=a-b",
            "bytes=1--2",
        ] {
            assert_eq!(of(range, 10), whole, "{range}");
        }
    }

    #[test]
    fn a_range_of_another_version_gets_the_whole_file() {
        let whole = Part::Bytes { from: 0, to: 10, is_whole: true };
        for (known, expected) in [
            ("\"1\"", some(1, 10)),
            ("\"2\"", whole),
            ("W/\"1\"", Part::Bytes { from: 0, to: 10, is_whole: true }),
            ("Thu, 01 Jan 2026 00:00:00 GMT", Part::Bytes { from: 0, to: 10, is_whole: true }),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(RANGE, "bytes=1-".parse().expect("header"));
            headers.insert(IF_RANGE, known.parse().expect("header"));
            assert_eq!(part(&headers, "\"1\"", 10), expected, "{known}");
        }
    }

    #[test]
    fn a_current_copy_is_not_sent_again() {
        for (known, is_current) in [
            ("\"1\"", true),
            ("\"0\", \"1\"", true),
            ("W/\"1\"", true),
            ("*", true),
            ("\"0\"", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(IF_NONE_MATCH, known.parse().expect("header"));
            assert_eq!(part(&headers, "\"1\"", 10) == Part::NotModified, is_current, "{known}");
        }
    }
}
