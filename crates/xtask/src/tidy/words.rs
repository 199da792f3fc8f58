//! Refuses retired words. Each retired word has a replacement among the terms of the field.
//!
//! Identifiers are split at underscores and at the humps of camel case, so `LineUp` and `line_up`
//! are the same two words. Some retired words are ordinary English and are allowed in comments.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::lexer::{self, Piece};
use super::shown;

/// The places in which a word is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// In identifiers and in comments.
    Everywhere,
    /// In identifiers only.
    Identifiers,
}

use Scope::{Everywhere, Identifiers};

/// Retired words and the terms to use instead. An entry can consist of several words, which must
/// follow each other in an identifier.
const RETIRED: &[(&[&str], &str, Scope)] = &[
    (&["lane"], "disk", Everywhere),
    (&["lanes"], "disks", Everywhere),
    (&["crew"], "worker pool", Everywhere),
    (&["hire"], "spawn", Everywhere),
    (&["pace"], "wait meter", Identifiers),
    (&["has", "arm"], "is_seek_bound", Identifiers),
    (&["line", "up"], "enqueue, or comparison", Identifiers),
    (&["lineup"], "comparison", Everywhere),
    (&["put", "off"], "deferred", Identifiers),
    (&["hear"], "receive loop", Identifiers),
    (&["hearing"], "receiving", Identifiers),
    (&["site"], "directory state, or intent location", Identifiers),
    (&["sites"], "intent locations", Identifiers),
    (&["surplus"], "extraneous", Everywhere),
    (&["spared"], "kept", Everywhere),
    (&["imagines"], "is_dry_run", Everywhere),
    (&["squeeze"], "compress", Everywhere),
    (&["squeezed"], "compressed", Everywhere),
    (&["lot"], "batch", Identifiers),
    (&["remake"], "restore", Identifiers),
    (&["eager"], "inline head reader", Identifiers),
    (&["sift"], "prefilter", Everywhere),
    (&["newcomer"], "untracked entry", Everywhere),
    (&["newcomers"], "untracked entries", Everywhere),
    (&["twin"], "shared extents, or duplicate directory", Everywhere),
    (&["twins"], "shared extents, or duplicate directories", Everywhere),
    (&["holdings"], "the contents of a directory or catalog", Identifiers),
    (&["deed"], "action, or operation", Everywhere),
    (&["manner"], "options", Identifiers),
    (&["stretch"], "range", Identifiers),
    (&["prospect"], "preview", Identifiers),
    (&["told"], "reported, or what was reported", Identifiers),
    (&["asked"], "requested, or what was requested", Identifiers),
    (&["trial"], "probe", Everywhere),
    (&["looks"], "inspects, or checks", Identifiers),
    (&["whoever"], "the worker, the caller, the user", Everywhere),
];

pub(super) fn check(root: &Path, sources: &[PathBuf]) -> io::Result<Vec<String>> {
    let mut complaints = Vec::new();
    for path in sources.iter().filter(|path| path.extension().is_some_and(|e| e == "rs")) {
        // This file contains the list itself and its tests.
        if path.ends_with("tidy/words.rs") {
            continue;
        }
        let name = shown(root, path);
        let found = of_file(&fs::read_to_string(path)?);
        complaints.extend(found.into_iter().map(|complaint| format!("{name}:{complaint}")));
    }
    Ok(complaints)
}

fn of_file(text: &str) -> Vec<String> {
    let source = lexer::parse(text);
    let code = source.code.iter().map(|piece| (piece, Identifiers));
    let comments = source.comments.iter().map(|piece| (piece, Everywhere));
    let mut complaints: Vec<(usize, String)> =
        code.chain(comments).flat_map(|(piece, scope)| of_piece(piece, scope)).collect();
    complaints.sort();
    complaints.dedup();
    complaints.into_iter().map(|(line, complaint)| format!("{line}: {complaint}")).collect()
}

/// Returns complaints about the words in a piece of code or, with [`Everywhere`], in a comment.
fn of_piece(piece: &Piece, scope: Scope) -> Vec<(usize, String)> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let words = piece.text.split(|c: char| !is_part(c)).filter(|word| !word.is_empty());
    let mut complaints = Vec::new();
    for word in words {
        let parts = parts(word);
        // A word that consists of several parts must be an identifier, even in a comment.
        let is_identifier = scope == Identifiers || parts.len() > 1;
        let is_refused = |wanted: &[&str], where_: Scope| {
            (is_identifier || where_ == Everywhere) && contains(&parts, wanted)
        };
        for (retired, instead, _) in RETIRED.iter().filter(|(wanted, _, s)| is_refused(wanted, *s))
        {
            let retired = retired.join("_");
            complaints
                .push((piece.line, format!("`{word}`: `{retired}` is retired, use {instead}")));
        }
    }
    complaints
}

fn contains(parts: &[String], wanted: &[&str]) -> bool {
    parts.windows(wanted.len()).any(|window| window.iter().eq(wanted))
}

/// Splits an identifier at underscores and humps into lower-case words.
fn parts(identifier: &str) -> Vec<String> {
    let mut parts: Vec<String> = Vec::new();
    for piece in identifier.split('_').filter(|piece| !piece.is_empty()) {
        let mut was_lower = true;
        parts.push(String::new());
        for c in piece.chars() {
            if c.is_uppercase() && was_lower && parts.last().is_some_and(|part| !part.is_empty()) {
                parts.push(String::new());
            }
            was_lower = !c.is_uppercase();
            if let Some(part) = parts.last_mut() {
                part.extend(c.to_lowercase());
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::{of_file, parts};

    #[test]
    fn identifiers_are_split_at_underscores_and_humps() {
        assert_eq!(parts("has_arm"), ["has", "arm"]);
        assert_eq!(parts("LineUp"), ["line", "up"]);
        assert_eq!(parts("MAX_LANES"), ["max", "lanes"]);
        assert_eq!(parts("_lane2"), ["lane2"]);
    }

    #[test]
    fn retired_words_are_refused_in_identifiers() {
        let text = "fn f(open_lanes: u8) -> LineUp { has_arm() }\n";
        let complaints = of_file(text);
        assert_eq!(complaints.len(), 3, "{complaints:?}");
        assert!(
            complaints.contains(&"1: `has_arm`: `has_arm` is retired, use is_seek_bound".into())
        );
    }

    #[test]
    fn ordinary_english_is_refused_in_identifiers_only() {
        assert_eq!(of_file("// At a slow pace, on this site.\n"), [""; 0]);
        assert_eq!(of_file("let pace = 1;\n").len(), 1);
        assert_eq!(of_file("// See `open_site`.\n").len(), 1);
        assert_eq!(of_file("/// A lane for each.\n").len(), 1);
    }

    #[test]
    fn other_words_and_strings_pass() {
        let text = "let planes = alarm(\"the lane\"); // a plane of linear upstream\n";
        assert_eq!(of_file(text), [""; 0]);
    }
}
