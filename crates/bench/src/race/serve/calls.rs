//! Counts the system calls of a server for each request, with strace.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::Failure;
use crate::counts::parse_calls;
use crate::load::Meter;

/// The time within which strace attaches to all threads.
const ATTACH_LIMIT: Duration = Duration::from_secs(5);

/// Returns the outcome of `load`, and the calls that all threads of a server make meanwhile.
///
/// # Errors
///
/// strace is missing or may not attach, or the load fails.
pub(super) fn during<T>(
    meter: &Meter,
    table: &Path,
    load: impl FnOnce() -> Result<T, Failure>,
) -> Result<(T, BTreeMap<String, u64>), Failure> {
    let mut command = Command::new("strace");
    command.args(["-f", "-q", "-c", "-U", "calls,name", "-o"]).arg(table);
    let pids = meter.pids();
    for pid in &pids {
        command.args(["-p", &pid.to_string()]);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let started = testkit::spawn(&mut command);
    let mut strace = started.map_err(|e| Failure::new(format!("strace: {e}")))?;
    let begun = Instant::now();
    while !pids.iter().all(|pid| is_traced(*pid)) && begun.elapsed() < ATTACH_LIMIT {
        std::thread::sleep(Duration::from_millis(20));
    }
    let outcome = load();
    let _ended_already = kill_process(Pid::from_child(&strace), Signal::INT);
    strace.wait().map_err(|e| Failure::new(format!("strace: {e}")))?;
    let outcome = outcome?;
    let text = fs::read_to_string(table).map_err(|e| Failure::at(table, e))?;
    Ok((outcome, parse_calls(&text)))
}

/// Returns true if all threads of a process have a tracer.
fn is_traced(pid: u32) -> bool {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return false };
    threads.filter_map(Result::ok).all(|thread| {
        let status = fs::read_to_string(thread.path().join("status")).unwrap_or_default();
        status.lines().any(|line| line.starts_with("TracerPid:") && !line.ends_with("\t0"))
    })
}
