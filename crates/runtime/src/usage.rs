//! What a thread has used up so far: to tell waiting from working.

use std::time::Duration;

/// Returns how long the process has been on processors, all its threads together.
pub fn process_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// What the calling thread has used up since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadUsage {
    /// Time on a processor.
    pub cpu: Duration,
    /// How often it gave the processor up to wait for something: a disk, a lock, another thread.
    /// Being pushed off the processor by others does not count.
    pub waits: u64,
    /// Blocks of 512 bytes that it had fetched from block devices.
    pub blocks_fetched: u64,
}

impl ThreadUsage {
    /// Asks the kernel (`getrusage(2)` with `RUSAGE_THREAD`; half a microsecond).
    #[expect(unsafe_code, reason = "getrusage has no safe wrapper")]
    pub fn now() -> ThreadUsage {
        // SAFETY: a struct of integers, for which zeros are a value.
        let mut raw: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: the call writes one `struct rusage` where it is told to, and nothing else.
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
