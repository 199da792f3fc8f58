//! The figures for `--stats`: the number of entries examined, the bytes read, and the time of each stage.

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use runtime::Progress;
use serde::Serialize;

use crate::output::devices::Device;

/// Seconds spent in each stage.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(crate) struct Seconds {
    pub(crate) walk: f64,
    pub(crate) recall: f64,
    pub(crate) compare: f64,
    pub(crate) commit: f64,
    pub(crate) print: f64,
}

/// Measures the duration of consecutive stages of a run.
#[derive(Debug)]
pub(crate) struct Clock {
    start: Instant,
    last: Instant,
    pub(crate) seconds: Seconds,
}

impl Clock {
    /// Starts the first stage.
    pub(crate) fn start() -> Clock {
        let now = Instant::now();
        Clock { start: now, last: now, seconds: Seconds::default() }
    }

    /// Ends a stage and adds the time since the end of the previous stage to the total of this stage.
    pub(crate) fn end(&mut self, stage: impl FnOnce(&mut Seconds) -> &mut f64) {
        let now = Instant::now();
        let seconds = stage(&mut self.seconds);
        // Rounded to microseconds, because smaller differences are noise.
        *seconds = ((*seconds + (now - self.last).as_secs_f64()) * 1e6).round() / 1e6;
        self.last = now;
    }

    /// Returns the time since the start.
    pub(crate) fn total(&self) -> Duration {
        self.start.elapsed()
    }
}

/// The figures of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Stats {
    pub(crate) entries: u64,
    pub(crate) files: u64,
    pub(crate) bytes_seen: u64,
    pub(crate) candidates: u64,
    pub(crate) known: u64,
    pub(crate) bytes_read: u64,
    pub(crate) files_opened: u64,
    pub(crate) groups: u64,
    pub(crate) stage_seconds: Seconds,
    pub(crate) peak_memory_bytes: u64,
    pub(crate) spilled_bytes: u64,
    pub(crate) threads: usize,
    pub(crate) devices: Vec<Device>,
}

impl Stats {
    /// Collects the figures at the end of a run.
    pub(crate) fn new(
        progress: &Progress,
        files: u64,
        found: &dupes::Found,
        clock: &Clock,
        compare: &dupes::Options,
    ) -> Stats {
        Stats {
            entries: progress.entries.load(Relaxed),
            files,
            bytes_seen: progress.bytes_seen.load(Relaxed),
            candidates: found.candidates,
            known: found.known,
            bytes_read: progress.bytes_read.load(Relaxed),
            files_opened: progress.opened.load(Relaxed),
            groups: found.groups.len() as u64,
            stage_seconds: clock.seconds,
            peak_memory_bytes: peak_memory_bytes(),
            spilled_bytes: runtime::memory::spilled().most,
            threads: compare.threads.first,
            devices: compare.disks.profiles().into_iter().map(Device::from).collect(),
        }
    }
}

/// Returns the peak resident memory of the process, or 0 if `/proc` is not mounted.
pub(crate) fn peak_memory_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok());
    kib.map_or(0, |kib: u64| kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::{Clock, peak_memory_bytes};

    #[test]
    fn peak_memory_is_plausible() {
        assert!(peak_memory_bytes() > 100_000);
    }

    #[test]
    fn stages_add_up_to_at_most_the_total_time() {
        let mut clock = Clock::start();
        clock.end(|s| &mut s.walk);
        clock.end(|s| &mut s.compare);
        clock.end(|s| &mut s.walk);
        let sum = clock.seconds.walk + clock.seconds.compare;
        // Each stage is rounded to a microsecond, so the sum may exceed the total slightly.
        assert!(sum <= clock.total().as_secs_f64() + 1e-5);
    }
}
