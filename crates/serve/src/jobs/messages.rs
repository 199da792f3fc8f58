//! Reads the standard error of a child: records of progress, the error record, and messages for people.
//!
//! A line that begins with `{` is a JSON document, and every other line is a message (`docs/formats.md`). The reader
//! must continue to the end of the pipe, because a child that waits for its reader never ends.

use std::io::{self, BufRead, Read};

use serde::Deserialize;

use super::job::{JobError, JobProgress};

/// Longest line that is read whole. lop writes the paths of files into its lines, and a path has at most 4096 bytes,
/// each of which may be escaped.
const MAX_LINE_BYTES: u64 = 64 << 10;

/// One line of the standard error of lop.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Progress(JobProgress),
    Error(JobError),
    Message(String),
}

/// The documents on standard error that matter here.
#[derive(Deserialize)]
struct Document {
    progress: Option<JobProgress>,
    error: Option<JobError>,
}

impl Line {
    /// Parses a line. Returns `None` for other documents, such as figures, and for empty lines.
    fn parse(bytes: &[u8]) -> Option<Line> {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_end();
        if text.starts_with('{') {
            let document: Document = serde_json::from_str(text).ok()?;
            let error = || document.error.map(Line::Error);
            return document.progress.map(Line::Progress).or_else(error);
        }
        let text = text.strip_prefix("lop: ").unwrap_or(text);
        (!text.is_empty()).then(|| Line::Message(text.to_owned()))
    }
}

/// Passes each line to `each` until the pipe ends.
///
/// # Errors
///
/// Fails if the pipe cannot be read.
pub(super) fn read(mut from: impl BufRead, mut each: impl FnMut(Line)) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        if from.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if let Some(line) = Line::parse(&line) {
            each(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{JobError, JobProgress, Line, MAX_LINE_BYTES, read};

    fn lines(text: &[u8]) -> Vec<Line> {
        let mut lines = Vec::new();
        read(text, |line| lines.push(line)).expect("no error");
        lines
    }

    #[test]
    fn documents_and_messages_are_distinguished() {
        let text = b"lop: a: no such file\n\
            {\"format_version\":1,\"progress\":{\"stage\":\"walk\",\"text\":\"t\",\"files_done\":3,\"new\":1}}\n\
            hint: try again\n\
            {\"format_version\":1,\"summary\":{}}\n\
            {not a document\n\
            {\"format_version\":1,\"error\":{\"code\":3,\"message\":\"m\"}}";
        let progress = JobProgress {
            stage: "walk".into(),
            text: "t".into(),
            files_done: Some(3),
            ..JobProgress::default()
        };
        let expected = [
            Line::Message("a: no such file".into()),
            Line::Progress(progress),
            Line::Message("hint: try again".into()),
            Line::Error(JobError { code: 3, message: "m".into() }),
        ];
        assert_eq!(lines(text), expected);
    }

    #[test]
    fn an_endless_line_takes_a_limited_amount_of_memory() {
        let limit = usize::try_from(MAX_LINE_BYTES).expect("small");
        let text = vec![b'x'; 2 * limit + 1];
        let lengths: Vec<usize> = lines(&text)
            .iter()
            .map(|line| if let Line::Message(text) = line { text.len() } else { 0 })
            .collect();
        assert_eq!(lengths, [limit, limit, 1]);
    }
}
