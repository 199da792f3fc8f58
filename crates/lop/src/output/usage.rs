//! What is wrong with the arguments, said as every other error is: `lop: …`, then hints.
//!
//! The parser's own text has another form ("error: …", "tip: …") and paragraphs that a script's log has no use for.

use crate::output::stream::Stream;

/// Prints an error of the parser, given as its text, to standard error; returns the message.
pub(crate) fn print(text: &str, stderr: Stream) -> String {
    let said = Said::of(text);
    stderr.complain(said.message.as_bytes());
    said.others.iter().for_each(|line| stderr.note(line.as_bytes()));
    said.message
}

#[derive(Debug, PartialEq, Eq)]
struct Said {
    message: String,
    others: Vec<String>,
}

impl Said {
    fn of(text: &str) -> Said {
        let mut paragraphs = text.split("\n\n").map(|part| part.trim_matches('\n'));
        let message = paragraphs.next().unwrap_or_default();
        let message = message.strip_prefix("error: ").unwrap_or(message);
        // What is missing, or possible, is indented below.
        let message = message.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        let others = paragraphs.flat_map(str::lines).map(|line| {
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
        Said { message, others: others.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::Said;

    #[test]
    fn the_message_is_one_line_and_tips_are_hints() {
        let text = "error: unexpected argument '--nothing' found\n\n  tip: a similar argument exists: '--no-hidden'\n\n\
                    Usage: lop scan --no-hidden [PATH]...\n\nFor more information, try '--help'.\n";
        let others = [
            "hint: a similar argument exists: '--no-hidden'",
            "Usage: lop scan --no-hidden [PATH]...",
            "hint: try '--help' for more information",
        ];
        let message = "unexpected argument '--nothing' found".to_string();
        assert_eq!(Said::of(text), Said { message, others: others.map(String::from).to_vec() });
        let text = "error: the following required arguments were not provided:\n  <SRC>\n  <DST>\n\nUsage: lop\n";
        let said = Said::of(text);
        assert_eq!(said.message, "the following required arguments were not provided: <SRC> <DST>");
        assert_eq!(said.others, ["Usage: lop"]);
    }
}
