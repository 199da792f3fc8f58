//! Escapes file names that are printed for people, so that the names cannot disturb a terminal or forge a log line.
//!
//! Names are bytes, which are written unchanged to a pipe or a file. On a terminal, a control character could move the
//! cursor, and a bidirectional override could make one name look like another. Names are therefore escaped on
//! terminals and in all messages, as [`runtime::shown`] describes.

use std::borrow::Cow;
use std::io;

use runtime::shown::{Shown, is_confusing, is_plain_name, marked_line, shown_name, shown_text};

/// The representation of file names on a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Names {
    /// Names are written unchanged.
    Raw,
    /// Names are escaped and take up one line.
    Escaped,
}

impl Names {
    /// Returns the bytes to write for a name.
    pub(crate) fn show(self, name: &[u8]) -> Cow<'_, [u8]> {
        match self {
            Names::Raw => Cow::Borrowed(name),
            Names::Escaped if is_plain_name(name) => Cow::Borrowed(name),
            Names::Escaped => Cow::Owned(joined(shown_name(name))),
        }
    }

    /// Returns the bytes to write for a text that may contain names, such as a message. It takes up one line if names
    /// are escaped. In contrast to [`Names::show`], spaces before and after names stay, because they belong to the
    /// text.
    pub(crate) fn show_text(self, text: &[u8]) -> Cow<'_, [u8]> {
        match self {
            Names::Raw => Cow::Borrowed(text),
            Names::Escaped => escape_text(text),
        }
    }

    /// Returns the bytes to write for a name on a separate line, so that the line can be parsed ([`marked_line`]).
    pub(crate) fn show_line(self, name: &[u8]) -> Cow<'_, [u8]> {
        match self {
            Names::Raw => marked_line(name),
            Names::Escaped => self.show(name),
        }
    }

    /// Writes a name as a line. A non-empty note follows in parentheses.
    pub(crate) fn write_line(
        self,
        out: &mut impl io::Write,
        name: &[u8],
        note: &str,
    ) -> io::Result<()> {
        out.write_all(&self.show_line(name))?;
        if note.is_empty() { writeln!(out) } else { writeln!(out, "  ({note})") }
    }
}

/// Returns a text, such as a message, on one line.
fn escape_text(text: &[u8]) -> Cow<'_, [u8]> {
    match std::str::from_utf8(text) {
        Ok(plain) if !plain.contains(is_confusing) => Cow::Borrowed(text),
        _ => Cow::Owned(joined(shown_text(text))),
    }
}

fn joined(shown: impl IntoIterator<Item = Shown>) -> Vec<u8> {
    shown.into_iter().map(|shown| shown.to_string()).collect::<String>().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::Names;

    fn escaped(name: &[u8]) -> String {
        String::from_utf8(Names::Escaped.show(name).into_owned()).expect("escaped is UTF-8")
    }

    #[test]
    fn ordinary_names_are_unchanged() {
        assert_eq!(escaped("Grüße/日本 \\ 'x'".as_bytes()), "Grüße/日本 \\ 'x'");
    }

    #[test]
    fn characters_that_disturb_a_terminal_are_escaped() {
        assert_eq!(escaped(b"a\nb\tc\rd"), "a\\nb\\tc\\rd");
        assert_eq!(escaped(b"\x1b[31m\x7f\0"), "\\x1b[31m\\x7f\\x00");
        assert_eq!(escaped(b"ok\xff\xc3"), "ok\\xff\\xc3");
        assert_eq!(escaped("\u{9b}1m \u{202e}cod.exe".as_bytes()), "\\u{9b}1m \\u{202e}cod.exe");
    }

    #[test]
    fn only_spaces_at_the_ends_of_names_are_escaped() {
        assert_eq!(escaped(b"./a b/ lead"), "./a b/\\x20lead");
        assert_eq!(&*Names::Escaped.show_text(b" ./a/ and\n"), b" ./a/ and\\n");
    }

    #[test]
    fn a_name_with_a_newline_stays_on_one_line() {
        assert_eq!(&*Names::Raw.show_line(b"a\n\\b"), b"\\a\\n\\\\b");
        assert_eq!(&*Names::Raw.show_line(b"\\a"), b"\\\\\\a");
        assert_eq!(&*Names::Raw.show_line(b"a\\b\xff"), b"a\\b\xff");
    }

    #[test]
    fn raw_names_are_unchanged() {
        assert_eq!(&*Names::Raw.show(b"\x1b\xff\n"), b"\x1b\xff\n");
    }
}
