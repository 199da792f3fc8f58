//! The keys of a terminal, and the bytes that a terminal sends for them.
//!
//! [`Decoder`] turns bytes into keys. A network may divide the bytes of one key and deliver the rest much later, so the
//! decoder keeps incomplete sequences. It MUST NOT take a part of a sequence for characters, because these may be
//! commands. The Esc key sends the byte with which the sequences start, so the caller MUST call [`Decoder::flush`] if
//! no more bytes arrive within a moment.

/// A key, or a key pressed together with Ctrl.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    /// A character.
    Char(char),
    /// A letter with Ctrl, in lower case.
    Ctrl(char),
    /// Cursor up.
    Up,
    /// Cursor down.
    Down,
    /// Cursor left.
    Left,
    /// Cursor right.
    Right,
    /// Home.
    Home,
    /// End.
    End,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// Return.
    Enter,
    /// Escape.
    Esc,
    /// Tab.
    Tab,
    /// Shift and Tab.
    BackTab,
    /// Backspace.
    Backspace,
    /// A character of pasted text. Only a question for a text accepts it.
    Pasted(char),
}

const ESC: u8 = 0x1b;
/// Maximum number of bytes after `ESC [` without a final byte. Terminals send no longer sequences for keys, so the
/// decoder skips them.
const MAX_SEQUENCE: usize = 32;

/// The beginning of the pending bytes.
enum Begin {
    /// The number of bytes of a key or of another sequence, and the key. `None` means that the bytes have no meaning
    /// here.
    Key(usize, Option<Key>),
    /// The number of bytes of a mark around pasted text. True if the text begins, false if it ends.
    Paste(usize, bool),
    /// The bytes are only a part of a sequence or a character.
    Incomplete,
}

/// Turns bytes into keys.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    pending: Vec<u8>,
    is_pasting: bool,
    /// Whether [`Decoder::flush`] returned the last key. This Esc may have been the beginning of a sequence.
    is_esc_flushed: bool,
}

impl Decoder {
    /// Takes bytes that have arrived, and returns the keys that are complete.
    pub(crate) fn push(&mut self, bytes: &[u8]) -> Vec<Key> {
        if std::mem::take(&mut self.is_esc_flushed) && matches!(bytes, [b'[' | b'O', ..]) {
            self.pending.push(ESC);
        }
        self.pending.extend_from_slice(bytes);
        let (mut keys, mut at) = (Vec::new(), 0);
        while at < self.pending.len() {
            match begin(&self.pending[at..]) {
                Begin::Key(length, key) => {
                    keys.extend(key.and_then(|key| self.unless_pasted(key)));
                    at += length;
                }
                Begin::Paste(length, is_begin) => {
                    self.is_pasting = is_begin;
                    at += length;
                }
                Begin::Incomplete => break,
            }
        }
        self.pending.drain(..at);
        keys
    }

    /// Returns whether the last byte may be the Esc key.
    pub(crate) fn is_waiting(&self) -> bool {
        self.pending == [ESC] && !self.is_pasting
    }

    /// Returns the Esc key if it may be the last byte. The caller knows that the terminal has sent no byte since then.
    pub(crate) fn flush(&mut self) -> Option<Key> {
        if !self.is_waiting() {
            return None;
        }
        self.pending.clear();
        self.is_esc_flushed = true;
        Some(Key::Esc)
    }

    /// Returns the meaning of a key. In pasted text, only characters have a meaning.
    fn unless_pasted(&mut self, key: Key) -> Option<Key> {
        match key {
            key if !self.is_pasting => return Some(key),
            Key::Char(letter) => return Some(Key::Pasted(letter)),
            // The connection may lose the mark at the end of the text, so Ctrl-C ends the text, too.
            Key::Ctrl('c') => self.is_pasting = false,
            _ => {}
        }
        None
    }
}

fn begin(bytes: &[u8]) -> Begin {
    match *bytes {
        [ESC] | [ESC, b'O'] | [ESC, b'[', b'['] => Begin::Incomplete,
        // The function keys of the Linux console.
        [ESC, b'[', b'[', _, ..] => Begin::Key(4, None),
        [ESC, b'[', b'2', b'0', digit @ (b'0' | b'1'), b'~', ..] => Begin::Paste(6, digit == b'0'),
        [ESC, b'[', b'M', ref rest @ ..] => mouse_report(rest),
        [ESC, b'[', ref rest @ ..] => control_sequence(rest),
        [ESC, b'O', b'M', ..] => Begin::Key(3, Some(Key::Enter)),
        [ESC, b'O', last @ b' '..=0xff, ..] => Begin::Key(3, of_final(last, b"")),
        [ESC, b'O', ..] => Begin::Key(2, None),
        [ESC, ..] => Begin::Key(1, Some(Key::Esc)),
        [b'\r' | b'\n', ..] => Begin::Key(1, Some(Key::Enter)),
        [b'\t', ..] => Begin::Key(1, Some(Key::Tab)),
        [0x7f | 0x08, ..] => Begin::Key(1, Some(Key::Backspace)),
        [byte @ 1..=0x1a, ..] => Begin::Key(1, Some(Key::Ctrl(char::from(byte - 1 + b'a')))),
        [byte, ..] if byte < b' ' => Begin::Key(1, None),
        _ => character(bytes),
    }
}

/// Decodes the bytes after `ESC [ M`, which begins a mouse report of the oldest kind (X10): three bytes for the button
/// and the position, which are no keys. A control character other than NUL begins the next key, so the rest of the
/// report is lost.
fn mouse_report(rest: &[u8]) -> Begin {
    let is_control = |byte: &u8| (1..b' ').contains(byte);
    match rest.iter().take(3).position(is_control) {
        Some(end) => Begin::Key(end + 3, None),
        None if rest.len() < 3 => Begin::Incomplete,
        None => Begin::Key(6, None),
    }
}

/// Decodes the bytes after `ESC [`: parameters, and a final byte (ECMA-48, section 5.4). Any other byte begins the next
/// key, so the rest of the sequence is lost.
fn control_sequence(rest: &[u8]) -> Begin {
    match rest.iter().position(|byte| !(0x20..=0x3f).contains(byte)) {
        Some(end) if (0x40..=0x7e).contains(&rest[end]) => {
            Begin::Key(end + 3, of_final(rest[end], &rest[..end]))
        }
        Some(end) => Begin::Key(end + 2, None),
        None if rest.len() > MAX_SEQUENCE => Begin::Key(rest.len() + 2, None),
        None => Begin::Incomplete,
    }
}

fn of_final(last: u8, parameters: &[u8]) -> Option<Key> {
    Some(match (last, parameters) {
        (b'A', _) => Key::Up,
        (b'B', _) => Key::Down,
        (b'C', _) => Key::Right,
        (b'D', _) => Key::Left,
        (b'H', _) | (b'~', b"1" | b"7") => Key::Home,
        (b'F', _) | (b'~', b"4" | b"8") => Key::End,
        (b'~', b"5") => Key::PageUp,
        (b'~', b"6") => Key::PageDown,
        (b'Z', _) => Key::BackTab,
        _ => return None,
    })
}

fn character(bytes: &[u8]) -> Begin {
    let length = match bytes[0] {
        0xc2..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0..=0xf4 => 4,
        _ => 1,
    };
    match std::str::from_utf8(&bytes[..length.min(bytes.len())]) {
        Ok(text) => Begin::Key(length, text.chars().next().map(Key::Char)),
        Err(error) if error.error_len().is_none() => Begin::Incomplete,
        Err(_) => Begin::Key(1, None),
    }
}

#[cfg(test)]
mod tests {
    use super::{Decoder, Key};

    #[test]
    fn keys_are_recognized_however_their_bytes_are_divided() {
        let bytes = "q\x1b[A\x1bOB\x1b[5~\x1b[1;5C\u{e9}\u{65e5}\r\x7f\x1a\t\x1b[Z\x1b[[A\x1b[M Dq\x1b[M\0\0\0\x1bOM\
                     \x1b[200~y\rq\x1b[201~y"
            .as_bytes();
        let expected = [
            Key::Char('q'),
            Key::Up,
            Key::Down,
            Key::PageUp,
            Key::Right,
            Key::Char('\u{e9}'),
            Key::Char('\u{65e5}'),
            Key::Enter,
            Key::Backspace,
            Key::Ctrl('z'),
            Key::Tab,
            Key::BackTab,
            Key::Enter,
            Key::Pasted('y'),
            Key::Pasted('q'),
            Key::Char('y'),
        ];
        for length in 1..=bytes.len() {
            let mut decoder = Decoder::default();
            let keys: Vec<Key> = bytes.chunks(length).flat_map(|some| decoder.push(some)).collect();
            assert_eq!(keys, expected, "in pieces of {length} bytes");
            assert!(!decoder.is_waiting());
        }
    }

    #[test]
    fn escape_is_a_key_if_nothing_follows() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.push(b"\x1b"), []);
        assert!(decoder.is_waiting());
        assert_eq!(decoder.flush(), Some(Key::Esc));
        assert_eq!(decoder.push(b"\x1bq"), [Key::Esc, Key::Char('q')]);
    }

    #[test]
    fn the_late_rest_of_a_sequence_is_no_command() {
        for sequence in [
            "\x1b[5~",
            "\x1bOD",
            "\x1bOM",
            "\x1b[1;5D",
            "\x1b[[A",
            "\x1b[M Dq",
            "\x1b[200~q\x1b[201~",
            "é",
        ] {
            let bytes = sequence.as_bytes();
            for at in 1..bytes.len() {
                let mut decoder = Decoder::default();
                let mut keys = decoder.push(&bytes[..at]);
                keys.extend(decoder.flush());
                assert!(!decoder.is_waiting());
                keys.extend(decoder.push(&bytes[at..]));
                let is_esc_first = at == 1 && bytes[0] == 0x1b;
                assert_eq!(keys.contains(&Key::Esc), is_esc_first, "{sequence:?} at {at}");
                keys.retain(|key| *key != Key::Esc);
                let whole = Decoder::default().push(bytes);
                assert_eq!(keys, whole, "{sequence:?} at {at}");
            }
        }
    }

    #[test]
    fn only_a_sequence_continues_a_flushed_escape() {
        let mut decoder = Decoder::default();
        decoder.push(b"\x1b");
        assert_eq!(decoder.flush(), Some(Key::Esc));
        assert_eq!(decoder.flush(), None);
        decoder.push(b"\x1b");
        assert_eq!(decoder.flush(), Some(Key::Esc));
        assert_eq!(decoder.push(b"q["), [Key::Char('q'), Key::Char('[')]);
        assert_eq!(decoder.push(b"[D"), [Key::Char('['), Key::Char('D')]);
    }

    #[test]
    fn bytes_that_are_no_keys_are_skipped() {
        let mut decoder = Decoder::default();
        assert_eq!(decoder.push(b"\xff\xc3q\0\x1c"), [Key::Char('q')]);
        assert_eq!(decoder.push(b"\xe0q"), [Key::Char('q')]);
        assert_eq!(decoder.push(b"\x1b[1;\x03\x1bO\x1b[1\x1b[A"), [Key::Ctrl('c'), Key::Up]);
        // A mouse report that is cut off does not take the next key.
        assert_eq!(decoder.push(b"\x1b[M q\x1b[A\x1b[M\x03"), [Key::Up, Key::Ctrl('c')]);
        let endless = [&b"\x1b["[..], &[b'1'; 40]].concat();
        assert_eq!(decoder.push(&endless), []);
        assert_eq!(decoder.push(b"q"), [Key::Char('q')]);
    }
}
