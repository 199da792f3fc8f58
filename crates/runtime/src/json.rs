//! JSON that does not disturb a terminal.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

use crate::shown::is_confusing;

/// Writes a value as JSON on one line.
///
/// JSON requires escapes only for the first 32 characters. This function also escapes the other control
/// characters and those that change the text direction. Every parser accepts these escapes.
///
/// # Errors
///
/// Fails if `out` fails, or if a map has a key that is not a string.
pub fn write(out: impl Write, value: &impl Serialize) -> io::Result<()> {
    Ok(value.serialize(&mut Serializer::with_formatter(out, Plain))?)
}

/// A formatter that escapes every character that could disturb a terminal.
struct Plain;

impl Formatter for Plain {
    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| is_confusing(*c)) {
            out.write_all(&rest.as_bytes()[..at])?;
            // All of these characters are in the Basic Multilingual Plane, so one escape sequence is enough.
            write!(out, "\\u{:04x}", u32::from(c))?;
            rest = &rest[at + c.len_utf8()..];
        }
        out.write_all(rest.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::write;

    #[test]
    fn characters_that_disturb_a_terminal_are_escaped() {
        let mut out = Vec::new();
        write(&mut out, &"a\u{202e}b\u{9b}\n\u{fc}").expect("written");
        assert_eq!(String::from_utf8_lossy(&out), "\"a\\u202eb\\u009b\\n\u{fc}\"");
    }
}
