//! Processor time and number of waits of a thread, used to distinguish working from waiting.

use std::time::Duration;

/// Returns the processor time of all threads of the process.
pub fn process_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Resources that the calling thread has used since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadUsage {
    /// Processor time.
    pub cpu: Duration,
    /// Number of voluntary context switches. Each of them is a wait for a disk, a lock or another
    /// thread.
    pub waits: u64,
    /// Number of 512-byte blocks that were read from block devices on behalf of this thread.
    pub blocks_fetched: u64,
}

impl ThreadUsage {
    /// Queries the kernel (`getrusage(2)` with `RUSAGE_THREAD`). This takes half a microsecond.
    #[expect(unsafe_code, reason = "getrusage has no safe wrapper")]
    pub fn now() -> ThreadUsage {
        // SAFETY: all fields are integers, for which zero is a valid value.
        let mut raw: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: the call writes one `struct rusage` to the given address.
        if unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut raw) } != 0 {
            return ThreadUsage::default();
        }
        let time = |t: libc::timeval| {
            let seconds = u64::try_from(t.tv_sec).unwrap_or(0);
            let micros = u64::try_from(t.tv_usec).unwrap_or(0);
            Duration::from_secs(seconds) + Duration::from_micros(micros)
        };
        ThreadUsage {
            cpu: time(raw.ru_utime) + time(raw.ru_stime),
            waits: u64::try_from(raw.ru_nvcsw).unwrap_or(0),
            blocks_fetched: u64::try_from(raw.ru_inblock).unwrap_or(0),
        }
    }
}

/// Returns the total time for which the calling thread was ready to run, but other threads had all
/// processors. Returns zero if the kernel does not keep this statistic.
///
/// This reads a file in `/proc`, which takes some microseconds.
pub fn time_without_processor() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let delay = text.split_whitespace().nth(1).and_then(|word| word.parse().ok());
    Duration::from_nanos(delay.unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::ThreadUsage;

    #[test]
    fn waiting_takes_no_processor_time() {
        let before = ThreadUsage::now();
        std::thread::sleep(Duration::from_millis(20));
        let after = ThreadUsage::now();
        assert!(after.waits > before.waits);
        assert!(after.cpu < before.cpu + Duration::from_millis(20));
    }
}
