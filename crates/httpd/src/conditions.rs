//! Conditional requests: which response the conditions of a request allow (RFC 9110, section 13).

use std::ops::Range;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::entity_tag::EntityTag;
use crate::range::{Wanted, wanted};

/// The conditions of a request, as the values of its fields.
#[derive(Clone, Copy, Debug, Default)]
pub struct Conditions<'r> {
    /// `If-Match`.
    pub if_match: Option<&'r [u8]>,
    /// `If-None-Match`.
    pub if_none_match: Option<&'r [u8]>,
    /// `If-Modified-Since`.
    pub if_modified_since: Option<&'r [u8]>,
    /// `If-Unmodified-Since`.
    pub if_unmodified_since: Option<&'r [u8]>,
    /// `If-Range`.
    pub if_range: Option<&'r [u8]>,
    /// `Range`.
    pub range: Option<&'r [u8]>,
}

/// The facts about the current version that conditions are compared with.
#[derive(Clone, Debug)]
pub struct Validators {
    /// Its entity tag.
    pub tag: Option<EntityTag>,
    /// Its modification time in seconds since the epoch, if `Last-Modified` is sent.
    pub modified: Option<i64>,
}

/// The response that the conditions allow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// 200: everything.
    Whole,
    /// 206: these ranges.
    Ranges(Vec<Range<u64>>),
    /// 304: the client has the current version.
    NotModified,
    /// 412: the client wants another version.
    Failed,
    /// 416: no range begins before the end.
    Unsatisfiable,
}

impl Conditions<'_> {
    /// Returns whether there is any condition.
    pub fn are_none(&self) -> bool {
        let fields = [
            self.if_match,
            self.if_none_match,
            self.if_modified_since,
            self.if_unmodified_since,
            self.range,
        ];
        fields.iter().all(Option::is_none)
    }

    /// Evaluates the conditions of a GET or HEAD request against the current version, which has `size`
    /// bytes. `now` is the time of the response.
    pub fn evaluate(&self, current: &Validators, size: u64, now: SystemTime) -> Outcome {
        // The order is that of section 13.2.2.
        let is_wanted = match (self.if_match, self.if_unmodified_since) {
            (Some(list), _) => current.tag.as_ref().is_some_and(|tag| tag.is_strongly_in(list)),
            (None, Some(date)) => !current.is_newer_than(date).unwrap_or(false),
            (None, None) => true,
        };
        if !is_wanted {
            return Outcome::Failed;
        }
        let is_known = match (self.if_none_match, self.if_modified_since) {
            (Some(list), _) => current.tag.as_ref().is_some_and(|tag| tag.is_in(list)),
            (None, Some(date)) => current.is_newer_than(date) == Some(false),
            (None, None) => false,
        };
        if is_known {
            return Outcome::NotModified;
        }
        let Some(range) = self.range else { return Outcome::Whole };
        if self.if_range.is_some_and(|version| !current.is_exactly(version, now)) {
            return Outcome::Whole;
        }
        match wanted(range, size) {
            Wanted::All => Outcome::Whole,
            Wanted::Unsatisfiable => Outcome::Unsatisfiable,
            Wanted::Ranges(ranges) => Outcome::Ranges(ranges),
        }
    }
}

impl Validators {
    /// Returns whether the version was modified after a date, or `None` without a date or a valid one.
    fn is_newer_than(&self, date: &[u8]) -> Option<bool> {
        Some(self.modified? > seconds_of(date)?)
    }

    /// Returns whether `If-Range` names this version. A date is exact enough only if it is older than
    /// the response by a second or more: the file could have changed again within the second.
    fn is_exactly(&self, version: &[u8], now: SystemTime) -> bool {
        if version.contains(&b'"') {
            return self.tag.as_ref().is_some_and(|tag| tag.is_strongly(version));
        }
        let now = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let now = i64::try_from(now).unwrap_or(i64::MAX);
        self.modified.is_some_and(|time| seconds_of(version) == Some(time) && time < now)
    }
}

/// Returns a time as a field value such as `Last-Modified`, or `None` for years that the format does
/// not have: before 1970 and after 9999.
pub fn http_date(seconds: i64) -> Option<String> {
    const YEAR_10000: u64 = 253_402_300_800;
    let seconds = u64::try_from(seconds).ok().filter(|&seconds| seconds < YEAR_10000)?;
    Some(httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds)))
}

fn seconds_of(date: &[u8]) -> Option<i64> {
    let time = httpdate::parse_http_date(std::str::from_utf8(date).ok()?).ok()?;
    i64::try_from(time.duration_since(UNIX_EPOCH).ok()?.as_secs()).ok()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::{Conditions, Outcome, Validators, http_date};
    use crate::entity_tag::EntityTag;

    const DATE: &str = "Sat, 03 Jan 1970 00:00:00 GMT";
    const OLDER: &str = "Fri, 02 Jan 1970 00:00:00 GMT";
    const NEWER: &str = "Sun, 04 Jan 1970 00:00:00 GMT";

    fn evaluate(is_weak: bool, fields: &[(&str, &str)]) -> Outcome {
        let mut conditions = Conditions::default();
        for &(name, value) in fields {
            let value = Some(value.as_bytes());
            match name {
                "if-match" => conditions.if_match = value,
                "if-none-match" => conditions.if_none_match = value,
                "if-modified-since" => conditions.if_modified_since = value,
                "if-unmodified-since" => conditions.if_unmodified_since = value,
                "if-range" => conditions.if_range = value,
                "range" => conditions.range = value,
                _ => panic!("{name}"),
            }
        }
        let tag = Some(EntityTag { is_weak, opaque: "1".into() });
        let current = Validators { tag, modified: Some(2 * 86_400) };
        conditions.evaluate(&current, 10, UNIX_EPOCH + Duration::from_secs(10 * 86_400))
    }

    #[test]
    fn a_current_copy_is_not_sent_again() {
        for (fields, expected) in [
            (&[("if-none-match", "\"1\"")][..], Outcome::NotModified),
            (&[("if-none-match", "W/\"1\"")], Outcome::NotModified),
            (&[("if-none-match", "\"0\"")], Outcome::Whole),
            (&[("if-modified-since", DATE)], Outcome::NotModified),
            (&[("if-modified-since", NEWER)], Outcome::NotModified),
            (&[("if-modified-since", OLDER)], Outcome::Whole),
            (&[("if-modified-since", "yesterday")], Outcome::Whole),
            // The tag decides if there is one.
            (&[("if-none-match", "\"0\""), ("if-modified-since", DATE)], Outcome::Whole),
            (&[("if-none-match", "\"1\""), ("range", "bytes=0-1")], Outcome::NotModified),
        ] {
            assert_eq!(evaluate(false, fields), expected, "{fields:?}");
        }
    }

    #[test]
    fn another_version_fails() {
        for (fields, expected) in [
            (&[("if-match", "\"1\"")][..], Outcome::Whole),
            (&[("if-match", "*")], Outcome::Whole),
            (&[("if-match", "W/\"1\"")], Outcome::Failed),
            (&[("if-match", "\"0\"")], Outcome::Failed),
            (&[("if-unmodified-since", DATE)], Outcome::Whole),
            (&[("if-unmodified-since", OLDER)], Outcome::Failed),
            (&[("if-unmodified-since", "yesterday")], Outcome::Whole),
            (&[("if-match", "\"1\""), ("if-unmodified-since", OLDER)], Outcome::Whole),
        ] {
            assert_eq!(evaluate(false, fields), expected, "{fields:?}");
        }
    }

    #[test]
    #[expect(clippy::single_range_in_vec_init, reason = "it is a list of ranges")]
    fn a_range_of_another_version_gets_everything() {
        let range = ("range", "bytes=1-");
        let part = Outcome::Ranges(vec![1..10]);
        for (version, strong, weak) in [
            ("\"1\"", part.clone(), Outcome::Whole),
            ("\"2\"", Outcome::Whole, Outcome::Whole),
            ("W/\"1\"", Outcome::Whole, Outcome::Whole),
            (DATE, part.clone(), part.clone()),
            (NEWER, Outcome::Whole, Outcome::Whole),
        ] {
            let fields = [range, ("if-range", version)];
            assert_eq!(evaluate(false, &fields), strong, "{version}");
            assert_eq!(evaluate(true, &fields), weak, "{version}");
        }
        assert_eq!(evaluate(true, &[range]), part);
        assert_eq!(evaluate(true, &[("range", "bytes=10-")]), Outcome::Unsatisfiable);
        assert_eq!(evaluate(true, &[("if-range", "\"0\"")]), Outcome::Whole);
    }

    #[test]
    fn dates_are_within_the_years_of_the_format() {
        assert_eq!(http_date(2 * 86_400).as_deref(), Some(DATE));
        assert!(http_date(-1).is_none() && http_date(i64::MAX).is_none());
        assert!(http_date(253_402_300_799).is_some() && http_date(253_402_300_800).is_none());
    }
}
