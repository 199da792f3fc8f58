//! Decides which bytes a request asks for: `Range`, `If-Range` and `If-None-Match` (RFC 9110).
//!
//! A request for several ranges is answered with the whole file, which the RFC permits. No browser needs
//! a multipart response.

use std::ops::Range;
use std::time::SystemTime;

use axum::http::HeaderMap;
use axum::http::header::{IF_NONE_MATCH, IF_RANGE, RANGE};
use httpd::conditions::{Conditions, Outcome, Validators};
use httpd::entity_tag::EntityTag;

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
pub(super) fn part(headers: &HeaderMap, tag: &EntityTag, size: u64) -> Part {
    let whole = Part::Bytes { from: 0, to: size, is_whole: true };
    let field = |name| single_header(headers, &name).map(str::as_bytes);
    let conditions = Conditions {
        if_none_match: field(IF_NONE_MATCH),
        // A field that is repeated names no version.
        if_range: headers.contains_key(IF_RANGE).then(|| field(IF_RANGE).unwrap_or_default()),
        range: field(RANGE),
        ..Conditions::default()
    };
    // Dates are never sent, so no date of a request is ours.
    let current = Validators { tag: Some(tag.clone()), modified: None };
    match conditions.evaluate(&current, size, SystemTime::now()) {
        Outcome::NotModified => Part::NotModified,
        Outcome::Unsatisfiable => Part::Unsatisfiable,
        Outcome::Ranges(ranges) => match ranges[..] {
            [Range { start: from, end: to }] => Part::Bytes { from, to, is_whole: false },
            _ => whole,
        },
        Outcome::Whole | Outcome::Failed => whole,
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;
    use axum::http::header::{IF_NONE_MATCH, IF_RANGE, RANGE};

    use httpd::entity_tag::EntityTag;

    use super::{Part, part};

    fn tag() -> EntityTag {
        EntityTag::strong("1".into())
    }

    fn some(from: u64, to: u64) -> Part {
        Part::Bytes { from, to, is_whole: false }
    }

    #[test]
    fn a_single_range_is_sent_and_several_get_the_whole_file() {
        let whole = Part::Bytes { from: 0, to: 10, is_whole: true };
        for (range, expected) in [
            ("bytes=2-5", some(2, 6)),
            ("bytes=10-", Part::Unsatisfiable),
            ("bytes=0-1,3-4", whole),
            ("bytes=a-b", Part::Bytes { from: 0, to: 10, is_whole: true }),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(RANGE, range.parse().expect("header"));
            assert_eq!(part(&headers, &tag(), 10), expected, "{range}");
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
            assert_eq!(part(&headers, &tag(), 10), expected, "{known}");
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
            assert_eq!(part(&headers, &tag(), 10) == Part::NotModified, is_current, "{known}");
        }
    }
}
