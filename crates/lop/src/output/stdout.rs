//! Writes to standard output and handles write errors. A closed pipe is not an error.

use runtime::Mutex;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;

use serde::Serialize;

use crate::args::Format;
use crate::error::CommandError;
use crate::output::formats::summary_document;
use crate::settings::{Settings, Verbosity};

/// Size of the output buffer, equal to the default capacity of a pipe on Linux (`pipe(7)`).
const BUFFER_BYTES: usize = 64 * 1024;

/// Runs `write` with a buffered standard output.
///
/// Returns whether everything was written. If not, the reader closed the pipe. A closed pipe is not an error, because
/// the reader does not want the rest.
///
/// # Errors
///
/// Fails if standard output cannot be written for a reason other than a closed pipe.
pub(crate) fn print(
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<bool, CommandError> {
    let outcome = io::stdout().as_fd().try_clone_to_owned().and_then(|stdout| {
        let mut out = BufWriter::with_capacity(BUFFER_BYTES, File::from(stdout));
        let written = write(&mut out).and_then(|()| io::Write::flush(&mut out));
        // Dropping the buffer after an error would try to write its contents again.
        let (_file, _unwritten) = out.into_parts();
        written
    });
    match outcome {
        Ok(()) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        Err(e) => Err(CommandError::failed("cannot write to standard output").because(e)),
    }
}

/// Prints a summary as a separate JSON document. Returns whether standard output is still open.
///
/// # Errors
///
/// Fails if standard output cannot be written. A closed pipe is not an error.
pub(crate) fn print_summary(summary: &impl Serialize) -> Result<bool, CommandError> {
    print(|out| writeln!(out, "{}", summary_document(summary)))
}

/// An output that several threads share. If the reader closes the output, the work continues, because a mirror should
/// not stop halfway for lack of a reader.
pub(crate) struct Lines<'o> {
    out: Mutex<(&'o mut (dyn Write + Send), io::Result<()>)>,
}

impl<'o> Lines<'o> {
    pub(crate) fn new(out: &'o mut (dyn Write + Send)) -> Lines<'o> {
        Lines { out: Mutex::new((out, Ok(()))) }
    }

    /// Writes `bytes` without mixing them with the output of other threads. Returns whether the output is still open.
    pub(crate) fn write(&self, bytes: &[u8]) -> bool {
        self.with(|out| out.write_all(bytes)).is_ok()
    }

    /// Flushes everything that was written.
    pub(crate) fn flush(&self) {
        let _kept_for_end = self.with(|out| out.flush());
    }

    /// Calls `act` with the output, unless an earlier call failed. The first failure is kept for [`Lines::end`], and
    /// every later call returns its error kind.
    fn with(
        &self,
        act: impl FnOnce(&mut (dyn Write + Send)) -> io::Result<()>,
    ) -> Result<(), io::ErrorKind> {
        let mut out = self.out.lock();
        if out.1.is_ok() {
            out.1 = act(out.0);
        }
        out.1.as_ref().map_err(io::Error::kind).copied()
    }

    /// Ends the output.
    ///
    /// # Errors
    ///
    /// Returns the error of the first failed write or flush.
    pub(crate) fn end(self) -> io::Result<()> {
        self.out.into_inner().1
    }
}

impl Write for &Lines<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.with(|out| out.write_all(bytes))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(self.with(|out| out.flush())?)
    }
}

/// Prints a summary to standard output: with `--json` as a document, otherwise as text. With `--quiet`, text is not
/// printed. Returns whether standard output is still open.
///
/// # Errors
///
/// Fails if standard output cannot be written. A closed pipe is not an error.
pub(crate) fn print_summary_or_text(
    summary: &impl Serialize,
    text: &str,
    settings: &Settings,
) -> Result<bool, CommandError> {
    if settings.json {
        print_summary(summary)
    } else if settings.verbosity == Verbosity::Quiet {
        Ok(true)
    } else {
        print(|out| writeln!(out, "{text}"))
    }
}

/// Prints the summary of a command that has no other results. With `--json`, the summary is a document on standard
/// output, otherwise text on standard error. With `--quiet`, text is not printed.
///
/// # Errors
///
/// Fails if standard output cannot be written. A closed pipe is not an error.
pub(crate) fn summarize(
    summary: &impl Serialize,
    text: &str,
    settings: &Settings,
) -> Result<(), CommandError> {
    if settings.json {
        print_summary(summary)?;
    }
    settings.summarize(text.as_bytes());
    Ok(())
}

/// Prints a summary to standard error while the results go to standard output. With `--json`, the summary is a
/// document, otherwise `text`. Results in JSON already include the summary, so nothing is printed for them.
pub(crate) fn print_summary_aside(
    format: Format,
    settings: &Settings,
    summary: &impl Serialize,
    text: &str,
) {
    if settings.verbosity == Verbosity::Quiet {
        return;
    }
    if !settings.json {
        text.lines().for_each(|line| settings.note(line));
    } else if format != Format::Json {
        settings.note(&summary_document(summary));
    }
}
