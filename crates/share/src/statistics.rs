//! Statistics of a server: what the caches find, what was sent.

use std::sync::Arc;

use httpd::server::{Activity, Monitor};
use runtime::quantity::{count, size};

use crate::cache::Counters;

/// Counters of a server since it started.
#[derive(Clone, Copy, Debug, Default)]
pub struct Statistics {
    /// Connections, requests and bytes.
    pub activity: Activity,
    /// Requests answered without a system call on the file.
    pub hits: u64,
    /// Requests answered from the cache after the file was checked.
    pub checked: u64,
    /// Requests for which a path was searched.
    pub misses: u64,
    /// Paths in the cache.
    pub entries: u64,
    /// Bytes of small files in the cache.
    pub cached_bytes: u64,
}

/// Reads the statistics of a server.
#[derive(Clone)]
pub struct StatisticsReader {
    monitor: Monitor,
    counters: Arc<[Arc<Counters>]>,
}

impl StatisticsReader {
    /// Returns a reader for a server with a number of threads.
    pub(crate) fn new(monitor: Monitor, threads: usize) -> StatisticsReader {
        StatisticsReader { monitor, counters: (0..threads).map(|_| Arc::default()).collect() }
    }

    /// Returns the counters that a thread changes.
    pub(crate) fn counters(&self, thread: usize) -> &Arc<Counters> {
        &self.counters[thread]
    }

    /// Returns the counters.
    pub fn read(&self) -> Statistics {
        let start = Statistics { activity: self.monitor.activity(), ..Statistics::default() };
        self.counters.iter().fold(start, |sum, thread| Statistics {
            activity: sum.activity,
            hits: sum.hits + thread.hits.get(),
            checked: sum.checked + thread.checked.get(),
            misses: sum.misses + thread.misses.get(),
            entries: sum.entries + thread.entries.get(),
            cached_bytes: sum.cached_bytes + thread.bytes.get(),
        })
    }
}

impl Statistics {
    /// Returns the counters as labels and values.
    pub fn rows(&self) -> Vec<(&'static str, String)> {
        let activity = &self.activity;
        let searched = self.hits + self.checked + self.misses;
        vec![
            ("Requests", count(activity.requests)),
            ("Answered from the cache", share_of(self.hits, searched)),
            ("Answered from the cache after a check", share_of(self.checked, searched)),
            ("Searched", share_of(self.misses, searched)),
            ("Paths in the cache", count(self.entries)),
            ("Contents in the cache", size(self.cached_bytes)),
            ("Bytes sent", size(activity.bytes)),
            ("Responses cut off", count(activity.cut)),
            ("Invalid requests", count(activity.refused)),
            ("Connections", count(activity.accepted)),
            ("Open connections", count(activity.open)),
            ("Clients that were too slow", count(activity.timed_out)),
        ]
    }
}

/// Returns a number with its share of a sum.
fn share_of(part: u64, sum: u64) -> String {
    // Rounded down, so that 100 % means all.
    let tenths = u128::from(part) * 1000 / u128::from(sum.max(1));
    format!("{} ({}.{} %)", count(part), tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::{Statistics, share_of};

    #[test]
    fn shares_are_rounded_down() {
        assert_eq!(share_of(1, 3), "1 (33.3 %)");
        assert_eq!(share_of(9_999, 10_000), "9,999 (99.9 %)");
        assert_eq!(share_of(0, 0), "0 (0.0 %)");
        assert_eq!(share_of(5, 5), "5 (100.0 %)");
        assert!(Statistics::default().rows().iter().all(|(_, value)| value.starts_with('0')));
    }
}
