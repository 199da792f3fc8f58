//! The standard streams: whether they are terminals, how they show names and colours, and the lines that go to standard
//! error.
//!
//! Every line on standard error is written with one system call, so that the lines of several threads do not mix. If a
//! line cannot be written, it is dropped, because there is nowhere else to report the failure.

use std::io::{self, IsTerminal, Write};

use crate::args::When;
use crate::output::names::Names;

/// One of the standard streams.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream {
    pub(crate) terminal: bool,
    pub(crate) color: bool,
    pub(crate) names: Names,
}

impl Stream {
    /// Describes standard output.
    pub(crate) fn stdout(color: When) -> Stream {
        Stream::new(io::stdout().is_terminal(), color)
    }

    /// Describes standard error. Names are escaped even if the stream is not a terminal, because a name with a newline
    /// could otherwise forge a message in a log.
    pub(crate) fn stderr(color: When) -> Stream {
        Stream { names: Names::Escaped, ..Stream::new(io::stderr().is_terminal(), color) }
    }

    fn new(terminal: bool, color: When) -> Stream {
        let color = match color {
            // According to https://no-color.org, `NO_COLOR` takes effect if it is set and not empty.
            When::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
            When::Always => true,
            When::Never => false,
        };
        let names = if terminal { Names::Escaped } else { Names::Raw };
        Stream { terminal, color, names }
    }

    /// Prints a line to standard error. Characters that could disturb a terminal are escaped.
    pub(crate) fn note(self, text: &[u8]) {
        write_line(&[&self.names.show_text(text)]);
    }

    /// Prints a message to standard error, prefixed with `lop: `.
    pub(crate) fn complain(self, text: &[u8]) {
        let (start, end) = self.bold();
        write_line(&[start, b"lop:", end, b" ", &self.names.show_text(text)]);
    }

    /// Writes a line of bold text.
    pub(crate) fn write_heading(self, out: &mut impl Write, text: &str) -> io::Result<()> {
        let (start, end) = self.bold();
        out.write_all(&[start, text.as_bytes(), end, b"\n"].concat())
    }

    /// Returns the escape sequences that start and end bold text. Both are empty if colours are off.
    pub(crate) fn bold(self) -> (&'static [u8], &'static [u8]) {
        if self.color { (b"\x1b[1m", b"\x1b[0m") } else { (b"", b"") }
    }
}

/// Writes a line to standard error in one piece.
pub(crate) fn write_line(parts: &[&[u8]]) {
    let mut line = parts.concat();
    line.push(b'\n');
    let _unheard = io::stderr().lock().write_all(&line);
}
