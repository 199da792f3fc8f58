//! Prints results, problems and errors.

use std::error::Error;
use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

/// How results are printed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    /// True for JSON instead of text.
    pub(crate) json: bool,
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
        let mut out = io::stdout().lock();
        let printed = if self.json {
            let document = Document { format_version: 1, result: document };
            serde_json::to_string(&document)
                .map_err(io::Error::from)
                .and_then(|json| writeln!(out, "{json}"))
        } else {
            out.write_all(text)
        };
        match printed.and_then(|()| out.flush()) {
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            Err(e) => Err(format!("cannot write to standard output: {e}").into()),
            Ok(()) => Ok(()),
        }
    }

    /// Prints advice on standard error, unless the output is for programs.
    pub(crate) fn hint(self, text: &str) {
        if !self.json {
            let _closed = writeln!(io::stderr(), "hint: {text}");
        }
    }
}

/// Prints an error or a problem with its causes on standard error, in one line.
pub(crate) fn complain(error: &(dyn Error + 'static)) {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(source) = cause {
        text.push_str(": ");
        text.push_str(&source.to_string());
        cause = source.source();
    }
    let shown: String =
        runtime::shown::shown_text(text.as_bytes()).map(|part| part.to_string()).collect();
    // If standard error is closed, nobody can be told.
    let _closed = writeln!(io::stderr(), "lop-fleet: {shown}");
}
