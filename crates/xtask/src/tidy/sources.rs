//! Rules that apply to each source file separately.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::shown;

/// Maximum number of lines. A longer file should be split.
const MAX_LINES: usize = 500;

/// Maximum number of characters in a line of a comment. Lines with tables and addresses may be longer.
const MAX_COLUMNS: usize = 120;

/// Macros that mark unfinished work. The names are split, because otherwise this file itself would
/// be refused.
const UNFINISHED: [&str; 3] =
    [concat!("dbg", "!("), concat!("todo", "!("), concat!("unimplemented", "!(")];

/// File names that do not describe their content.
const EMPTY_NAMES: [&str; 3] = ["utils.rs", "common.rs", "helpers.rs"];

pub(super) fn check(root: &Path, files: &[PathBuf]) -> io::Result<Vec<String>> {
    let mut complaints = Vec::new();
    for path in files.iter().filter(|path| path.extension().is_some_and(|e| e == "rs")) {
        let text = fs::read_to_string(path)?;
        let name = shown(root, path);
        complaints.extend(of_file(&name, &text).into_iter().map(|c| format!("{name}: {c}")));
    }
    Ok(complaints)
}

fn of_file(name: &str, text: &str) -> Vec<String> {
    let mut complaints = Vec::new();
    if !text.starts_with("//! ") {
        complaints.push("does not open with //! and what it is for".to_string());
    }
    let lines = text.lines().count();
    if lines > MAX_LINES {
        complaints.push(format!("{lines} lines, {MAX_LINES} are the limit"));
    }
    if EMPTY_NAMES.iter().any(|empty| name.ends_with(&format!("/{empty}"))) {
        complaints.push("is named for nothing in particular".to_string());
    }
    for (number, line) in (1..).zip(text.lines()) {
        for unfinished in UNFINISHED.iter().filter(|unfinished| line.contains(**unfinished)) {
            complaints.push(format!("line {number}: {unfinished}"));
        }
        let columns = line.chars().count();
        if columns > MAX_COLUMNS && is_prose(line) {
            complaints
                .push(format!("line {number}: {columns} columns, {MAX_COLUMNS} are the limit"));
        }
    }
    complaints
}

/// Returns whether a line is a comment that can be wrapped.
fn is_prose(line: &str) -> bool {
    let is_exempt = ["//! |", "/// |", "://"].iter().any(|part| line.contains(part));
    line.trim_start().starts_with("//") && !is_exempt
}

#[cfg(test)]
mod tests {
    use super::of_file;

    #[test]
    fn a_good_file_passes() {
        assert_eq!(of_file("crates/x/src/y.rs", "//! What it is.\n\nfn f() {}\n"), [""; 0]);
    }

    #[test]
    fn each_fault_is_named() {
        let text = format!("fn f() {{ {}) }}\n{}", super::UNFINISHED[0], "\n".repeat(500));
        let complaints = of_file("crates/x/src/utils.rs", &text);
        assert_eq!(complaints.len(), 4, "{complaints:?}");
    }

    #[test]
    fn long_comments_are_refused() {
        let long = "word ".repeat(30);
        let complaints = |line: &str| of_file("crates/x/src/y.rs", &format!("//! A.\n{line}\n"));
        assert_eq!(complaints(&format!("    // {long}")).len(), 1);
        assert_eq!(complaints(&format!("//! | {long} |")), [""; 0]);
        assert_eq!(complaints(&format!("// https://example.org/ {long}")), [""; 0]);
        assert_eq!(complaints(&format!("let x = \"{long}\";")), [""; 0]);
    }
}
