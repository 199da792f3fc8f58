//! What the arguments come to: the second stage after [`crate::args`], worked out once.
//!
//! The only place that looks at the environment and asks what the standard streams are.

mod scan;

use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

use catalog::Catalog;
use serde::Serialize;
use walk::Own;

use crate::args::{GlobalArgs, When};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::formats::document;
use crate::names::Names;
use crate::quantity::count;

pub(crate) use scan::{ScanSettings, Source, Workers};

/// Messages about entries that are printed without `-v`: more would bury what else there is to read.
const SHOWN: usize = 20;

/// How much is said besides the results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verbosity {
    Quiet,
    Normal,
    Verbose,
}

/// One of the standard streams.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stream {
    pub(crate) terminal: bool,
    pub(crate) color: bool,
    pub(crate) names: Names,
}

/// What holds for every command.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) verbosity: Verbosity,
    pub(crate) json: bool,
    pub(crate) progress: bool,
    pub(crate) stdout: Stream,
    pub(crate) stderr: Stream,
    /// Whether somebody reads standard error as it comes.
    interactive: bool,
    catalog: Option<PathBuf>,
}

impl Settings {
    /// Resolves the global arguments.
    pub(crate) fn new(args: GlobalArgs) -> Settings {
        let stderr_terminal = io::stderr().is_terminal();
        let verbosity = match (args.quiet, args.verbose) {
            (true, _) => Verbosity::Quiet,
            (false, true) => Verbosity::Verbose,
            (false, false) => Verbosity::Normal,
        };
        let progress = match args.progress {
            When::Auto => stderr_terminal && verbosity != Verbosity::Quiet,
            When::Always => true,
            When::Never => false,
        };
        Settings {
            verbosity,
            json: args.json,
            progress,
            stdout: Stream::new(io::stdout().is_terminal(), args.color),
            stderr: Stream::stderr(args.color),
            interactive: stderr_terminal,
            catalog: args.catalog.or_else(|| set("LOP_CATALOG")),
        }
    }

    /// Returns the same for somebody who shows no progress.
    pub(crate) fn without_progress(&self) -> Settings {
        Settings { progress: false, ..self.clone() }
    }

    /// Returns the absolute path of the catalog.
    ///
    /// `--catalog` comes first, then `LOP_CATALOG`, then the place that the XDG base directory
    /// specification has for it, which wants a relative `XDG_STATE_HOME` ignored.
    pub(crate) fn catalog(&self) -> Result<PathBuf, CommandError> {
        if let Some(path) = &self.catalog {
            return std::path::absolute(path)
                .map_err(|e| CommandError::failed("cannot tell the current directory").because(e));
        }
        let home = || absolute_of("HOME").map(|home| home.join(".local/state"));
        let state = absolute_of("XDG_STATE_HOME").or_else(home);
        state.map(|state| state.join("lop/catalog.db")).ok_or_else(|| {
            let is = if set("HOME").is_some() { "not an absolute path" } else { "not set" };
            let message = format!("no place for the catalog: HOME is {is}");
            CommandError::new(Exit::Catalog, message)
                .hint("name one with --catalog FILE, or in the variable LOP_CATALOG")
        })
    }

    /// Returns lop's own files: the catalog and its journals. There are none if there is no place for a catalog.
    pub(crate) fn own(&self) -> Own {
        self.catalog().map(|path| Own::new(&Catalog::own_paths(&path))).unwrap_or_default()
    }

    /// Returns the path of the user's home, if it is known and UTF-8.
    pub(crate) fn home() -> Option<String> {
        absolute_of("HOME")?.into_os_string().into_string().ok()
    }

    /// Prints a line of a message to standard error, `lop: ` before it.
    pub(crate) fn complain(&self, text: &[u8]) {
        self.stderr.complain(text);
    }

    /// Prints messages about many entries, a line each; without `-v` some, and how many more of `total` there are.
    pub(crate) fn complain_of(&self, lines: impl IntoIterator<Item = Vec<u8>>, total: u64) {
        let all = self.verbosity == Verbosity::Verbose;
        let mut shown = 0;
        for line in lines.into_iter().take(if all { usize::MAX } else { SHOWN }) {
            self.complain(&line);
            shown += 1;
        }
        let rest = total.saturating_sub(shown);
        if rest > 0 {
            // Of very many an engine keeps no more than some.
            let hint = if all { "" } else { " (-v shows all)" };
            self.complain(format!("… and {} more{hint}", count(rest)).as_bytes());
        }
    }

    /// Prints a line to standard error, without `lop: ` before it.
    pub(crate) fn note(&self, text: &str) {
        self.stderr.note(text);
    }

    /// Prints a line to standard error as it is.
    pub(crate) fn note_bytes(&self, text: &[u8]) {
        write_line(&[&self.stderr.names.show(text)]);
    }

    /// Tells somebody on a terminal what there is to do now.
    pub(crate) fn hint(&self, text: &str) {
        if self.interactive && !self.json && self.verbosity != Verbosity::Quiet {
            self.note(text);
        }
    }

    /// Prints how the run ended for programs to read, with `--json`.
    pub(crate) fn print_exit_record(&self, exit: Exit, message: &str) {
        if self.json && !matches!(exit, Exit::Done | Exit::No) {
            write_line(&[exit_record(exit, message).as_bytes()]);
        }
    }
}

/// Returns a variable of the environment that is an absolute path.
fn absolute_of(name: &str) -> Option<PathBuf> {
    set(name).filter(|path| path.is_absolute())
}

/// Returns what an environment variable names; an empty one counts as not set.
fn set(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// Prints that the arguments are wrong for programs to read, where there are no settings yet.
pub(crate) fn print_usage_record(message: &str) {
    write_line(&[exit_record(Exit::Usage, message).as_bytes()]);
}

fn exit_record(exit: Exit, message: &str) -> String {
    #[derive(Serialize)]
    struct Content<'m> {
        error: Error<'m>,
    }
    #[derive(Serialize)]
    struct Error<'m> {
        code: u8,
        message: &'m str,
    }
    document(&Content { error: Error { code: exit.code(), message } })
}

/// Writes a line to standard error; nobody is left to hear that this cannot be done.
fn write_line(parts: &[&[u8]]) {
    let mut line = parts.concat();
    line.push(b'\n');
    let _unheard = io::stderr().lock().write_all(&line);
}

impl Stream {
    /// Returns standard error. What it shows is for people, also in a log: a name with a newline in it makes no second
    /// message.
    pub(crate) fn stderr(color: When) -> Stream {
        Stream { names: Names::Escaped, ..Stream::new(io::stderr().is_terminal(), color) }
    }

    fn new(terminal: bool, color: When) -> Stream {
        let color = match color {
            // https://no-color.org: set and not empty.
            When::Auto => terminal && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty()),
            When::Always => true,
            When::Never => false,
        };
        let names = if terminal { Names::Escaped } else { Names::Raw };
        Stream { terminal, color, names }
    }

    /// Prints a line as it is, but for what would disturb a terminal.
    pub(crate) fn note(self, text: &str) {
        write_line(&[&self.names.show(text.as_bytes())]);
    }

    /// Prints a message as a line of its own.
    pub(crate) fn complain(self, text: &[u8]) {
        let (start, end) = self.bold();
        write_line(&[start, b"lop:", end, b" ", &self.names.show(text)]);
    }

    /// Returns what starts and what ends bold text; nothing without colours.
    pub(crate) fn bold(self) -> (&'static [u8], &'static [u8]) {
        if self.color { (b"\x1b[1m", b"\x1b[0m") } else { (b"", b"") }
    }
}
