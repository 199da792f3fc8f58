//! Prints errors about the arguments in the same format as all other errors: `lop: …`, then hints.
//!
//! The argument parser formats its errors differently ("error: …", "tip: …") and in paragraphs, which are unsuitable
//! for the log of a script.

use crate::output::stream::Stream;

/// Prints an error of the argument parser to standard error. `text` is the error message in the parser's format.
/// Returns the message without the hints.
pub(crate) fn print(text: &str, stderr: Stream) -> String {
    let error = UsageError::parse(text);
    stderr.complain(error.message.as_bytes());
    error.hints.iter().for_each(|line| stderr.note(line.as_bytes()));
    error.message
}

#[derive(Debug, PartialEq, Eq)]
struct UsageError {
    message: String,
    hints: Vec<String>,
}

impl UsageError {
    fn parse(text: &str) -> UsageError {
        let mut paragraphs = text.split("\n\n").map(|part| part.trim_matches('\n'));
        let message = paragraphs.next().unwrap_or_default();
        let message = message.strip_prefix("error: ").unwrap_or(message);
        // The parser puts the arguments that caused the error on separate, indented lines.
        let message = message.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        let hints = paragraphs.flat_map(str::lines).map(|line| {
            let hint = line.trim_start().strip_prefix("tip: ");
            let more = line.strip_prefix("For more information, ");
            match (hint, more) {
                (Some(hint), _) => format!("hint: {hint}"),
                (_, Some(more)) => {
                    format!("hint: {} for more information", more.trim_end_matches('.'))
                }
                _ => line.to_string(),
            }
        });
        UsageError { message, hints: hints.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::UsageError;

    #[test]
    fn the_message_is_one_line_and_tips_are_hints() {
        let text = "error: unexpected argument '--nothing' found\n\n  tip: a similar argument exists: '--no-hidden'\n\n\
                    Usage: lop scan --no-hidden [PATH]...\n\nFor more information, try '--help'.\n";
        let hints = [
            "hint: a similar argument exists: '--no-hidden'",
            "Usage: lop scan --no-hidden [PATH]...",
            "hint: try '--help' for more information",
        ];
        let message = "unexpected argument '--nothing' found".to_string();
        assert_eq!(
            UsageError::parse(text),
            UsageError { message, hints: hints.map(String::from).to_vec() }
        );
        let text = "error: the following required arguments were not provided:\n  <SRC>\n  <DST>\n\nUsage: lop\n";
        let error = UsageError::parse(text);
        assert_eq!(
            error.message,
            "the following required arguments were not provided: <SRC> <DST>"
        );
        assert_eq!(error.hints, ["Usage: lop"]);
    }
}
