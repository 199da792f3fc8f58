//! Improves the tips of the argument parser. Removes misleading tips, and adds one for `purge -rf`.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::spelling::is_similar;

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

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::improve;
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
}
