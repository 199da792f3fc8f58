//! The fields of a line of tmpfiles.d: quoting, ages and paths, as in tmpfiles.d(5) and
//! systemd.time(7).

use std::time::Duration;

use crate::formats::limits::MAX_PATTERN_BYTES;
use crate::formats::{Dropped, unix};
use crate::rule::Age;
use crate::rule::pattern::Pattern;
use crate::rule::variable::Variable;

/// The index of the age among the fields. The argument, which follows, is not read.
pub(super) const AGE: usize = 5;

/// Splits a line into its first fields. Quotes may enclose a field or a part of it.
pub(super) fn fields(line: &str) -> Result<Vec<String>, Dropped> {
    let mut fields = Vec::new();
    let mut rest = line.trim_start();
    while !rest.is_empty() && fields.len() <= AGE {
        let mut field = String::new();
        let mut quote = None;
        let mut end = rest.len();
        for (index, char) in rest.char_indices() {
            match (char, quote) {
                ('\\', _) => return Err(Dropped::Unsupported("escapes")),
                (char, Some(open)) if char == open => quote = None,
                ('"' | '\'', None) => quote = Some(char),
                (char, None) if char.is_whitespace() => {
                    end = index;
                    break;
                }
                (char, _) => field.push(char),
            }
        }
        if quote.is_some() {
            return Err(Dropped::Malformed("a quote is not closed".to_string()));
        }
        fields.push(field);
        rest = rest[end..].trim_start();
    }
    Ok(fields)
}

/// The age field of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WrittenAge {
    pub(super) age: Age,
    /// Whether the entries directly in the directory stay, and only their contents are removed.
    pub(super) keeps_first_level: bool,
}

/// Parses `[~][TIMES:]DURATION`.
///
/// The times of modification and status change always count in [`Age`]. A line that ignores one of
/// them takes less here than in systemd.
pub(super) fn age(text: &str) -> Option<WrittenAge> {
    let (keeps_first_level, text) = match text.strip_prefix('~') {
        Some(text) => (true, text),
        None => (false, text),
    };
    let (times, text) = text.split_once(':').unwrap_or(("abcm", text));
    if times.is_empty() || !times.bytes().all(|b| b"abcm".contains(&b.to_ascii_lowercase())) {
        return None;
    }
    let counts_access = times.contains(['a', 'A']);
    let counts_birth = times.contains(['b', 'B']);
    let age = Age { least: duration(text)?, counts_access, counts_birth };
    Some(WrittenAge { age, keeps_first_level })
}

/// Parses a sum of times, such as `1w 2d`, `1h30m` or `90` (seconds).
fn duration(text: &str) -> Option<Duration> {
    let mut sum = Duration::ZERO;
    let mut rest = text.trim_start();
    if rest.is_empty() {
        return None;
    }
    while !rest.is_empty() {
        let digits = rest.find(|char: char| !char.is_ascii_digit()).unwrap_or(rest.len());
        let number: u32 = rest[..digits].parse().ok()?;
        rest = rest[digits..].trim_start();
        let letters = rest.find(|char: char| !char.is_alphabetic()).unwrap_or(rest.len());
        sum = sum.checked_add(unit(&rest[..letters])?.checked_mul(number)?)?;
        rest = rest[letters..].trim_start();
    }
    Some(sum)
}

/// Returns a unit of time of systemd.time(7).
fn unit(name: &str) -> Option<Duration> {
    Some(match name {
        "us" | "usec" | "µs" | "μs" => Duration::from_micros(1),
        "ms" | "msec" => Duration::from_millis(1),
        "" | "s" | "sec" | "second" | "seconds" => Duration::from_secs(1),
        "m" | "min" | "minute" | "minutes" => Duration::from_secs(60),
        "h" | "hr" | "hour" | "hours" => Duration::from_secs(3600),
        "d" | "day" | "days" => Duration::from_secs(86_400),
        "w" | "week" | "weeks" => Duration::from_secs(7 * 86_400),
        "M" | "month" | "months" => Duration::from_secs(2_629_800),
        "y" | "year" | "years" => Duration::from_secs(31_557_600),
        _ => return None,
    })
}

/// Parses the path of a line that removes files.
pub(super) fn taken(text: &str) -> Result<Pattern, Dropped> {
    if text.len() > MAX_PATTERN_BYTES {
        return Err(Dropped::Unsupported("a path longer than 4096 bytes"));
    }
    let (variable, below, rest) = start(text)?;
    if let Some((_, specifier)) = rest.split_once('%') {
        return Err(unknown(specifier));
    }
    let pattern = unix::path(variable, below, rest)?;
    if pattern.components.is_empty() {
        return Err(Dropped::UnsafePath);
    }
    Ok(pattern)
}

/// Parses the path of a line into patterns that the rules of other lines keep. The patterns match
/// at least that path. Returns `None` if the path cannot be expressed.
pub(super) fn kept(text: &str) -> Option<Vec<Pattern>> {
    if text.len() > MAX_PATTERN_BYTES {
        return None;
    }
    let (variable, below, rest) = start(text).ok()?;
    let parts: Option<Vec<String>> = rest.split('/').map(widened).collect();
    let rest = parts?.join("/");
    let mut all = vec![unix::path(variable, below, &rest).ok()?];
    if text.starts_with("%C") {
        // In a file for a user instance of systemd, `%C` is the cache of the user.
        all.push(unix::path(Variable::Cache, &[], &rest).ok()?);
    }
    Some(all).filter(|all| all.iter().all(|pattern| !pattern.components.is_empty()))
}

/// Splits the start of a path from the rest.
fn start(text: &str) -> Result<(Variable, &'static [&'static str], &str), Dropped> {
    if let Some(rest) = text.strip_prefix('/') {
        return Ok((Variable::Root, &[], rest));
    }
    let specifier = text.strip_prefix('%').ok_or(Dropped::UnsafePath)?;
    let (variable, below): (_, &[&str]) = match specifier.chars().next() {
        Some('h') => (Variable::Home, &[]),
        Some('T') => (Variable::Root, &["tmp"]),
        Some('V') => (Variable::Root, &["var", "tmp"]),
        Some('C') => (Variable::Root, &["var", "cache"]),
        _ => return Err(unknown(specifier)),
    };
    match &specifier[1..] {
        rest if rest.is_empty() || rest.starts_with('/') => Ok((variable, below, rest)),
        _ => Err(Dropped::UnsafePath),
    }
}

fn unknown(specifier: &str) -> Dropped {
    Dropped::UnknownVariable(format!("%{}", specifier.chars().take(1).collect::<String>()))
}

/// Specifiers that stand for a name or a number, and never for a path.
const NAMES: &str = "aAbBgGHlmMouUvwW";

/// Replaces everything in a component that a pattern cannot express by `*`, which matches more.
fn widened(part: &str) -> Option<String> {
    let mut wide = String::new();
    let mut rest = part;
    while let Some((before, specifier)) = rest.split_once('%') {
        specifier.chars().next().filter(|char| NAMES.contains(*char))?;
        wide.push_str(before);
        wide.push('*');
        rest = &specifier[1..];
    }
    wide.push_str(rest);
    match (wide.find(['[', '{']), wide.rfind([']', '}'])) {
        (None, None) => Some(wide),
        (Some(first), Some(last)) if first < last => {
            Some(format!("{}*{}", &wide[..first], &wide[last + 1..]))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{age, fields, kept, taken};
    use crate::formats::Dropped;

    #[test]
    fn quotes_enclose_fields() {
        assert_eq!(fields(" d  /a b - - - c d").expect("fields"), ["d", "/a", "b", "-", "-", "-"]);
        assert_eq!(fields("d \"/a b\" '1 \"'2").expect("fields"), ["d", "/a b", "1 \"2"]);
        assert_eq!(fields("w /a - - - - x\\n").expect("fields").len(), 6);
        assert!(fields("d \"/a").is_err());
        assert!(fields("d /a\\x20b").is_err());
    }

    #[test]
    fn ages_are_sums_of_times() {
        for (text, seconds) in [
            ("10d", 864_000),
            ("1w 2d", 777_600),
            ("1h30m", 5400),
            ("90", 90),
            ("0", 0),
            ("1 week", 604_800),
            ("1500ms500000us", 2),
            ("1M", 2_629_800),
            ("m:1s", 1),
        ] {
            assert_eq!(age(text).expect(text).age.least, Duration::from_secs(seconds), "{text}");
        }
        for text in ["", "-", "d", "1x", "1.5h", "99999999999d", ":1d", "z:1d", "1d:", "-1d", "m:"]
        {
            assert_eq!(age(text), None, "{text}");
        }
    }

    #[test]
    fn the_times_that_count_are_selectable() {
        let of = |text: &str| {
            let age = age(text).expect(text);
            (age.age.counts_access, age.age.counts_birth, age.keeps_first_level)
        };
        assert_eq!(of("1d"), (true, true, false));
        assert_eq!(of("~1d"), (true, true, true));
        assert_eq!(of("cm:1d"), (false, false, false));
        assert_eq!(of("~bmA:1d"), (true, true, true));
    }

    #[test]
    fn paths_that_are_taken_must_be_exact() {
        for (text, expected) in [
            ("/tmp", "{root}/tmp"),
            ("/var//tmp/a*/", "{root}/var/tmp/a*"),
            ("%h/.x", "{home}/.x"),
            ("%T", "{root}/tmp"),
            ("%V/a", "{root}/var/tmp/a"),
            ("%C/a", "{root}/var/cache/a"),
        ] {
            assert_eq!(taken(text).expect(text).to_string(), expected);
        }
        for text in ["", "a", "/", "%h", "/a/../b", "%Tx", "/a:b"] {
            assert_eq!(taken(text), Err(Dropped::UnsafePath), "{text}");
        }
        for text in ["%t/a", "/a/%b", "%", "/a%%", "%ü"] {
            assert!(matches!(taken(text), Err(Dropped::UnknownVariable(_))), "{text}");
        }
    }

    #[test]
    fn paths_that_are_kept_are_widened() {
        let of = |text: &str| -> Option<Vec<String>> {
            Some(kept(text)?.iter().map(ToString::to_string).collect())
        };
        for (text, expected) in [
            ("/tmp/a-%b-*", "{root}/tmp/a-*-*"),
            ("/tmp/.X[0-9]*-lock", "{root}/tmp/.X*-lock"),
            ("/tmp/a{b,c}d[!e]f", "{root}/tmp/a*f"),
        ] {
            assert_eq!(of(text), Some(vec![expected.to_string()]), "{text}");
        }
        assert_eq!(of("%C/a").map(|all| all.len()), Some(2));
        for text in ["/a/{b/c,d}", "/a]b", "/a[b", "%t/a", "/a/%t", "/a/%%", "/", "/a/..", "/a%ü"]
        {
            assert_eq!(of(text), None, "{text}");
        }
    }
}
