//! Escapes file names that are printed for people, so that the names cannot disturb a terminal or forge a log line.
//!
//! Names are bytes, which are written unchanged to a pipe or a file. On a terminal, a control character could move the
//! cursor, and a bidirectional override could make one name look like another. Names are therefore escaped on
//! terminals and in all messages. The escapes cannot be reversed, because a backslash in a name is not doubled.

use std::borrow::Cow;
use std::fmt::Write;
use std::io;

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
            Names::Escaped => escape(name),
        }
    }

    /// Returns the bytes to write for a name on a separate line, so that the line can be parsed. A name that contains
    /// a newline or starts with a backslash gets a leading backslash. In such a name, each newline is written as `\\n`
    /// and each backslash as `\\\\`, as in the output of GNU `sha256sum`. All other names are written unchanged.
    pub(crate) fn show_line(self, name: &[u8]) -> Cow<'_, [u8]> {
        if self == Names::Escaped || !(name.contains(&b'\n') || name.starts_with(b"\\")) {
            return self.show(name);
        }
        let mut line = vec![b'\\'];
        for &byte in name {
            match byte {
                b'\n' => line.extend_from_slice(b"\\n"),
                b'\\' => line.extend_from_slice(b"\\\\"),
                other => line.push(other),
            }
        }
        Cow::Owned(line)
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

fn escape(name: &[u8]) -> Cow<'_, [u8]> {
    if let Ok(text) = std::str::from_utf8(name)
        && !text.chars().any(is_disturbing)
    {
        return Cow::Borrowed(name);
    }
    let mut shown = String::with_capacity(name.len() + 16);
    for chunk in name.utf8_chunks() {
        chunk.valid().chars().for_each(|c| push(c, &mut shown));
        for byte in chunk.invalid() {
            let _infallible = write!(shown, "\\x{byte:02x}");
        }
    }
    Cow::Owned(shown.into_bytes())
}

fn push(c: char, shown: &mut String) {
    match c {
        '\n' => shown.push_str("\\n"),
        '\r' => shown.push_str("\\r"),
        '\t' => shown.push_str("\\t"),
        c if c.is_ascii_control() => {
            let _infallible = write!(shown, "\\x{:02x}", u32::from(c));
        }
        c if is_disturbing(c) => {
            let _infallible = write!(shown, "\\u{{{:x}}}", u32::from(c));
        }
        c => shown.push(c),
    }
}

/// Returns whether a character is a control character (C0, DEL, C1), a line separator, or a character that changes the
/// text direction (Unicode Standard Annex 9, section 2).
pub(crate) fn is_disturbing(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{061c}' | '\u{2028}'..='\u{202e}')
        || matches!(c, '\u{2066}'..='\u{2069}')
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
