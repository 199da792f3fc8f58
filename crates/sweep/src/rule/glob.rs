//! Glob patterns for one path component.
//!
//! `*` matches any number of bytes and `?` matches one character. All other bytes match themselves;
//! there are no character classes and no escapes. For every pattern, the time of a match is at most
//! proportional to the product of both lengths.

use std::fmt;

use smallvec::SmallVec;

/// The bytes of a pattern. Most names are short enough to need no allocation of their own.
pub(crate) type Text = SmallVec<[u8; 16]>;

/// A glob pattern for one path component.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Glob {
    text: Text,
    shape: Shape,
}

/// Patterns that are matched faster than others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Shape {
    /// No wildcard.
    Literal,
    /// A single `*` at the start.
    Suffix,
    /// A single `*` at the end.
    Prefix,
    Other,
}

impl Glob {
    /// Parses a pattern. Runs of `*` count as one.
    pub fn new(text: &[u8]) -> Glob {
        let mut kept = Text::from_slice(text);
        let wild = text.iter().filter(|&&byte| is_wild(byte)).count();
        if wild == 0 {
            return Glob { text: kept, shape: Shape::Literal };
        }
        if wild > 1 {
            kept.dedup_by(|next, byte| (*next, *byte) == (b'*', b'*'));
        }
        let shape = match kept[..] {
            [b'*', ref rest @ ..] if !rest.iter().any(|&byte| is_wild(byte)) => Shape::Suffix,
            [ref rest @ .., b'*'] if !rest.iter().any(|&byte| is_wild(byte)) => Shape::Prefix,
            _ => Shape::Other,
        };
        Glob { text: kept, shape }
    }

    /// Returns the pattern as text.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Returns whether the pattern matches only its own text.
    pub fn is_literal(&self) -> bool {
        self.shape == Shape::Literal
    }

    /// Returns whether the pattern matches every name.
    pub fn is_any(&self) -> bool {
        self.text[..] == *b"*"
    }

    /// Returns the number of bytes that match only themselves.
    pub fn literal_len(&self) -> usize {
        self.text.iter().filter(|&&byte| !is_wild(byte)).count()
    }

    /// Returns the pattern with its literal bytes folded, to be matched against folded names.
    #[must_use]
    pub fn folded(&self) -> Glob {
        Glob::new(&crate::matcher::fold::fold(&self.text).unwrap_or_default())
    }

    /// Returns whether a name matches.
    pub fn matches(&self, name: &[u8]) -> bool {
        match self.shape {
            Shape::Literal => *name == self.text[..],
            Shape::Suffix => name.ends_with(&self.text[1..]),
            Shape::Prefix => name.starts_with(&self.text[..self.text.len() - 1]),
            Shape::Other => self.matches_slowly(name),
        }
    }

    fn matches_slowly(&self, name: &[u8]) -> bool {
        let pattern = &self.text;
        let (mut p, mut n) = (0, 0);
        // The positions to continue from if the bytes after the last `*` do not match.
        let mut retry = None;
        while n < name.len() {
            match pattern.get(p) {
                Some(b'*') => {
                    p += 1;
                    retry = Some((p, n));
                }
                Some(b'?') => {
                    p += 1;
                    n += char_len(&name[n..]);
                }
                Some(&byte) if byte == name[n] => {
                    p += 1;
                    n += 1;
                }
                _ => {
                    let Some((after, from)) = retry else { return false };
                    retry = Some((after, from + 1));
                    (p, n) = (after, from + 1);
                }
            }
        }
        pattern[p..].iter().all(|&byte| byte == b'*')
    }

    /// Returns false only if no name matches both patterns. The answer may be true although no such
    /// name exists: a `?` counts as any number of bytes, because the length of a character varies.
    pub fn may_overlap(&self, other: &Glob) -> bool {
        let (a, b) = (&self.text[..], &other.text[..]);
        if differ_before_wildcard(a.iter(), b.iter())
            || differ_before_wildcard(a.iter().rev(), b.iter().rev())
        {
            return false;
        }
        // `below[j]` tells whether `a[i + 1..]` and `b[j..]` may have a name in common.
        let mut below = vec![false; b.len() + 1];
        for i in (0..=a.len()).rev() {
            let mut here = vec![false; b.len() + 1];
            for j in (0..=b.len()).rev() {
                let skip_a = |here: &[bool]| below[j] || j < b.len() && here[j + 1];
                let skip_b = |here: &[bool]| here[j + 1] || i < a.len() && below[j];
                here[j] = match (a.get(i), b.get(j)) {
                    (None, None) => true,
                    (Some(&x), _) if is_wild(x) => skip_a(&here),
                    (_, Some(&y)) if is_wild(y) => skip_b(&here),
                    (Some(x), Some(y)) => x == y && below[j + 1],
                    _ => false,
                };
            }
            below = here;
        }
        below[0]
    }

    /// Returns a text that represents all names that match: a pattern that matches this text
    /// matches all of them. The text contains a byte that occurs in no name instead of each
    /// wildcard.
    pub(crate) fn sample(&self) -> Text {
        self.text.iter().map(|&byte| if is_wild(byte) { 0 } else { byte }).collect()
    }
}

fn is_wild(byte: u8) -> bool {
    matches!(byte, b'*' | b'?')
}

/// Returns whether two patterns have different bytes before the first wildcard of either.
fn differ_before_wildcard<'g>(
    a: impl Iterator<Item = &'g u8>,
    b: impl Iterator<Item = &'g u8>,
) -> bool {
    let first = a.zip(b).find(|(x, y)| x != y || is_wild(**x));
    first.is_some_and(|(&x, &y)| x != y && !is_wild(x) && !is_wild(y))
}

/// Returns the length of the first character in bytes. A byte that is not part of valid UTF-8
/// counts as one character.
fn char_len(bytes: &[u8]) -> usize {
    let width = match bytes[0] {
        0xC2..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xF4 => 4,
        _ => return 1,
    };
    let whole = bytes.get(..width).is_some_and(|char| std::str::from_utf8(char).is_ok());
    if whole { width } else { 1 }
}

impl fmt::Debug for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Glob({:?})", self.to_string())
    }
}

impl fmt::Display for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.text))
    }
}
