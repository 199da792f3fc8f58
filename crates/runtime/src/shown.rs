//! The escapes with which file names and messages are shown to people, on terminals and on pages.
//!
//! A name is bytes and can contain anything. A control character could move the cursor of a terminal, an
//! invisible character or a space at the end could make two names look alike, and a character that changes
//! the direction of text could disguise the end of a name. All of them are shown as escapes, the same ones
//! everywhere. The escapes cannot be reversed, because a backslash in a name is not doubled.

use std::borrow::Cow;
use std::fmt;

/// A character or a byte as it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// A character that is shown as it is.
    Letter(char),
    /// A character that is shown as an escape.
    Escaped(char),
    /// A byte that is not part of a UTF-8 character.
    Byte(u8),
}

impl Shown {
    /// Returns whether this is shown as an escape.
    pub fn is_escape(self) -> bool {
        !matches!(self, Shown::Letter(_))
    }
}

impl fmt::Display for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Shown::Letter(letter) => write!(f, "{letter}"),
            Shown::Escaped('\n') => f.write_str("\\n"),
            Shown::Escaped('\r') => f.write_str("\\r"),
            Shown::Escaped('\t') => f.write_str("\\t"),
            Shown::Escaped(letter) if letter.is_ascii() => {
                write!(f, "\\x{:02x}", u32::from(letter))
            }
            Shown::Escaped(letter) => write!(f, "\\u{{{:x}}}", u32::from(letter)),
            Shown::Byte(byte) => write!(f, "\\x{byte:02x}"),
        }
    }
}

/// Appends HTML that shows these characters. Each sequence of escapes is in an element `<span class="esc">`.
pub fn write_html(out: &mut String, shown: impl IntoIterator<Item = Shown>) {
    let mut is_escape = false;
    let mut span = |out: &mut String, wanted: bool| {
        if wanted != is_escape {
            out.push_str(if wanted { "<span class=\"esc\">" } else { "</span>" });
            is_escape = wanted;
        }
    };
    for shown in shown {
        span(out, shown.is_escape());
        match shown {
            Shown::Letter('<') => out.push_str("&lt;"),
            Shown::Letter('>') => out.push_str("&gt;"),
            Shown::Letter('&') => out.push_str("&amp;"),
            Shown::Letter('"') => out.push_str("&quot;"),
            Shown::Letter('\'') => out.push_str("&#39;"),
            Shown::Letter(letter) => out.push(letter),
            escape => out.push_str(&escape.to_string()),
        }
    }
    span(out, false);
}

/// Returns the characters of a text, such as a message.
pub fn shown_text(text: &[u8]) -> impl Iterator<Item = Shown> {
    text.utf8_chunks().flat_map(|chunk| {
        let letters = chunk.valid().chars().map(|letter| {
            if is_confusing(letter) { Shown::Escaped(letter) } else { Shown::Letter(letter) }
        });
        letters.chain(chunk.invalid().iter().map(|&byte| Shown::Byte(byte)))
    })
}

/// Returns the characters of a name or a path. Spaces at the beginning and at the end of each name are escaped,
/// because nobody would see them.
pub fn shown_name(name: &[u8]) -> Vec<Shown> {
    let mut all: Vec<Shown> = shown_text(name).collect();
    for part in all.split_mut(|shown| *shown == Shown::Letter('/')) {
        mark_spaces(part.iter_mut());
        mark_spaces(part.iter_mut().rev());
    }
    all
}

/// Escapes the spaces with which a name begins.
fn mark_spaces<'s>(name: impl Iterator<Item = &'s mut Shown>) {
    for shown in name {
        match *shown {
            Shown::Letter(letter) if letter.is_whitespace() => *shown = Shown::Escaped(letter),
            _ => break,
        }
    }
}

/// Returns whether a name or a path is shown without any escape.
pub fn is_plain_name(name: &[u8]) -> bool {
    let is_plain = |name: &str| name.trim() == name && !name.contains(is_confusing);
    std::str::from_utf8(name).is_ok_and(|name| name.split('/').all(is_plain))
}

/// Returns a line in a form that a program can parse. A line that contains a newline or begins with a
/// backslash gets a leading backslash. In such a line, each newline is written as `\n` and each
/// backslash as `\\`, as in the output of GNU `sha256sum`. All other lines are unchanged.
pub fn marked_line(line: &[u8]) -> Cow<'_, [u8]> {
    if !line.contains(&b'\n') && !line.starts_with(b"\\") {
        return Cow::Borrowed(line);
    }
    let mut marked = vec![b'\\'];
    for &byte in line {
        match byte {
            b'\n' => marked.extend_from_slice(b"\\n"),
            b'\\' => marked.extend_from_slice(b"\\\\"),
            other => marked.push(other),
        }
    }
    Cow::Owned(marked)
}

/// Returns whether a character is a control character, is invisible, separates lines, or changes the direction of
/// text (Unicode Standard Annex 9, section 2).
///
/// The invisible characters are those with the property `Default_Ignorable_Code_Point`
/// (<https://www.unicode.org/Public/UCD/latest/ucd/DerivedCoreProperties.txt>), except for U+FE0F, which is a part of
/// many emoji.
pub fn is_confusing(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        )
        || matches!(letter, '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(letter, '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0e}' | '\u{feff}' | '\u{ffa0}')
        || matches!(letter, '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}')
        || matches!(letter, '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::{Shown, is_plain_name, shown_name, shown_text};

    fn name(bytes: &[u8]) -> String {
        assert_eq!(is_plain_name(bytes), !shown_name(bytes).iter().any(|shown| shown.is_escape()));
        shown_name(bytes).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn ordinary_names_are_unchanged() {
        assert_eq!(name("/Größe/日本  x/ \\x20'".as_bytes()), "/Größe/日本  x/\\x20\\x20'");
        assert_eq!(name("/Größe/日本  x/\\x20'".as_bytes()), "/Größe/日本  x/\\x20'");
    }

    #[test]
    fn confusing_characters_and_other_bytes_are_escaped() {
        assert_eq!(name(b"a\nb\tc\rd\x1b\x7f\0"), "a\\nb\\tc\\rd\\x1b\\x7f\\x00");
        assert_eq!(
            name("\u{9b}1m\u{202e}gpj.exe\u{200b}".as_bytes()),
            "\\u{9b}1m\\u{202e}gpj.exe\\u{200b}"
        );
        assert_eq!(name(b"ok\xff\xc3"), "ok\\xff\\xc3");
        assert_eq!(name("a\u{ad}b\u{3164}\u{e0041}".as_bytes()), "a\\u{ad}b\\u{3164}\\u{e0041}");
        assert_eq!(name("\u{2764}\u{fe0f}".as_bytes()), "\u{2764}\u{fe0f}");
    }

    #[test]
    fn spaces_at_the_ends_of_names_are_escaped() {
        assert_eq!(
            name(b"/   /a b/ lead/trail  "),
            "/\\x20\\x20\\x20/a b/\\x20lead/trail\\x20\\x20"
        );
        assert_eq!(name("x\u{a0}".as_bytes()), "x\\u{a0}");
        let message: Vec<Shown> = shown_text(b" in /a/ and /b ").collect();
        assert!(!message.iter().any(|shown| shown.is_escape()));
    }
}
