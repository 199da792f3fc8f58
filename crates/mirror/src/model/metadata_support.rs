//! What the file systems of the destination keep of metadata. Times have a granularity: 1 ns, 10 ms (exFAT), 1 s (ext4
//! with small inodes), 2 s (FAT). They have a range: ext4 keeps none after 2446. Some file systems keep no owners and
//! permissions: FAT, exFAT, NTFS, and shares of other systems report the same for all files.
//!
//! A copy on such a file system never has the metadata of its original, and would look different in each run.
//! [`crate::reconcile::metadata_probe`] finds out what a file system keeps; this module holds the results and answers
//! what becomes of a time.

use runtime::Mutex;
use std::collections::HashMap;
use std::sync::MutexGuard;

use fsops::{Time, Volume};

/// The granularities of time that file systems have, in nanoseconds.
pub(crate) const TIME_STEPS_NS: [u64; 7] =
    [1, 100, 1_000, 1_000_000, 10_000_000, SECOND, COARSEST_NS];
pub(crate) const SECOND: u64 = 1_000_000_000;
pub(crate) const COARSEST_NS: u64 = 2 * SECOND;
pub(crate) const EXACT_NS: u64 = TIME_STEPS_NS[0];

/// A time that every coarser granularity changes: it has an odd second, and no digit of its nanoseconds is 0.
pub(crate) const PROBE_TIME: Time = Time { s: 1_234_567_891, ns: 987_654_321 };

/// Times of the years 1 and 9999. Hardly any file system keeps times outside of this range.
pub(crate) const EARLIEST_PROBED: Time = Time { s: -62_135_596_800, ns: 0 };
pub(crate) const LATEST_PROBED: Time = Time { s: 253_402_300_799, ns: 0 };

/// The times that every file system keeps that keeps owners: seconds in 32 bits.
pub(crate) const COMMON_TIMES: TimeRange =
    TimeRange { first: Time { s: -1 << 31, ns: 0 }, last: Time { s: (1 << 31) - 1, ns: 0 } };

/// What a file system keeps of metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MetadataSupport {
    /// The granularity of times in nanoseconds.
    pub(crate) time_step_ns: u64,
    /// Whether it keeps owners and groups.
    pub(crate) owners: bool,
    /// Whether it keeps permissions.
    pub(crate) modes: bool,
    /// The times that it keeps, if that was probed.
    pub(crate) times: Option<TimeRange>,
}

/// The range of times that a file system keeps. It changes a time outside of the range to the nearest one inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeRange {
    pub(crate) first: Time,
    pub(crate) last: Time,
}

/// The limits, in seconds, beyond which the destination changed times of the source, if there were such times.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ClampedTimes {
    pub(crate) first: Option<i64>,
    pub(crate) last: Option<i64>,
}

impl MetadataSupport {
    pub(crate) const ALL: MetadataSupport =
        MetadataSupport { time_step_ns: EXACT_NS, owners: true, modes: true, times: None };

    /// Returns whether a time is certainly kept, apart from its fraction of a second.
    pub(crate) fn surely_keeps(&self, of: Time) -> bool {
        let TimeRange { first, last } = self.times.unwrap_or(COMMON_TIMES);
        first.s < of.s && of.s < last.s
    }

    /// Returns what becomes of a time outside of the range that is kept.
    pub(crate) fn nearest(&self, of: Time) -> Option<Time> {
        let TimeRange { first, last } = self.times?;
        let clamped = |limit: Time, is: bool| Some(limit).filter(|&limit| is && limit != of);
        clamped(first, of.s <= first.s).or(clamped(last, of.s >= last.s))
    }

    /// Returns the assumed metadata support of a file system that cannot be probed, because a dry run changes nothing.
    /// Times are assumed to have the granularity of NTFS, to which nobody rounds times on purpose.
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

/// The metadata support of each device of the destination, as far as it is known.
#[derive(Debug, Default)]
pub(crate) struct SupportByDevice {
    found: Mutex<HashMap<u64, MetadataSupport>>,
    clamped: Mutex<ClampedTimes>,
}

impl SupportByDevice {
    pub(crate) fn found(&self) -> MutexGuard<'_, HashMap<u64, MetadataSupport>> {
        self.found.lock()
    }

    /// Returns the limits beyond which times of the source were changed.
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

    /// Returns whether some device keeps no owners, and whether some device keeps no permissions.
    pub(crate) fn lacking(&self) -> (bool, bool) {
        let found = self.found();
        (
            found.values().any(|support| !support.owners),
            found.values().any(|support| !support.modes),
        )
    }
}

/// Returns a time rounded down to a granularity.
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
    fn times_beyond_those_that_are_kept_become_the_nearest() {
        let at = |s| Time { s, ns: 0 };
        let times = Some(TimeRange { first: at(-100), last: at(100) });
        let support = MetadataSupport { times, ..MetadataSupport::ALL };
        for (of, nearest) in [(-101, Some(-100)), (-99, None), (99, None), (101, Some(100))] {
            assert_eq!(support.nearest(at(of)), nearest.map(at), "{of}");
            assert_eq!(support.surely_keeps(at(of)), nearest.is_none());
        }
        // The second is kept, its fraction is not.
        assert_eq!(support.nearest(Time { s: 100, ns: 5 }), Some(at(100)));
        assert_eq!((support.nearest(at(100)), support.nearest(at(-100))), (None, None));
        assert!(
            !MetadataSupport::ALL.surely_keeps(LATEST_PROBED)
                && !MetadataSupport::ALL.surely_keeps(EARLIEST_PROBED)
        );
        assert_eq!(MetadataSupport::ALL.nearest(LATEST_PROBED), None);
    }

    #[test]
    fn every_granularity_shows_in_the_probed_time() {
        let kept: std::collections::BTreeSet<Time> = TIME_STEPS_NS
            .into_iter()
            .map(|time_step_ns| round_down(PROBE_TIME, time_step_ns))
            .collect();
        assert_eq!(kept.len(), TIME_STEPS_NS.len());
        assert_eq!(round_down(Time { s: -3, ns: 5 }, 2_000_000_000), Time { s: -4, ns: 0 });
    }
}
