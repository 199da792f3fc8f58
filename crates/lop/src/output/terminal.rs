//! The width of a terminal, and of text on it.

use std::os::fd::AsFd;

/// Width of a terminal that does not report its size, and of output that does not go to a terminal.
const DEFAULT_COLUMNS: usize = 80;

/// Returns the width of a terminal in columns, or the default if there is no terminal.
pub(crate) fn columns(terminal: Option<impl AsFd>) -> usize {
    terminal
        .and_then(|terminal| rustix::termios::tcgetwinsize(terminal).ok())
        .map(|size| usize::from(size.ws_col))
        .filter(|&columns| columns > 0)
        .unwrap_or(DEFAULT_COLUMNS)
}

/// Returns the number of columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.chars().map(char_width).sum()
}

/// Returns the beginning of a text that fits into `columns`.
pub(crate) fn cut(text: &str, columns: usize) -> &str {
    &text[..fitting_bytes(text.chars(), columns)]
}

/// Returns the end of a text that fits into `columns`.
pub(crate) fn cut_start(text: &str, columns: usize) -> &str {
    &text[text.len() - fitting_bytes(text.chars().rev(), columns)..]
}

fn fitting_bytes(chars: impl Iterator<Item = char>, columns: usize) -> usize {
    let (mut taken, mut bytes) = (0, 0);
    for c in chars {
        taken += char_width(c);
        if taken > columns {
            break;
        }
        bytes += c.len_utf8();
    }
    bytes
}

/// Returns 2 for characters that terminals show twice as wide as others, and otherwise 1. Combining characters take
/// less, so that a text is never wider than computed. The ranges are those of Unicode Standard Annex 11, with the gaps
/// between East Asian characters closed.
fn char_width(c: char) -> usize {
    let is_wide = matches!(c,
        '\u{1100}'..='\u{115f}' | '\u{231a}'..='\u{231b}' | '\u{23e9}'..='\u{23f3}' | '\u{25fd}'..='\u{27bf}'
        | '\u{2b1b}'..='\u{2b55}' | '\u{2e80}'..='\u{a4cf}' | '\u{a960}'..='\u{a97f}' | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}' | '\u{fe10}'..='\u{fe6f}' | '\u{ff00}'..='\u{ff60}' | '\u{ffe0}'..='\u{ffe6}'
        | '\u{16fe0}'..='\u{1b2ff}' | '\u{1f000}'..='\u{1faff}' | '\u{20000}'..='\u{3fffd}');
    if is_wide { 2 } else { 1 }
}

#[cfg(test)]
mod tests {
    use super::{cut, cut_start, width};

    #[test]
    fn wide_characters_take_two_columns() {
        assert_eq!([width("abc"), width("写真"), width("▏…é")], [3, 4, 3]);
        assert_eq!((cut("写真a", 3), cut_start("写真a", 3)), ("写", "真a"));
        assert_eq!((cut("abc", 9), cut("abc", 0), cut_start("写", 1)), ("abc", "", ""));
    }
}
