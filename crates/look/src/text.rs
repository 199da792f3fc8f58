//! Names, numbers and columns as text on the screen.
//!
//! A name can contain anything, so it reaches the screen only through [`name`], which escapes everything that could
//! disturb a terminal or deceive its user.

use action::plan::Kind;
use runtime::quantity::{counted, size};
use runtime::shown::{shown_name, shown_text};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Takes the place of the part that a cut removes.
const ELLIPSIS: &str = "…";

/// Returns a name or a path as the screen shows it.
pub(crate) fn name(bytes: &[u8]) -> String {
    shown_name(bytes).iter().map(ToString::to_string).collect()
}

/// Returns a path relative to a directory, or the path itself if it is not below the directory.
pub(crate) fn below<'p>(dir: &[u8], path: &'p [u8]) -> &'p [u8] {
    let dir = dir.strip_suffix(b"/").unwrap_or(dir);
    path.strip_prefix(dir).and_then(|rest| rest.strip_prefix(b"/")).unwrap_or(path)
}

/// Returns a message as the screen shows it. The message may contain names.
pub(crate) fn message(text: &str) -> String {
    shown_text(text.as_bytes()).map(|shown| shown.to_string()).collect()
}

/// Returns the number of columns that a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Returns the text if it fits into `columns`, otherwise its beginning and an ellipsis.
pub(crate) fn cut(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let mut cut = fitting(text.chars(), columns.saturating_sub(1));
    cut.push_str(if columns > 0 { ELLIPSIS } else { "" });
    cut
}

/// Returns the text if it fits into `columns`, otherwise an ellipsis and its end. The end of a path tells more than its
/// beginning.
pub(crate) fn cut_start(text: &str, columns: usize) -> String {
    if width(text) <= columns {
        return text.to_owned();
    }
    let end: String =
        fitting(text.chars().rev(), columns.saturating_sub(1)).chars().rev().collect();
    if columns > 0 { format!("{ELLIPSIS}{end}") } else { end }
}

/// Divides a text into lines of at most `columns`, between words. Divides a word only if it is longer than a line.
pub(crate) fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("never empty");
        if last.is_empty() {
            last.push_str(word);
        } else if width(last) + 1 + width(word) <= columns {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
        // A word may be a path that is longer than a line.
        while let Some(long) = lines.pop_if(|last| width(last) > columns && columns > 1) {
            let begin = fitting(long.chars(), columns);
            let rest = long[begin.len()..].to_owned();
            lines.extend([begin, rest]);
        }
    }
    lines
}

/// Divides a text into at most `room` lines, like [`wrap`]. If it needs more lines, an ellipsis takes the place of its
/// middle, because paths differ at their ends.
pub(crate) fn wrap_in(text: &str, columns: usize, room: usize) -> Vec<String> {
    let mut lines = wrap(text, columns);
    let mut kept = columns * room;
    while lines.len() > room && kept > 0 {
        let begin = fitting(text.chars(), kept / 2);
        lines = wrap(&(begin + &cut_start(text, kept.div_ceil(2))), columns);
        kept = kept.saturating_sub(columns / 4 + 1);
    }
    lines
}

fn fitting(letters: impl Iterator<Item = char>, columns: usize) -> String {
    let mut left = columns;
    let fits = |letter: &char| match left.checked_sub(letter.width().unwrap_or(0)) {
        Some(rest) => {
            left = rest;
            true
        }
        None => false,
    };
    letters.take_while(fits).collect()
}

/// Returns a line that starts with the left text and ends with the right text. Cuts the start of the left text if the
/// line is too short for both.
pub(crate) fn at_ends(left: &str, right: &str, columns: usize) -> String {
    let room = columns.saturating_sub(width(right) + 2);
    let left = cut_start(left, room);
    let gap = columns.saturating_sub(width(&left) + width(right));
    format!("{left}{}{right}", " ".repeat(gap))
}

/// Returns a size, or an empty text for 0, so that the other sizes stand out.
pub(crate) fn size_or_blank(bytes: u64) -> String {
    if bytes == 0 { String::new() } else { size(bytes) }
}

/// Returns a number of files that a run changed. A sweep also moves directories, so its files are called entries.
pub(crate) fn files_of(kind: Kind, number: u64) -> String {
    match kind {
        Kind::Sweep => counted(number, "entry", "entries"),
        _ => counted(number, "file", "files"),
    }
}

/// Returns a difference with its sign, or an empty text for 0.
pub(crate) fn difference(bytes: i64) -> String {
    match bytes {
        0 => String::new(),
        1.. => format!("+{}", size(bytes.unsigned_abs())),
        _ => format!("-{}", size(bytes.unsigned_abs())),
    }
}

/// Returns a bar for the share `part` of `all`. It consists of ASCII characters, which every terminal has.
pub(crate) fn bar(part: u64, all: u64, columns: usize) -> String {
    let scaled = u128::from(part) * columns as u128 / u128::from(all.max(1));
    let filled = usize::try_from(scaled).map_or(columns, |filled| filled.min(columns));
    format!("[{}{}]", "#".repeat(filled), " ".repeat(columns - filled))
}

/// Returns the percentage that `part` is of `all`.
pub(crate) fn percent(part: u64, all: u64) -> u128 {
    u128::from(part) * 100 / u128::from(all.max(1))
}

#[cfg(test)]
mod tests {
    use super::{at_ends, bar, below, cut, cut_start, difference, name, width, wrap, wrap_in};

    #[test]
    fn names_cannot_disturb_the_screen() {
        assert_eq!(name(b"a\x1b[2J\xff\n"), "a\\x1b[2J\\xff\\n");
        assert_eq!(name("\u{202e}gpj.exe".as_bytes()), "\\u{202e}gpj.exe");
    }

    #[test]
    fn paths_are_relative_to_their_directory() {
        assert_eq!(below(b"/a", b"/a/b/c"), b"b/c");
        assert_eq!(below(b"/a", b"/ab"), b"/ab");
        assert_eq!(below(b"/", b"/a"), b"a");
    }

    #[test]
    fn texts_are_cut_by_columns() {
        assert_eq!(
            (cut("写真写真", 5), cut_start("写真写真", 5)),
            ("写真…".into(), "…写真".into())
        );
        assert_eq!(
            (cut("abc", 3), cut("abc", 2), cut("abc", 0)),
            ("abc".into(), "a…".into(), String::new())
        );
        assert_eq!(at_ends("/a/long/path", "right", 14), "…g/path  right");
        assert_eq!(width(&at_ends("a", "b", 14)), 14);
    }

    #[test]
    fn texts_are_wrapped_between_words() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("at /a/long/path", 6), ["at", "/a/lon", "g/path"]);
        assert_eq!(wrap("写真写真", 5), ["写真", "写真"]);
        assert_eq!(wrap("", 5), [""]);
        assert_eq!(wrap_in("/a/long/path/name", 6, 2), ["/a/lon", "…/name"]);
        assert_eq!(wrap_in("one two three", 7, 2), ["one two", "three"]);
        assert!(wrap_in("one two three four five", 7, 2).len() <= 2);
        assert_eq!(wrap_in("写真", 1, 1).len(), 1);
    }

    #[test]
    fn bars_show_shares() {
        assert_eq!([bar(0, 0, 4), bar(1, 2, 4), bar(9, 2, 4)], ["[    ]", "[##  ]", "[####]"]);
        assert_eq!(bar(u64::MAX, u64::MAX, 4), "[####]");
        assert_eq!([difference(-1024), difference(0), difference(5)], ["-1.0 KiB", "", "+5 B"]);
    }
}
