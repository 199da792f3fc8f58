//! Processor time and memory of a server, read from outside.
//!
//! The control group `cpuacct` counts the run time of all its processes and threads in nanoseconds,
//! including those that ended, and excluding time that the hypervisor took. Without it, the times of
//! the threads that are still there are added up (`schedstat`).

use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// The processes to read from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Meter {
    /// The control group of the server.
    pub group: Option<PathBuf>,
    /// The first process of the server; `None` measures nothing.
    pub pid: Option<u32>,
}

impl Meter {
    /// A meter that measures nothing.
    pub const NONE: Self = Self { group: None, pid: None };

    /// Returns the processor time that the server used so far, in seconds.
    pub fn cpu_s(&self) -> Option<f64> {
        let nanoseconds = match &self.group {
            Some(group) => number(&fs::read_to_string(group.join("cpuacct.usage")).ok()?),
            None => self.pid.map(|_| self.pids().into_iter().filter_map(run_time_ns).sum()),
        };
        nanoseconds.map(|nanoseconds| crate::stats::float(nanoseconds) / 1e9)
    }

    /// Returns the resident memory of all processes of the server in bytes.
    pub fn resident_bytes(&self) -> Option<u64> {
        self.memory("VmRSS:")
    }

    /// Returns the sum of the largest resident memory that each process had, in bytes.
    pub fn peak_bytes(&self) -> Option<u64> {
        self.memory("VmHWM:")
    }

    /// Makes [`peak_bytes`](Self::peak_bytes) start again from the current memory, if the kernel
    /// allows it.
    pub fn restart_peak(&self) {
        for pid in self.pids() {
            drop(fs::write(format!("/proc/{pid}/clear_refs"), "5"));
        }
    }

    /// Returns the processes of the server.
    pub fn pids(&self) -> Vec<u32> {
        if let Some(group) = &self.group {
            let text = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
            return text.lines().filter_map(|line| line.parse().ok()).collect();
        }
        let mut pids: Vec<u32> = self.pid.into_iter().collect();
        let mut at = 0;
        while let Some(pid) = pids.get(at) {
            let path = format!("/proc/{pid}/task/{pid}/children");
            let children = fs::read_to_string(path).unwrap_or_default();
            pids.extend(children.split_whitespace().filter_map(|child| child.parse::<u32>().ok()));
            at += 1;
        }
        pids
    }

    fn memory(&self, field: &str) -> Option<u64> {
        let of = |pid| {
            let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
            let line = text.lines().find_map(|line| line.strip_prefix(field))?;
            number(line.trim().trim_end_matches(" kB")).map(|kib| kib * 1024)
        };
        let known: Vec<u64> = self.pids().into_iter().filter_map(of).collect();
        (!known.is_empty()).then(|| known.iter().sum())
    }
}

/// Returns the run time of all threads of a process.
fn run_time_ns(pid: u32) -> Option<u64> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let of = |thread: fs::DirEntry| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        number(text.split(' ').next()?)
    };
    Some(threads.filter_map(Result::ok).filter_map(of).sum())
}

fn number(text: &str) -> Option<u64> {
    text.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::Meter;

    #[test]
    fn a_process_is_measured_without_a_control_group() {
        let meter = Meter { group: None, pid: Some(std::process::id()) };
        assert!(meter.pids().contains(&std::process::id()));
        assert!(meter.cpu_s().is_some_and(|seconds| seconds > 0.0), "{meter:?}");
        let (resident, peak) = (meter.resident_bytes(), meter.peak_bytes());
        assert!(resident > Some(0) && peak > Some(0), "{resident:?} {peak:?}");
    }

    #[test]
    fn no_meter_measures_nothing() {
        assert_eq!(Meter::NONE.cpu_s(), None);
        assert_eq!(Meter::NONE.resident_bytes(), None);
    }
}
