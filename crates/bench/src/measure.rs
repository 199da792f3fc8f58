//! Runs one command and measures it.
//!
//! A small process (`lop-bench measure`) starts the command, because the kernel adds the memory of
//! the parent process to the peak of the child. The process that runs a race is large, because it
//! holds all answers.

use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use wait4::Wait4;

use crate::Failure;
use crate::record::Ending;

/// A command to measure, and the destination of its output.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Task {
    /// The program and its arguments.
    pub argv: Vec<OsString>,
    /// Environment variables, in addition to the usual ones.
    pub variables: Vec<(String, PathBuf)>,
    /// The home directory, a scratch folder in which the program finds no cache of the user.
    pub home: PathBuf,
    /// The file for standard output. Standard error goes to a file of the same name with the suffix
    /// `.err`.
    pub output: PathBuf,
    /// A directory on the file system to sync at the end, if the command changes a file system.
    pub settle: Option<PathBuf>,
    /// The time limit. A command that runs longer is stopped and reported as [`Ending::Stopped`].
    pub limit: Duration,
}

/// The measurements of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    /// How the run ended.
    pub ending: Ending,
    /// Seconds from the start of the process to its end.
    pub wall_s: f64,
    /// Seconds from the start until `syncfs` returned after the end of the process.
    pub settled_s: Option<f64>,
    /// CPU seconds in user mode.
    pub user_s: f64,
    /// CPU seconds in the kernel.
    pub sys_s: f64,
    /// Peak resident memory of the largest process in KiB.
    pub peak_kib: u64,
    /// Number of bytes that read calls returned.
    pub read_bytes: u64,
    /// Number of bytes that came from storage.
    pub storage_bytes: u64,
}

/// Measures a task in a separate process, which runs the `measure` command of this program.
///
/// # Errors
///
/// The command or the measuring process cannot be started.
pub(crate) fn apart(task: &Task) -> Result<Usage, Failure> {
    let order = task.output.with_extension("task");
    let json = serde_json::to_vec(task).map_err(|e| Failure::new(e.to_string()))?;
    std::fs::write(&order, json).map_err(|e| Failure::at(&order, e))?;
    let this = std::env::current_exe().map_err(|e| Failure::new(e.to_string()))?;
    let output = Command::new(&this).arg("measure").arg(&order).output();
    let output = output.map_err(|e| Failure::at(&this, e))?;
    serde_json::from_slice(&output.stdout).map_err(|_| {
        let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Failure::new(format!("{}: {reason}", task.argv[0].display()))
    })
}

/// Measures the task that `apart` stored in a file, and returns the result to print.
///
/// # Errors
///
/// The program cannot be started.
pub fn stored(order: &Path) -> Result<String, Failure> {
    let json = std::fs::read(order).map_err(|e| Failure::at(order, e))?;
    let task: Task = serde_json::from_slice(&json).map_err(|e| Failure::at(order, e))?;
    let usage = here(&task).map_err(|e| Failure::new(e.to_string()))?;
    serde_json::to_string(&usage).map_err(|e| Failure::new(e.to_string()))
}

fn here(task: &Task) -> io::Result<Usage> {
    let (program, args) = task.argv.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let settle = task.settle.as_ref().map(File::open).transpose()?;
    let mut command = Command::new(program);
    command
        .args(args)
        .envs(task.variables.iter().cloned())
        .env("HOME", &task.home)
        .env("LOP_CONFIG", "")
        .process_group(0);
    for place in ["CACHE", "CONFIG", "DATA", "STATE"] {
        command.env_remove(format!("XDG_{place}_HOME"));
    }
    command.stdin(Stdio::null()).stdout(File::create(&task.output)?);
    command.stderr(File::create(task.output.with_extension("err"))?);
    // The command has its own process group, so a signal to this process must be passed on.
    let stopped = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&stopped))?;
    }
    let start = Instant::now();
    let mut child = command.spawn()?;
    let pid = Pid::from_child(&child);
    let in_time = ends_within(pid, task.limit, &stopped)?;
    let wall_s = start.elapsed().as_secs_f64();
    if !in_time {
        // This fails if the command has just ended, which is fine.
        let _ = kill_process_group(pid, Signal::KILL);
    }
    // The kernel reports the bytes that an exited process read until the process is reaped.
    let (read_bytes, storage_bytes) = bytes_read(pid);
    let spent = child.wait4()?;
    let settled_s = match settle {
        Some(dir) => {
            rustix::fs::syncfs(&dir)?;
            Some(start.elapsed().as_secs_f64())
        }
        None => None,
    };
    let ending = match (in_time, spent.status.success()) {
        (true, true) => Ending::Done,
        (true, false) => Ending::Failed,
        (false, _) => Ending::Stopped,
    };
    Ok(Usage {
        ending,
        wall_s,
        settled_s,
        user_s: spent.rusage.utime.as_secs_f64(),
        sys_s: spent.rusage.stime.as_secs_f64(),
        peak_kib: spent.rusage.maxrss / 1024,
        read_bytes,
        storage_bytes,
    })
}

/// Waits for the end of a child without reaping it. Returns false if it runs on at the time limit or
/// when a signal sets `stopped`.
pub(crate) fn ends_within(pid: Pid, limit: Duration, stopped: &AtomicBool) -> io::Result<bool> {
    let handle = pidfd_open(pid, PidfdFlags::empty())?;
    let deadline = Instant::now() + limit;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&left)) {
            Ok(ready) => return Ok(ready > 0),
            Err(rustix::io::Errno::INTR) if stopped.load(Ordering::Relaxed) => return Ok(false),
            Err(rustix::io::Errno::INTR) => {}
            Err(e) => return Err(e.into()),
        }
    }
}

/// Returns `rchar` and `read_bytes` from `/proc/PID/io`. Both include the child processes that the
/// process waited for.
fn bytes_read(pid: Pid) -> (u64, u64) {
    let path = format!("/proc/{}/io", pid.as_raw_nonzero());
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
    };
    (field("rchar:"), field("read_bytes:"))
}
