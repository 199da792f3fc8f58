//! What perf counts during a load: system calls, and softirqs outside the server.
//!
//! perf needs root. It finds the events of the kernel in `tracefs`, which is mounted in a mount
//! namespace that ends with perf. Without perf, there are no figures.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::Failure;
use crate::load::Meter;

/// Runs perf with these arguments.
const RUN: &str = r#"mount -t tracefs none /sys/kernel/tracing 2>/dev/null; exec perf "$@""#;

/// The time within which perf starts to count.
const START: Duration = Duration::from_millis(500);

/// The softirqs that send and receive packets, at once or when a timer of a connection says so.
const NETWORK: [&str; 5] = ["HRTIMER", "TIMER", "TASKLET", "NET_TX", "NET_RX"];

/// Returns the outcome of `load` and the number of system calls of a server meanwhile.
///
/// # Errors
///
/// The load fails.
pub(super) fn calls<T>(
    meter: &Meter,
    file: &Path,
    load: impl FnOnce() -> Result<T, Failure>,
) -> Result<(T, Option<u64>), Failure> {
    let pids: Vec<String> = meter.pids().iter().map(u32::to_string).collect();
    let args = ["stat", "-x,", "-e", "raw_syscalls:sys_enter", "-p", &pids.join(",")];
    let outcome = during(&args, file, load)?;
    let text = fs::read_to_string(file).unwrap_or_default();
    Ok((outcome, text.lines().find_map(|line| line.split(',').next()?.parse().ok())))
}

/// Returns the outcome of `load`, and the processor time that softirqs of the network take per second
/// meanwhile. Those that interrupt the server or its clients do not count, because they are part of
/// their processor time. Neither does the first `delay` of the load.
///
/// # Errors
///
/// The load fails.
pub(super) fn softirqs<T>(
    meter: &Meter,
    delay: Duration,
    file: &Path,
    load: impl FnOnce() -> Result<T, Failure>,
) -> Result<(T, Option<f64>), Failure> {
    let delay = delay.as_millis().to_string();
    let events = "irq:softirq_entry,irq:softirq_exit";
    let args = ["record", "-q", "-a", "-m", "8192", "-D", &delay, "-e", events];
    let outcome = during(&args, file, load)?;
    let mut script = Command::new("perf");
    script.args(["script", "--ns", "-F", "comm,pid,cpu,time,event,trace", "-i"]).arg(file);
    let Ok(output) = script.stdin(Stdio::null()).output() else { return Ok((outcome, None)) };
    // The clients are processes of this program.
    let clients = fs::read_to_string("/proc/self/comm").unwrap_or_default();
    let servers = meter.pids();
    let is_paid = |comm: &str, pid: u32| servers.contains(&pid) || comm == clients.trim();
    Ok((outcome, share(&String::from_utf8_lossy(&output.stdout), is_paid)))
}

/// Runs perf while `load` runs. perf writes into the file, or does not if it is missing or fails.
fn during<T>(
    args: &[&str],
    file: &Path,
    load: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    drop(fs::remove_file(file));
    let (first, rest) = args.split_at(1);
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", RUN, "sh"]).args(first).arg("-o").arg(file).args(rest);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let Ok(mut perf) = testkit::spawn(&mut command) else { return load() };
    std::thread::sleep(START);
    let outcome = load();
    let _ended_already = kill_process(Pid::from_child(&perf), Signal::INT);
    let _without_a_file_there_are_no_figures = perf.wait();
    outcome
}

/// Adds up the softirqs in the output of `perf script` and divides them by the time from the first
/// line to the last one.
fn share(script: &str, is_paid: impl Fn(&str, u32) -> bool) -> Option<f64> {
    let mut entered: BTreeMap<&str, f64> = BTreeMap::new();
    let (mut first, mut last, mut sum) = (None, 0.0, 0.0);
    for line in script.lines() {
        let Some(event) = Event::parse(line) else { continue };
        first.get_or_insert(event.time_s);
        last = event.time_s;
        let since = entered.remove(event.cpu);
        if event.enters {
            entered.insert(event.cpu, event.time_s);
        } else if let Some(since) = since
            && NETWORK.contains(&event.action)
            && !is_paid(event.comm, event.pid)
        {
            sum += event.time_s - since;
        }
    }
    first.filter(|first| last > *first).map(|first| sum / (last - first))
}

/// A line such as `swapper     0 [000]  88.123456789: irq:softirq_entry: vec=3 [action=NET_RX]`.
#[derive(Debug)]
struct Event<'a> {
    /// The name of the interrupted thread, and its process.
    comm: &'a str,
    pid: u32,
    cpu: &'a str,
    time_s: f64,
    enters: bool,
    action: &'a str,
}

impl<'a> Event<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        // A name may contain spaces and brackets.
        let (before, event) = line.split_once("irq:softirq_")?;
        let (before, time) = before.trim_end().strip_suffix(':')?.rsplit_once(' ')?;
        let (before, cpu) = before.trim_end().rsplit_once(' ')?;
        let (comm, pid) = before.trim_end().rsplit_once(' ')?;
        Some(Self {
            comm: comm.trim(),
            pid: pid.parse().ok()?,
            cpu,
            time_s: time.parse().ok()?,
            enters: event.starts_with("entry"),
            action: event.split_once("action=")?.1.trim_end().trim_end_matches(']'),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::share;

    const SCRIPT: &str = "\
          swapper       0 [000] 10.000000000: irq:softirq_entry: vec=8 [action=HRTIMER]
          swapper       0 [000] 10.010000000:  irq:softirq_exit: vec=8 [action=HRTIMER]
            a [b]     900 [000] 10.020000000: irq:softirq_entry: vec=3 [action=NET_RX]
          swapper       0 [001] 10.025000000: irq:softirq_entry: vec=3 [action=NET_RX]
            a [b]     900 [000] 10.040000000:  irq:softirq_exit: vec=3 [action=NET_RX]
          swapper       0 [001] 10.055000000:  irq:softirq_exit: vec=3 [action=NET_RX]
        lop-bench     901 [001] 10.060000000: irq:softirq_entry: vec=3 [action=NET_RX]
        lop-bench     901 [001] 10.070000000:  irq:softirq_exit: vec=3 [action=NET_RX]
          swapper       0 [001] 10.070000000: irq:softirq_entry: vec=9 [action=RCU]
          swapper       0 [001] 10.500000000:  irq:softirq_exit: vec=9 [action=RCU]
";

    #[test]
    fn softirqs_of_nobody_are_added_up() {
        let found = share(SCRIPT, |comm, pid| pid == 900 || comm == "lop-bench");
        assert!(found.is_some_and(|share| (share - 0.04 / 0.5).abs() < 1e-9), "{found:?}");
        assert_eq!(share("", |_, _| false), None);
    }
}
