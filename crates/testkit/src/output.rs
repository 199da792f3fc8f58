//! The output of a run and how it ended, with assertions that report everything when they fail.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;

use crate::listing::listing;

/// Maximum number of entries of the working directory that a failure lists.
const ENTRIES_SHOWN: usize = 100;
/// Maximum number of bytes of each stream that a failure shows, half from its beginning and half
/// from its end.
const STREAM_BYTES_SHOWN: usize = 16 * 1024;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The process exited with this code.
    Code(i32),
    /// This signal ended the process.
    Signal(i32),
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(f, "exit code {code}"),
            Self::Signal(signal) => write!(f, "signal {signal}"),
        }
    }
}

impl From<ExitStatus> for Ending {
    fn from(status: ExitStatus) -> Self {
        let signal = || Self::Signal(status.signal().expect("no code, so a signal"));
        status.code().map_or_else(signal, Self::Code)
    }
}

/// The working directory and the command line of a run.
#[derive(Debug, Clone)]
pub(crate) struct Scene {
    pub(crate) cwd: PathBuf,
    pub(crate) argv: Vec<OsString>,
}

impl Scene {
    /// Returns the report of a failure.
    pub(crate) fn account(&self, what: &str, stdout: &[u8], stderr: &[u8]) -> String {
        let argv: Vec<_> =
            self.argv.iter().map(|a| a.as_bytes().escape_ascii().to_string()).collect();
        format!(
            "{what}\ncwd: {}\nargv: {argv:?}\n--- listing of cwd\n{}--- stdout\n{}\n--- stderr\n{}\n---",
            self.cwd.display(),
            listing(&self.cwd, ENTRIES_SHOWN),
            excerpt(stdout),
            excerpt(stderr),
        )
    }
}

/// The result of a run. Assert on it immediately, while the files of the sandbox can still be
/// listed.
#[derive(Debug, Clone)]
#[must_use = "a run that nobody looks at tests nothing"]
pub struct Output {
    /// How the program ended.
    pub ending: Ending,
    /// Everything on standard output, or the part that was read if it was closed early.
    pub stdout: Vec<u8>,
    /// Everything on standard error.
    pub stderr: Vec<u8>,
    /// The number of requested signals that reached the running program. Race tests should count
    /// them.
    pub signals_sent: usize,
    pub(crate) scene: Scene,
}

impl Output {
    /// Asserts exit code 0.
    #[track_caller]
    pub fn success(&self) -> &Self {
        self.code(0)
    }

    /// Asserts this exit code.
    #[track_caller]
    pub fn code(&self, expected: i32) -> &Self {
        self.ended(Ending::Code(expected))
    }

    /// Asserts that this signal ended the program.
    #[track_caller]
    pub fn signal(&self, expected: crate::Signal) -> &Self {
        self.ended(Ending::Signal(expected.as_raw()))
    }

    /// Returns standard output as text.
    ///
    /// # Panics
    ///
    /// Panics if it is not UTF-8.
    #[track_caller]
    pub fn stdout_str(&self) -> &str {
        self.text(&self.stdout, "stdout")
    }

    /// Returns standard error as text.
    ///
    /// # Panics
    ///
    /// Panics if it is not UTF-8.
    #[track_caller]
    pub fn stderr_str(&self) -> &str {
        self.text(&self.stderr, "stderr")
    }

    /// Fails the test with `what` and the report of the run.
    ///
    /// # Panics
    ///
    /// Always.
    #[track_caller]
    pub fn fail(&self, what: &str) -> ! {
        panic!("{}", self.scene.account(what, &self.stdout, &self.stderr));
    }

    #[track_caller]
    fn ended(&self, expected: Ending) -> &Self {
        if self.ending != expected {
            self.fail(&format!("expected {expected}, but it ended with {}", self.ending));
        }
        self
    }

    #[track_caller]
    fn text<'a>(&self, stream: &'a [u8], name: &str) -> &'a str {
        std::str::from_utf8(stream).unwrap_or_else(|e| self.fail(&format!("{name}: {e}")))
    }
}

/// Returns the stream as text, with unprintable characters escaped. A long text is shortened in the
/// middle.
fn excerpt(stream: &[u8]) -> String {
    if stream.len() <= STREAM_BYTES_SHOWN {
        return printable(stream);
    }
    let half = STREAM_BYTES_SHOWN / 2;
    let (head, tail) = (&stream[..half], &stream[stream.len() - half..]);
    let left_out = stream.len() - STREAM_BYTES_SHOWN;
    format!("{}\n[... {left_out} bytes ...]\n{}", printable(head), printable(tail))
}

fn printable(bytes: &[u8]) -> String {
    let lossy = String::from_utf8_lossy(bytes);
    let shown = |c: char| {
        if c.is_control() && c != '\n' { c.escape_default().to_string() } else { c.to_string() }
    };
    lossy.chars().map(shown).collect()
}
