//! Kills a program before a chosen system call, fails the call, or lists calls, with strace(1).
//!
//! # What N counts
//!
//! strace counts separately for each *thread* and each *name of a call* (seen with 6.1, and
//! documented in strace(1): "per syscall and per tracee"):
//!
//! - If several threads reach their N-th call, [`Strace::fail`] fails the N-th call of each, and
//!   [`Strace::kill`] kills all threads with the first.
//! - An N that no single thread reaches never fires, even if all threads together made more calls.
//! - In a set such as `rename,renameat2`, each name has a separate N-th call, which is *not* the
//!   N-th call of the set. To test all moments of a program, take one name at a time, and each N
//!   from 1 until it does not fire.
//! - A child process counts from 1, but `exec` does not reset the count. The count includes the
//!   calls of the dynamic linker, and those of the shell that
//!   [`descriptor_limit`](Invocation::descriptor_limit) uses.
//!
//! With [`Calls::at`], only calls that name a path count, which excludes the linker.
//!
//! # The moment of a kill
//!
//! The signal arrives on entry. The call that triggers the signal does not happen, but all calls
//! before it did. (`--seccomp-bpf` is not used because strace 6.1 loses the signal with it.) To
//! stop a program after a call, kill it before the next call of any name.
//!
//! # Limits
//!
//! The process id of the run is that of strace, so signals also go to strace, which ends when the
//! program ends. A program that is set-id, traces others or is traced already cannot run under
//! strace. N is at most 65,535.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::Signal;

use crate::TEST_TIMEOUT;
use crate::invocation::Invocation;
use crate::output::{Ending, Output};
use crate::process::{find_tool, run_tool};

/// An installed strace that is permitted to trace.
#[derive(Debug, Clone)]
pub struct Strace {
    tool: PathBuf,
}

/// The system calls to act on.
#[derive(Debug, Clone)]
pub struct Calls {
    names: String,
    nth: u32,
    onwards: bool,
    paths: Vec<PathBuf>,
}

/// A run under strace.
#[derive(Debug)]
#[must_use = "a run that nobody looks at tests nothing"]
pub struct Traced {
    /// The result of the run.
    pub output: Output,
    /// The calls with the chosen names as strace prints them, in the order in which they began.
    pub calls: Vec<String>,
    /// Those of `calls` that were made to fail, or the call before which the program was killed.
    pub fired: Vec<String>,
}

impl Traced {
    /// Returns true if the program reached the call that should fail or be prevented.
    pub fn fired(&self) -> bool {
        !self.fired.is_empty()
    }
}

impl Calls {
    /// Selects every call with these names, in the syntax of strace's `trace=`: `rename,renameat2`,
    /// `%file`.
    ///
    /// A name that does not exist on the machine is an error, unless it is optional: `?rename`.
    pub fn of(names: &str) -> Self {
        Self { names: names.to_owned(), nth: 1, onwards: true, paths: Vec::new() }
    }

    /// Selects the `nth` call (counted from 1) of each name by each thread. See the [module](self).
    ///
    /// # Panics
    ///
    /// Panics if strace cannot count that far.
    #[track_caller]
    pub fn nth(names: &str, nth: u32) -> Self {
        assert!((1..=65_535).contains(&nth), "strace counts from 1 to 65535, not to {nth}");
        Self { nth, onwards: false, ..Self::of(names) }
    }

    /// Also selects all later calls.
    #[must_use]
    pub fn onwards(mut self) -> Self {
        self.onwards = true;
        self
    }

    /// Counts only calls that name this path, or a descriptor that is open on it.
    ///
    /// Give the path in the form that the program uses. For a call relative to the descriptor of a
    /// directory, give the path of that directory, or only the name that is passed to the call.
    /// Several paths are combined.
    #[must_use]
    pub fn at(mut self, path: impl AsRef<Path>) -> Self {
        self.paths.push(path.as_ref().to_path_buf());
        self
    }

    fn when(&self) -> String {
        format!("{}{}", self.nth, if self.onwards { "+" } else { "" })
    }
}

impl Strace {
    /// Returns strace, or the reason why it cannot be used. The caller prints the reason with
    /// [`skipped`](crate::skipped).
    ///
    /// # Errors
    ///
    /// strace is not installed, or this process may not trace.
    pub fn find() -> Result<Self, String> {
        let tool = find_tool("strace").ok_or("strace is not installed")?;
        let mut attempt = Command::new(&tool);
        attempt.args(["-f", "-qq", "-e", "trace=none", "-e", "inject=chroot:error=EIO:when=1"]);
        let finished = run_tool(attempt.arg("/bin/true"), TEST_TIMEOUT);
        if finished.status.success() {
            return Ok(Self { tool });
        }
        Err(format!("strace may not trace here, or cannot inject: {}", finished.account()))
    }

    /// Runs a program and kills it before the selected call.
    ///
    /// # Panics
    ///
    /// Panics if the program cannot be started or hangs, or if strace does not know the call.
    #[track_caller]
    pub fn kill(&self, invocation: Invocation, calls: &Calls) -> Traced {
        self.run(invocation, calls, Some(Injection::Kill))
    }

    /// Runs a program and fails the selected calls with an error such as `ENOSPC`. The calls have
    /// no effect.
    ///
    /// # Panics
    ///
    /// Panics if the program cannot be started or hangs, or if strace does not know the call or the
    /// error.
    #[track_caller]
    pub fn fail(&self, invocation: Invocation, calls: &Calls, error: &str) -> Traced {
        self.run(invocation, calls, Some(Injection::Error(error)))
    }

    /// Runs a program and lists the selected calls without changing them.
    ///
    /// # Panics
    ///
    /// Panics if the program cannot be started or hangs, or if strace does not know the call.
    #[track_caller]
    pub fn list(&self, invocation: Invocation, calls: &Calls) -> Traced {
        self.run(invocation, calls, None)
    }

    #[track_caller]
    fn run(&self, invocation: Invocation, calls: &Calls, injection: Option<Injection>) -> Traced {
        let log = invocation.scratch_file("strace");
        let open = fs::set_permissions(&log, Permissions::from_mode(0o666));
        open.unwrap_or_else(|e| panic!("no log for strace: {}: {e}", log.display()));
        let output = invocation.under(self.command(&log, calls, injection)).run();
        let text = fs::read(&log).unwrap_or_default();
        drop(fs::remove_file(&log));
        if text.is_empty() && self.complains(&output) {
            output.fail("strace does not run this");
        }
        let calls = lines(&String::from_utf8_lossy(&text));
        let killed = output.ending == Ending::Signal(Signal::KILL.as_raw());
        let is_it = |call: &&String| match injection {
            Some(Injection::Error(_)) => call.ends_with("(INJECTED)"),
            // Other threads were killed in the middle of their calls.
            Some(Injection::Kill) => {
                killed && call.ends_with(" = ?") && !call.contains("<unfinished ...>")
            }
            None => false,
        };
        let fired = calls.iter().filter(is_it).cloned().collect();
        Traced { output, calls, fired }
    }

    /// Returns whether strace refused its arguments, so that the program did not run.
    fn complains(&self, output: &Output) -> bool {
        let name = self.tool.as_os_str().as_bytes();
        let ours = output.stderr.strip_prefix(name).is_some_and(|rest| rest.starts_with(b": "));
        ours && output.ending == Ending::Code(1)
    }

    fn command(
        &self,
        log: &Path,
        calls: &Calls,
        injection: Option<Injection>,
    ) -> Vec<std::ffi::OsString> {
        let mut command = vec![self.tool.clone().into_os_string()];
        command.extend(["-f", "-qq", "-y", "-e", "signal=none", "-o"].map(Into::into));
        command.push(log.into());
        for path in &calls.paths {
            assert!(!path.as_os_str().as_bytes().is_empty(), "strace needs a path");
            command.extend(["-P".into(), path.into()]);
        }
        command.extend(["-e".into(), format!("trace={}", calls.names).into()]);
        let what = match injection {
            Some(Injection::Kill) => "signal=SIGKILL".to_owned(),
            Some(Injection::Error(error)) => format!("error={error}"),
            None => return command,
        };
        let inject = format!("inject={}:{what}:when={}", calls.names, calls.when());
        command.extend(["-e".into(), inject.into()]);
        command
    }
}

/// The effect on a call.
#[derive(Debug, Clone, Copy)]
enum Injection<'a> {
    Kill,
    Error(&'a str),
}

/// Returns the calls in a log. strace splits a call over two lines if another thread makes a call
/// meanwhile. The two parts are joined.
pub(super) fn lines(log: &str) -> Vec<String> {
    let mut calls: Vec<String> = Vec::new();
    let mut unfinished: BTreeMap<&str, usize> = BTreeMap::new();
    for line in log.lines() {
        let (thread, call) = line.split_once(' ').unwrap_or((line, ""));
        let call = call.trim_start();
        if let Some(start) = call.strip_suffix(" <unfinished ...>") {
            unfinished.insert(thread, calls.len());
            calls.push(format!("{thread} {start}"));
        } else if let Some((_, end)) = call.split_once(" resumed>")
            && call.starts_with("<... ")
            && let Some(begun) = unfinished.remove(thread)
        {
            calls[begun].push_str(end);
        } else if !call.starts_with("+++") {
            calls.push(format!("{thread} {call}"));
        }
    }
    calls
}
