//! Runs `lop scan` as a separate process.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::error::CommandError;
use crate::exit::Exit;

/// Starts scans, one after the other.
#[derive(Debug)]
pub(super) struct Scanner {
    program: PathBuf,
    catalog: PathBuf,
    child: Option<Child>,
    started: Instant,
    took: Duration,
}

impl Scanner {
    pub(super) fn new(catalog: &Path) -> Result<Scanner, CommandError> {
        let program = std::env::current_exe()
            .map_err(|e| CommandError::failed("cannot find the program itself").because(e))?;
        let (catalog, started) = (catalog.to_path_buf(), Instant::now());
        Ok(Scanner { program, catalog, child: None, started, took: Duration::ZERO })
    }

    pub(super) fn is_running(&self) -> bool {
        self.child.is_some()
    }

    /// Returns how long the last scan took.
    pub(super) fn took(&self) -> Duration {
        self.took
    }

    /// Starts a scan of some directories. It has its own process group, so that Ctrl-C on the terminal does not
    /// interrupt it directly. Its messages go to standard error.
    pub(super) fn start(&mut self, roots: &[PathBuf], is_full: bool) -> io::Result<()> {
        let mut command = Command::new(&self.program);
        command.arg("scan").arg("--quiet").arg("--catalog").arg(&self.catalog);
        command.args(is_full.then_some("--full")).arg("--");
        command.args(roots).stdin(Stdio::null()).stdout(Stdio::null()).process_group(0);
        self.started = Instant::now();
        self.child = Some(command.spawn()?);
        Ok(())
    }

    /// Returns the result of a scan that has ended since the last call. The error is the reason as text.
    pub(super) fn poll(&mut self) -> Option<Result<(), String>> {
        let status = self.child.as_mut()?.try_wait().transpose()?;
        self.child = None;
        self.took = self.started.elapsed();
        Some(status.map_err(|error| fsops::io_text(&error)).and_then(result))
    }

    /// Interrupts a running scan, and waits until it has ended. The scan keeps its results so far.
    pub(super) fn stop(&mut self) {
        if let Some(mut child) = self.child.take() {
            // The process id stays valid until `wait` returns.
            let _gone = kill_process(Pid::from_child(&child), Signal::TERM);
            let _status = child.wait();
        }
    }
}

/// Returns the result of a scan with this exit status. A scan that could not examine some entries counts as done,
/// because it has printed a message about them.
fn result(status: ExitStatus) -> Result<(), String> {
    match status.code() {
        Some(code) if code == i32::from(Exit::Done.code()) => Ok(()),
        Some(code) if code == i32::from(Exit::Partial.code()) => Ok(()),
        _ => Err(status.to_string()),
    }
}
