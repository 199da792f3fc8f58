//! Prints results, problems and errors.
//!
//! File names are bytes, and are written unchanged to a pipe or a file. On a terminal, and in all
//! messages, what could disturb a terminal is escaped, as in lop ([`runtime::shown`]).

use std::borrow::Cow;
use std::error::Error;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use fsops::io_text;
use runtime::shown::{is_confusing, is_plain_name, marked_line, shown_name, shown_text};
use serde::Serialize;

/// How results are printed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    /// True for JSON instead of text.
    json: bool,
    /// True if names are escaped, because standard output is a terminal.
    escapes: bool,
}

/// A result for programs, with the version of its format.
#[derive(Serialize)]
struct Document<'a, T> {
    format_version: u32,
    #[serde(flatten)]
    result: &'a T,
}

/// A path in JSON. If the path is not UTF-8, a second key holds its bytes in base64.
#[derive(Debug, Serialize)]
pub(crate) struct JsonPath {
    path: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    path_base64: Option<String>,
    #[serde(skip)]
    bytes: Vec<u8>,
}

impl JsonPath {
    pub(crate) fn new(bytes: Vec<u8>) -> JsonPath {
        let path = String::from_utf8_lossy(&bytes).into_owned();
        let is_exact = path.as_bytes() == bytes;
        JsonPath { path, path_base64: (!is_exact).then(|| STANDARD.encode(&bytes)), bytes }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

impl Output {
    /// Returns how results are printed on standard output.
    pub(crate) fn new(json: bool) -> Output {
        Output { json, escapes: io::stdout().is_terminal() }
    }

    /// Returns true if results are printed as JSON.
    pub(crate) fn is_json(self) -> bool {
        self.json
    }

    /// Returns true if names are escaped, because standard output is a terminal.
    pub(crate) fn escapes(self) -> bool {
        self.escapes
    }

    /// Returns a line of text that ends with a name. Unless it goes to a terminal, a program can parse it
    /// ([`marked_line`]).
    pub(crate) fn line(self, line: &[u8]) -> Cow<'_, [u8]> {
        if self.escapes { escaped(line) } else { marked_line(line) }
    }

    /// Prints a result: `document` as JSON, or `text`.
    ///
    /// # Errors
    ///
    /// Fails if standard output cannot be written. A closed pipe is not an error, because the reader does
    /// not want the rest.
    pub(crate) fn print(
        self,
        document: &impl Serialize,
        text: &[u8],
    ) -> Result<(), Box<dyn Error>> {
        if !self.json {
            return Output::write(text);
        }
        let document = Document { format_version: 1, result: document };
        let json = serde_json::to_string(&document)?;
        Output::write(format!("{}\n", escaped_json(&json)).as_bytes())
    }

    /// Writes bytes to standard output.
    ///
    /// # Errors
    ///
    /// Same as for [`Output::print`].
    pub(crate) fn write(bytes: &[u8]) -> Result<(), Box<dyn Error>> {
        let mut out = io::stdout().lock();
        match out.write_all(bytes).and_then(|()| out.flush()) {
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(e) => Err(format!("cannot write to standard output: {}", io_text(&e)).into()),
            Ok(()) => Ok(()),
        }
    }

    /// Prints a remark on standard error, unless the output is for programs.
    pub(crate) fn note(self, text: &str) {
        if !self.json {
            // If standard error is closed, nobody can be told.
            let _closed = writeln!(io::stderr(), "{text}");
        }
    }

    /// Prints how files without a digest can be compared.
    pub(crate) fn hint_hash_all(self) {
        self.note(
            "hint: to compare the other files, run 'lop scan --hash-all' and 'lop export' on the hosts",
        );
    }
}

/// Returns a document with escapes for what could disturb a terminal. It occurs only in strings, and has
/// at most 16 bits.
pub(crate) fn escaped_json(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for letter in json.chars() {
        match letter {
            letter if is_confusing(letter) => {
                // Writing to a string cannot fail.
                let _ = write!(escaped, "\\u{:04x}", u32::from(letter));
            }
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// Returns a name for people. A manifest may contain any name of a host.
pub(crate) fn shown(host: &str) -> String {
    String::from_utf8_lossy(&escaped(host.as_bytes())).into_owned()
}

/// Returns a text in which characters that could disturb a terminal are escaped.
pub(crate) fn escaped_text(text: &str) -> Cow<'_, str> {
    if !text.contains(is_confusing) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(shown_text(text.as_bytes()).map(|part| part.to_string()).collect())
}

/// Returns a line with escapes for what could disturb a terminal.
fn escaped(line: &[u8]) -> Cow<'_, [u8]> {
    if is_plain_name(line) {
        return Cow::Borrowed(line);
    }
    let shown = shown_name(line).into_iter();
    Cow::Owned(shown.map(|part| part.to_string()).collect::<String>().into_bytes())
}

/// Prints an error or a problem with its causes on standard error, in one line.
pub(crate) fn complain(error: &(dyn Error + 'static)) {
    let text = text(error);
    let shown: String = shown_text(text.as_bytes()).map(|part| part.to_string()).collect();
    // If standard error is closed, nobody can be told.
    let _closed = writeln!(io::stderr(), "lop-fleet: {shown}");
}

/// Returns an error with its causes.
pub(crate) fn text(error: &(dyn Error + 'static)) -> String {
    let mut text = message(error);
    let mut cause = error.source();
    while let Some(source) = cause {
        text.push_str(": ");
        text.push_str(&message(source));
        cause = source.source();
    }
    text
}

/// Returns the message of an error, without the number of a system error.
fn message(error: &(dyn Error + 'static)) -> String {
    error.downcast_ref().map_or_else(|| error.to_string(), io_text)
}
