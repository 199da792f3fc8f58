//! Entity tags (RFC 9110, section 8.8.3).

use std::fmt;

/// An entity tag: a text that changes when the response changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EntityTag {
    /// True if equal tags may have different bytes.
    pub is_weak: bool,
    /// The text between the quotes: visible ASCII without quotes.
    pub opaque: String,
}

impl EntityTag {
    /// Returns a tag that promises the same bytes.
    pub fn strong(opaque: String) -> EntityTag {
        EntityTag { is_weak: false, opaque }
    }

    /// Returns a tag that does not promise the same bytes.
    pub fn weak(opaque: String) -> EntityTag {
        EntityTag { is_weak: true, opaque }
    }

    /// Returns whether `value`, a single tag in a field, is this tag and both are strong.
    pub fn is_strongly(&self, value: &[u8]) -> bool {
        !self.is_weak && parse(value).is_some_and(|tag| !tag.is_weak && tag.is(self))
    }

    /// Returns whether this tag is in the list of `If-None-Match`, whose comparison is weak.
    pub fn is_in(&self, list: &[u8]) -> bool {
        list.trim_ascii() == b"*" || tags(list).any(|tag| tag.is(self))
    }

    /// Returns whether this tag is in the list of `If-Match`, whose comparison is strong.
    pub fn is_strongly_in(&self, list: &[u8]) -> bool {
        let is_same = |tag: Tag<'_>| !tag.is_weak && !self.is_weak && tag.is(self);
        list.trim_ascii() == b"*" || tags(list).any(is_same)
    }
}

impl fmt::Display for EntityTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let weak = if self.is_weak { "W/" } else { "" };
        write!(f, "{weak}\"{}\"", self.opaque)
    }
}

/// A tag in a field of a request.
#[derive(Clone, Copy)]
struct Tag<'v> {
    is_weak: bool,
    opaque: &'v [u8],
}

impl Tag<'_> {
    fn is(self, other: &EntityTag) -> bool {
        self.opaque == other.opaque.as_bytes()
    }
}

/// Returns a field with a single tag.
fn parse(value: &[u8]) -> Option<Tag<'_>> {
    let (tag, rest) = first(value.trim_ascii())?;
    rest.is_empty().then_some(tag)
}

/// Returns the tags of a list up to the first malformed one. Commas can be part of tags.
fn tags(list: &[u8]) -> impl Iterator<Item = Tag<'_>> {
    let mut rest = list;
    std::iter::from_fn(move || {
        while let [b' ' | b'\t' | b',', after @ ..] = rest {
            rest = after;
        }
        let (tag, after) = first(rest)?;
        rest = after;
        Some(tag)
    })
}

/// Splits off the first tag.
fn first(value: &[u8]) -> Option<(Tag<'_>, &[u8])> {
    let (is_weak, quoted) = match value.strip_prefix(b"W/") {
        Some(rest) => (true, rest),
        None => (false, value),
    };
    let text = quoted.strip_prefix(b"\"")?;
    let end = text.iter().position(|&byte| byte == b'"')?;
    Some((Tag { is_weak, opaque: &text[..end] }, &text[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::EntityTag;

    #[test]
    fn lists_are_searched_weakly_and_strongly() {
        let strong = EntityTag::strong("1".into());
        let weak = EntityTag::weak("1".into());
        for (list, weakly, strongly) in [
            (r#""1""#, true, true),
            (r#""0", "1""#, true, true),
            (r#""0,1","1""#, true, true),
            (r#"W/"1""#, true, false),
            ("*", true, true),
            (r#""0""#, false, false),
            ("1", false, false),
            (r#""1"#, false, false),
            ("", false, false),
        ] {
            assert_eq!(strong.is_in(list.as_bytes()), weakly, "{list}");
            assert_eq!(strong.is_strongly_in(list.as_bytes()), strongly, "{list}");
            assert_eq!(weak.is_in(list.as_bytes()), weakly, "{list}");
            assert_eq!(weak.is_strongly_in(list.as_bytes()), list == "*", "{list}");
        }
    }

    #[test]
    fn only_two_strong_tags_are_strongly_the_same() {
        let strong = EntityTag::strong("1".into());
        assert!(strong.is_strongly(br#" "1" "#));
        assert!(!strong.is_strongly(br#"W/"1""#) && !strong.is_strongly(br#""1", "2""#));
        assert!(!EntityTag::weak("1".into()).is_strongly(br#"W/"1""#));
        assert_eq!(EntityTag::weak("1".into()).to_string(), r#"W/"1""#);
    }
}
