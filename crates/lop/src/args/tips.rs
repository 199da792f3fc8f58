//! Improves the tips of the argument parser. Removes misleading tips, and adds one for `purge -rf`.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Removes misleading tips, and adds a tip for users who type `purge -rf`.
pub(crate) fn improve(error: &mut clap::Error, command: Option<&str>) {
    match error.kind() {
        // The usage line of clap would show both of the conflicting options.
        ErrorKind::ArgumentConflict => drop(error.remove(ContextKind::Usage)),
        ErrorKind::UnknownArgument => unknown(error, command),
        _ => {}
    }
}

fn unknown(error: &mut clap::Error, command: Option<&str>) {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg) else { return };
    let typed = typed.clone();
    // This tip suggests that the argument may be a file name. Keep it only if there is such a file.
    if !std::path::Path::new(&typed).exists() {
        error.remove(ContextKind::Suggested);
    }
    if let Some(ContextValue::String(similar)) = error.get(ContextKind::SuggestedArg)
        && !is_similar(&typed, similar)
    {
        error.remove(ContextKind::SuggestedArg);
        // The usage line repeats the suggested option.
        error.remove(ContextKind::Usage);
    }
    if command == Some("purge") && matches!(typed.as_str(), "-r" | "-R" | "-f") {
        let tip =
            "lop purge removes whole trees without these options; --yes turns off the question";
        let tips = vec![StyledStr::from(tip)];
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
}

/// Returns true if one text may be a misspelling of the other.
fn is_similar(typed: &str, known: &str) -> bool {
    let plain = |text: &str| text.trim_start_matches('-').to_ascii_lowercase();
    let (typed, known) = (plain(typed), plain(known));
    let is_start = typed.len() > 2 && (known.starts_with(&typed) || typed.starts_with(&known));
    is_start || distance(typed.as_bytes(), known.as_bytes()) <= 1 + typed.len() / 4
}

/// Returns the Levenshtein distance of two texts in bytes.
fn distance(one: &[u8], other: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, byte) in one.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], at + 1);
        for (place, with) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(byte != with);
            diagonal = row[place + 1];
            row[place + 1] = replaced.min(diagonal + 1).min(row[place] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::{distance, improve};
    use crate::args::Cli;

    fn message(args: &[&str]) -> String {
        let all = ["lop"].iter().chain(args);
        let mut error = Cli::try_parse_from(all).expect_err("wrong");
        improve(&mut error, args.first().copied());
        error.to_string()
    }

    #[test]
    fn only_similar_options_are_suggested() {
        for (args, similar) in [
            (&["mirror", "--dellete", "a", "b"][..], "'--delete'"),
            (&["scan", "--exlude", "x"], "'--exclude'"),
            (&["purge", "--thread", "3", "x"], "'--threads'"),
            (&["purge", "--keep", "x"], "'--keep-root'"),
        ] {
            assert!(message(args).contains(similar), "{}", message(args));
        }
        for args in [&["purge", "--rm", "doc"][..], &["purge", "--no-such", "x"], &["undo", "-z"]] {
            let message = message(args);
            assert!(!message.contains("tip:") && !message.contains("--cross"), "{message}");
        }
    }

    #[test]
    fn conflicting_options_are_not_shown_together() {
        let message = message(&["dedupe", "--plan", "p", "dir"]);
        assert!(message.contains("cannot be used with") && !message.contains("Usage"), "{message}");
    }

    #[test]
    fn the_flags_of_rm_are_explained() {
        for flags in ["-rf", "-r", "-fr", "-R"] {
            let message = message(&["purge", flags, "dir"]);
            assert!(message.contains("tip: lop purge removes whole trees"), "{message}");
        }
        assert!(!message(&["scan", "-rf", "dir"]).contains("purge"));
    }

    #[test]
    fn distances() {
        for (one, other, expected) in [("", "abc", 3), ("kitten", "sitting", 3), ("a", "a", 0)] {
            assert_eq!(distance(one.as_bytes(), other.as_bytes()), expected);
        }
    }
}
