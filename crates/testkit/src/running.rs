//! A running program. Tests can observe it, send it signals, and wait for its end with a time
//! limit.

use std::fs;
use std::path::PathBuf;
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::output::{Output, Scene};
use crate::process::{Capture, contains, poll, wait_exit};

/// Maximum time that the output may stay open after the program ended. Pipes hold at most 64 KiB.
const GRACE: Duration = Duration::from_secs(30);

/// A moment during the run of a program.
#[derive(Debug, Clone)]
pub enum When {
    /// This long after the start.
    After(Duration),
    /// Standard output contains these bytes.
    Stdout(Vec<u8>),
    /// Standard error contains these bytes.
    Stderr(Vec<u8>),
    /// The file exists and contains this text. An empty text only requires that the file exists.
    File(PathBuf, Vec<u8>),
}

/// A started program. Dropping this value while the program runs kills the process group of the
/// program.
#[must_use = "dropping it kills the program"]
pub struct Running {
    child: Child,
    stdout: Capture,
    stderr: Capture,
    scene: Scene,
    started: Instant,
    timeout: Duration,
    signals_sent: usize,
}

impl Running {
    pub(crate) fn new(
        child: Child,
        [stdout, stderr]: [Capture; 2],
        scene: Scene,
        timeout: Duration,
    ) -> Self {
        Self { child, stdout, stderr, scene, started: Instant::now(), timeout, signals_sent: 0 }
    }

    /// Returns the process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Returns whether the program is still running.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Sends a signal to the program, but not to its process group. Returns whether it was still
    /// running.
    pub fn signal(&mut self, signal: Signal) -> bool {
        let sent = self.is_running() && kill_process(pid(&self.child), signal).is_ok();
        self.signals_sent += usize::from(sent);
        sent
    }

    /// Waits for the moment `when`. Returns true if that moment came before the program ended.
    ///
    /// # Panics
    ///
    /// Panics if the program neither reaches the given moment nor exits within the timeout. The
    /// program is killed and reported as hanging.
    pub fn wait_for(&mut self, when: &When) -> bool {
        let found = poll(self.deadline(), || {
            // The end is checked before `when`, so that output just before the end of the program
            // is not missed.
            let ended = !self.is_running() && self.output_ended();
            if self.shows(when) { Some(true) } else { ended.then_some(false) }
        });
        found.unwrap_or_else(|| self.hangs(&format!("neither an end nor {when:?}")))
    }

    /// Returns what the program has written to standard output so far.
    pub fn stdout(&self) -> Vec<u8> {
        self.stdout.bytes()
    }

    /// Waits for the end of the program and of its output.
    ///
    /// # Panics
    ///
    /// Panics if the program does not end within the timeout. The program is then killed and
    /// reported as hanging. Also panics if the program ends but a process that it started keeps its
    /// output open.
    pub fn wait(mut self) -> Output {
        let deadline = self.deadline();
        let Some(status) = wait_exit(&mut self.child, deadline) else {
            self.hangs("no end");
        };
        let deadline = deadline.min(Instant::now() + GRACE);
        if !(self.stdout.wait_end(deadline) && self.stderr.wait_end(deadline)) {
            self.hangs("it ended, but a process it left behind holds its output open; no end");
        }
        Output {
            ending: status.into(),
            stdout: self.stdout.bytes(),
            stderr: self.stderr.bytes(),
            signals_sent: self.signals_sent,
            scene: self.scene.clone(),
        }
    }

    fn output_ended(&self) -> bool {
        let now = Instant::now();
        self.stdout.wait_end(now) && self.stderr.wait_end(now)
    }

    fn deadline(&self) -> Instant {
        self.started + self.timeout
    }

    fn shows(&self, when: &When) -> bool {
        match when {
            When::After(delay) => self.started.elapsed() >= *delay,
            When::Stdout(text) => self.stdout.contains(text),
            When::Stderr(text) => self.stderr.contains(text),
            When::File(path, text) => fs::read(path).is_ok_and(|bytes| contains(&bytes, text)),
        }
    }

    fn hangs(&mut self, what: &str) -> ! {
        self.kill();
        let what = format!("the program hangs: {what} within {:?}; killed", self.timeout);
        panic!("{}", self.scene.account(&what, &self.stdout.bytes(), &self.stderr.bytes()));
    }

    /// Kills the process group of the program, and reaps the program.
    ///
    /// A program that waits for a disk that does not answer cannot end before the disk answers. It
    /// is left behind.
    fn kill(&mut self) {
        let _ = kill_process_group(pid(&self.child), Signal::KILL);
        let _reaped = wait_exit(&mut self.child, Instant::now() + GRACE);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.is_running() {
            self.kill();
        }
    }
}

/// Sends a signal to a process that the test did not start itself. Returns whether it exists.
pub fn signal_process(pid: u32, signal: Signal) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| kill_process(pid, signal).is_ok())
}

fn pid(child: &Child) -> Pid {
    Pid::from_child(child)
}
