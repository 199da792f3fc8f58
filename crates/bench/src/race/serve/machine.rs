//! The processors of the race: which ones are used, and how much of them the hypervisor took.

use std::fs;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity};

use crate::Failure;
use crate::stats::float;

/// The largest number of descriptors that is useful: 10,000 connections and the files of a cache.
const DESCRIPTORS: u64 = 262_144;

/// The processors of the server and of its clients. They are the same one if there is only one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Processors {
    pub(super) server: usize,
    pub(super) clients: usize,
}

impl Processors {
    /// Returns the first and the last processor that this process may use.
    ///
    /// # Errors
    ///
    /// The kernel does not tell.
    pub(super) fn find() -> Result<Self, Failure> {
        let allowed = sched_getaffinity(None).map_err(|e| Failure::new(e.to_string()))?;
        let mut allowed = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
        let server = allowed.next().unwrap_or(0);
        Ok(Self { server, clients: allowed.next_back().unwrap_or(server) })
    }
}

/// Raises the limit of open descriptors, for this process and for those that it starts. Returns the
/// new limit.
pub(super) fn raise_descriptor_limit() -> u64 {
    let maximum = getrlimit(Resource::Nofile).maximum;
    let raise = |maximum: Option<u64>| {
        let current = Some(maximum.map_or(DESCRIPTORS, |maximum| maximum.min(DESCRIPTORS)));
        setrlimit(Resource::Nofile, Rlimit { current, maximum })
    };
    // Only root may raise the maximum.
    let highest = maximum.map(|maximum| maximum.max(DESCRIPTORS));
    let _either_is_fine = raise(highest).or_else(|_| raise(maximum));
    getrlimit(Resource::Nofile).current.unwrap_or(DESCRIPTORS)
}

/// Returns the name of the algorithm that TCP uses by default.
pub(super) fn congestion_control() -> String {
    let name = fs::read_to_string("/proc/sys/net/ipv4/tcp_congestion_control");
    name.map_or_else(|_| "unknown".into(), |name| name.trim().into())
}

/// Ticks of all processors, from `/proc/stat`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ticks {
    all: u64,
    stolen: u64,
}

impl Ticks {
    /// Returns the ticks since the machine started.
    pub(super) fn now() -> Self {
        Self::parse(&fs::read_to_string("/proc/stat").unwrap_or_default())
    }

    fn parse(text: &str) -> Self {
        let line = text.lines().next().unwrap_or_default();
        let ticks: Vec<u64> =
            line.split_whitespace().skip(1).take(8).filter_map(|tick| tick.parse().ok()).collect();
        Self { all: ticks.iter().sum(), stolen: ticks.get(7).copied().unwrap_or(0) }
    }

    /// Returns the share of time that the hypervisor took since an earlier moment.
    pub(super) fn stolen_since(self, before: Self) -> f64 {
        let all = self.all.saturating_sub(before.all).max(1);
        float(self.stolen.saturating_sub(before.stolen)) / float(all)
    }
}

#[cfg(test)]
mod tests {
    use super::Ticks;

    #[test]
    fn stolen_time_is_a_share_of_all_time() {
        let before = Ticks::parse("cpu  100 0 50 800 10 0 5 35 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\n");
        let after = Ticks::parse("cpu  150 0 60 820 10 0 5 55 7 7\n");
        assert!((after.stolen_since(before) - 0.2).abs() < 1e-9);
        assert!(after.stolen_since(after).abs() < 1e-9);
    }
}
