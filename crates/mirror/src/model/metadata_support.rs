//! The metadata support of the file systems of the destination. File systems differ in the granularity of times, which
//! is 1 ns, 10 ms (exFAT), 1 s (ext4 with small inodes) or 2 s (FAT). They also differ in the range of times. For
//! example, ext4 stores no time after the year 2446. Some file systems store no owners and permissions. FAT, exFAT,
//! NTFS and shares of other systems report the same owner and permissions for all files.
//!
//! A copy on such a file system never has the same metadata as the original, so every run would find a difference.
//! [`crate::reconcile::metadata_probe`] finds out what a file system supports. This module stores the results and
//! computes how a time changes when it is stored.

use runtime::Mutex;
use std::collections::HashMap;
use std::sync::MutexGuard;

use fsops::{Time, Volume};

/// The time granularities of known file systems, in nanoseconds.
pub(crate) const TIME_STEPS_NS: [u64; 7] =
    [1, 100, 1_000, 1_000_000, 10_000_000, SECOND, COARSEST_NS];
pub(crate) const SECOND: u64 = 1_000_000_000;
pub(crate) const COARSEST_NS: u64 = 2 * SECOND;
pub(crate) const EXACT_NS: u64 = TIME_STEPS_NS[0];

/// A time that changes at every granularity except 1 ns. Its second is odd, and all nine digits of its nanoseconds are
/// nonzero.
pub(crate) const PROBE_TIME: Time = Time { s: 1_234_567_891, ns: 987_654_321 };

/// Times in the years 1 and 9999. Hardly any file system can store times outside of this range.
pub(crate) const EARLIEST_PROBED: Time = Time { s: -62_135_596_800, ns: 0 };
pub(crate) const LATEST_PROBED: Time = Time { s: 253_402_300_799, ns: 0 };

/// The range of times that every file system with owners can store: seconds in 32 bits.
pub(crate) const COMMON_TIMES: TimeRange =
    TimeRange { first: Time { s: -1 << 31, ns: 0 }, last: Time { s: (1 << 31) - 1, ns: 0 } };

/// The metadata that a file system can store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MetadataSupport {
    /// Granularity of times in nanoseconds.
    pub(crate) time_step_ns: u64,
    /// True if the file system stores owners and groups.
    pub(crate) owners: bool,
    /// True if the file system stores permissions.
    pub(crate) modes: bool,
    /// The range of times that the file system can store, or `None` if it was not probed.
    pub(crate) times: Option<TimeRange>,
}

/// The range of times that a file system can store. It replaces a time outside of the range by the nearest limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeRange {
    pub(crate) first: Time,
    pub(crate) last: Time,
}

/// The limits of the time range, in seconds, that times of the source exceeded. A limit that was not exceeded is
/// `None`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClampedTimes {
    pub(crate) first: Option<i64>,
    pub(crate) last: Option<i64>,
}

impl MetadataSupport {
    pub(crate) const ALL: MetadataSupport =
        MetadataSupport { time_step_ns: EXACT_NS, owners: true, modes: true, times: None };

    /// Returns true if the file system is certain to store the time, apart from the fraction of a second.
    pub(crate) fn surely_keeps(&self, of: Time) -> bool {
        let TimeRange { first, last } = self.times.unwrap_or(COMMON_TIMES);
        first.s < of.s && of.s < last.s
    }

    /// Returns the limit that replaces `of`, or `None` if the file system can store `of`.
    pub(crate) fn nearest(&self, of: Time) -> Option<Time> {
        let TimeRange { first, last } = self.times?;
        let clamped = |limit: Time, is: bool| Some(limit).filter(|&limit| is && limit != of);
        clamped(first, of.s <= first.s).or(clamped(last, of.s >= last.s))
    }

    /// Returns the metadata support to assume in a dry run, which cannot probe a file system because it changes
    /// nothing. The assumed granularity of times is that of NTFS, because nobody rounds times to it on purpose.
    pub(crate) fn assumed(volume: &Volume) -> MetadataSupport {
        match (volume.is_fat(), volume.keeps_owners_and_modes()) {
            (true, _) => MetadataSupport {
                time_step_ns: COARSEST_NS,
                owners: false,
                modes: false,
                times: None,
            },
            (false, false) => MetadataSupport { time_step_ns: 100, ..MetadataSupport::ALL },
            (false, true) => MetadataSupport::ALL,
        }
    }
}

/// The metadata support of each device of the destination that was probed.
#[derive(Debug, Default)]
pub(crate) struct SupportByDevice {
    found: Mutex<HashMap<u64, MetadataSupport>>,
    clamped: Mutex<ClampedTimes>,
}

impl SupportByDevice {
    pub(crate) fn found(&self) -> MutexGuard<'_, HashMap<u64, MetadataSupport>> {
        self.found.lock()
    }

    /// Returns the limits of the time range that times of the source exceeded.
    pub(crate) fn clamped(&self) -> ClampedTimes {
        *self.clamped.lock()
    }

    pub(crate) fn note_clamped(&self, of: Time, nearest: Time) {
        let mut clamped = self.clamped.lock();
        if of < nearest {
            clamped.first = clamped.first.max(Some(nearest.s));
        } else {
            clamped.last = Some(clamped.last.map_or(nearest.s, |last| last.min(nearest.s)));
        }
    }

    /// Returns two values: whether any device stores no owners, and whether any device stores no permissions.
    pub(crate) fn lacking(&self) -> (bool, bool) {
        let found = self.found();
        (
            found.values().any(|support| !support.owners),
            found.values().any(|support| !support.modes),
        )
    }
}

/// Rounds a time down to a granularity.
pub(crate) fn round_down(time: Time, time_step_ns: u64) -> Time {
    if time_step_ns <= SECOND {
        let ns = u64::from(time.ns) / time_step_ns * time_step_ns;
        return Time { s: time.s, ns: u32::try_from(ns).unwrap_or(0) };
    }
    let seconds = i64::try_from(time_step_ns / SECOND).unwrap_or(1);
    Time { s: time.s - time.s.rem_euclid(seconds), ns: 0 }
}

#[cfg(test)]
mod tests {
    use fsops::Time;

    use super::{
        EARLIEST_PROBED, LATEST_PROBED, MetadataSupport, PROBE_TIME, TIME_STEPS_NS, TimeRange,
        round_down,
    };

    #[test]
    fn times_out_of_range_become_the_nearest_limit() {
        let at = |s| Time { s, ns: 0 };
        let times = Some(TimeRange { first: at(-100), last: at(100) });
        let support = MetadataSupport { times, ..MetadataSupport::ALL };
        for (of, nearest) in [(-101, Some(-100)), (-99, None), (99, None), (101, Some(100))] {
            assert_eq!(support.nearest(at(of)), nearest.map(at), "{of}");
            assert_eq!(support.surely_keeps(at(of)), nearest.is_none());
        }
        // The file system can store the second, but not its fraction.
        assert_eq!(support.nearest(Time { s: 100, ns: 5 }), Some(at(100)));
        assert_eq!((support.nearest(at(100)), support.nearest(at(-100))), (None, None));
        assert!(
            !MetadataSupport::ALL.surely_keeps(LATEST_PROBED)
                && !MetadataSupport::ALL.surely_keeps(EARLIEST_PROBED)
        );
        assert_eq!(MetadataSupport::ALL.nearest(LATEST_PROBED), None);
    }

    #[test]
    fn the_probe_time_distinguishes_all_granularities() {
        let kept: std::collections::BTreeSet<Time> = TIME_STEPS_NS
            .into_iter()
            .map(|time_step_ns| round_down(PROBE_TIME, time_step_ns))
            .collect();
        assert_eq!(kept.len(), TIME_STEPS_NS.len());
        assert_eq!(round_down(Time { s: -3, ns: 5 }, 2_000_000_000), Time { s: -4, ns: 0 });
    }
}
