//! Refuses comment sentences whose opening hides their subject ("Who asks waits").

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::lexer::{self, Piece};
use super::shown;

/// Words that must not begin a sentence of a comment.
const OPENINGS: [&str; 4] = ["Who", "Whoever", "What is", "There is to be"];

pub(super) fn check(root: &Path, files: &[PathBuf]) -> io::Result<Vec<String>> {
    let mut complaints = Vec::new();
    for path in files.iter().filter(|path| path.extension().is_some_and(|e| e == "rs")) {
        let name = shown(root, path);
        let found = of_file(&fs::read_to_string(path)?);
        complaints.extend(found.into_iter().map(|complaint| format!("{name}:{complaint}")));
    }
    Ok(complaints)
}

fn of_file(text: &str) -> Vec<String> {
    let comments = lexer::parse(text).comments;
    let mut complaints = Vec::new();
    // A line begins a sentence if the previous line ended one or was not a comment.
    let mut before: Option<&Piece> = None;
    for piece in &comments {
        let continues = before.is_some_and(|before| {
            before.line + 1 == piece.line && !before.text.is_empty() && !ends(&before.text)
        });
        let mut starts = sentences(&piece.text);
        if continues {
            starts.remove(0);
        }
        for start in starts {
            let start = start.trim_start_matches(['-', '*', '#', '"', '(', ' ']);
            for opening in OPENINGS.iter().filter(|opening| opens_with(start, opening)) {
                complaints.push(format!("{}: a sentence begins with \"{opening}\"", piece.line));
            }
        }
        before = Some(piece);
    }
    complaints
}

/// Returns, for each sentence, the text from its beginning to the end of the line.
fn sentences(text: &str) -> Vec<&str> {
    let mut starts = vec![text];
    for mark in [". ", "? ", "! ", ": "] {
        starts.extend(text.match_indices(mark).map(|(at, _)| &text[at + mark.len()..]));
    }
    starts
}

/// Returns true if the last sentence of a line is complete.
fn ends(line: &str) -> bool {
    line.trim_end_matches(['"', ')', '*', '`']).ends_with(['.', '?', '!', ':', '|'])
}

fn opens_with(start: &str, opening: &str) -> bool {
    let rest = start.strip_prefix(opening);
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::of_file;

    #[test]
    fn headless_sentences_are_refused_wherever_they_begin() {
        assert_eq!(of_file("//! Who asks waits.\n").len(), 1);
        assert_eq!(of_file("/// It waits. What is left stays.\n").len(), 1);
        assert_eq!(of_file("// - Whoever is free\n").len(), 1);
        assert_eq!(of_file("// One thing:\n// There is to be one.\n").len(), 1);
        assert_eq!(of_file("// It ends.\n// Who knows.\n"), ["2: a sentence begins with \"Who\""]);
    }

    #[test]
    fn the_same_words_within_a_sentence_pass() {
        assert_eq!(of_file("// The worker\n// Who is a name here, and who asks.\n"), [""; 0]);
        assert_eq!(of_file("// Whole files. Whatever it is.\n"), [""; 0]);
        assert_eq!(of_file("let a = \"Who are you?\";\n"), [""; 0]);
    }
}
