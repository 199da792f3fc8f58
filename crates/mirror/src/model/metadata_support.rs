//! What the file systems of the destination keep of metadata: how exactly times, to the nanosecond, to 10 milliseconds
//! (exFAT), to a second (ext4 with small inodes), to two (FAT); which times at all (ext4 none after 2446); and whether
//! owners and permissions (FAT, exFAT, NTFS, and shares of other systems say the same of all files).
//!
//! A copy there never has the metadata of its original, and would be changed or made anew each time. So it is tried
//! once what becomes of a file there: where that is not known, or a time looks as if it was cut off.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use fsops::{Time, Volume};

/// Parts of time that file systems keep, in nanoseconds.
pub(crate) const GRAINS: [u64; 7] = [1, 100, 1_000, 1_000_000, 10_000_000, SECOND, COARSEST];
pub(crate) const SECOND: u64 = 1_000_000_000;
pub(crate) const COARSEST: u64 = 2 * SECOND;
pub(crate) const EXACT: u64 = GRAINS[0];

/// A time that all of these cut off: with an odd second, and each digit of its nanoseconds something else than 0.
pub(crate) const TRIED_TIME: Time = Time { s: 1_234_567_891, ns: 987_654_321 };

/// Times before and after which hardly any file system keeps any: of the years 1 and 9999.
pub(crate) const EARLY: Time = Time { s: -62_135_596_800, ns: 0 };
pub(crate) const LATE: Time = Time { s: 253_402_300_799, ns: 0 };

/// What every file system keeps that keeps owners: seconds in 32 bits.
pub(crate) const USUAL: Span =
    Span { first: Time { s: -1 << 31, ns: 0 }, last: Time { s: (1 << 31) - 1, ns: 0 } };

/// What a file system keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Keeps {
    /// Nanoseconds of which times are multiples.
    pub(crate) grain: u64,
    /// Owners and groups.
    pub(crate) owners: bool,
    /// Permissions.
    pub(crate) modes: bool,
    /// Times between these, if it was tried which.
    pub(crate) times: Option<Span>,
}

/// Times that a file system keeps: what is beyond becomes the nearest of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) first: Time,
    pub(crate) last: Time,
}

/// Times that the destination does not keep, in seconds: those before the first and after the last, if there were any.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Beyond {
    pub(crate) first: Option<i64>,
    pub(crate) last: Option<i64>,
}

impl Keeps {
    pub(crate) const ALL: Keeps = Keeps { grain: EXACT, owners: true, modes: true, times: None };

    /// Returns whether a time is kept for certain, but for fractions.
    pub(crate) fn certainly_keeps(&self, of: Time) -> bool {
        let Span { first, last } = self.times.unwrap_or(USUAL);
        first.s < of.s && of.s < last.s
    }

    /// Returns what becomes of a time that is beyond those that are kept.
    pub(crate) fn nearest(&self, of: Time) -> Option<Time> {
        let Span { first, last } = self.times?;
        let beyond = |limit: Time, is: bool| Some(limit).filter(|&limit| is && limit != of);
        beyond(first, of.s <= first.s).or(beyond(last, of.s >= last.s))
    }

    /// Returns what a file system may be taken to keep on which nothing can be tried, as nothing is to be changed:
    /// times to what NTFS does, which nobody cuts off to by himself.
    pub(crate) fn guess(volume: &Volume) -> Keeps {
        match (volume.is_fat(), volume.keeps_owners_and_modes()) {
            (true, _) => Keeps { grain: COARSEST, owners: false, modes: false, times: None },
            (false, false) => Keeps { grain: 100, ..Keeps::ALL },
            (false, true) => Keeps::ALL,
        }
    }
}

/// What was found of the devices of the destination.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    found: Mutex<HashMap<u64, Keeps>>,
    beyond: Mutex<Beyond>,
}

impl Kept {
    pub(crate) fn found(&self) -> MutexGuard<'_, HashMap<u64, Keeps>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns which times were not kept that the source has.
    pub(crate) fn beyond(&self) -> Beyond {
        *self.beyond.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn note_beyond(&self, of: Time, nearest: Time) {
        let mut beyond = self.beyond.lock().unwrap_or_else(PoisonError::into_inner);
        if of < nearest {
            beyond.first = beyond.first.max(Some(nearest.s));
        } else {
            beyond.last = Some(beyond.last.map_or(nearest.s, |last| last.min(nearest.s)));
        }
    }

    /// Returns whether there is a device that keeps no owners, and one that keeps no permissions.
    pub(crate) fn lacking(&self) -> (bool, bool) {
        let found = self.found();
        (found.values().any(|keeps| !keeps.owners), found.values().any(|keeps| !keeps.modes))
    }
}

/// Returns what a time is in whole parts.
pub(crate) fn cut_off(time: Time, grain: u64) -> Time {
    if grain <= SECOND {
        let ns = u64::from(time.ns) / grain * grain;
        return Time { s: time.s, ns: u32::try_from(ns).unwrap_or(0) };
    }
    let seconds = i64::try_from(grain / SECOND).unwrap_or(1);
    Time { s: time.s - time.s.rem_euclid(seconds), ns: 0 }
}

#[cfg(test)]
mod tests {
    use fsops::Time;

    use super::{EARLY, GRAINS, Keeps, LATE, Span, TRIED_TIME, cut_off};

    #[test]
    fn times_beyond_those_that_are_kept_become_the_nearest() {
        let at = |s| Time { s, ns: 0 };
        let times = Some(Span { first: at(-100), last: at(100) });
        let keeps = Keeps { times, ..Keeps::ALL };
        for (of, nearest) in [(-101, Some(-100)), (-99, None), (99, None), (101, Some(100))] {
            assert_eq!(keeps.nearest(at(of)), nearest.map(at), "{of}");
            assert_eq!(keeps.certainly_keeps(at(of)), nearest.is_none());
        }
        // A second that is kept, without its fraction.
        assert_eq!(keeps.nearest(Time { s: 100, ns: 5 }), Some(at(100)));
        assert_eq!((keeps.nearest(at(100)), keeps.nearest(at(-100))), (None, None));
        assert!(!Keeps::ALL.certainly_keeps(LATE) && !Keeps::ALL.certainly_keeps(EARLY));
        assert_eq!(Keeps::ALL.nearest(LATE), None);
    }

    #[test]
    fn every_grain_shows_in_the_time_that_is_tried() {
        let kept: std::collections::BTreeSet<Time> =
            GRAINS.into_iter().map(|grain| cut_off(TRIED_TIME, grain)).collect();
        assert_eq!(kept.len(), GRAINS.len());
        assert_eq!(cut_off(Time { s: -3, ns: 5 }, 2_000_000_000), Time { s: -4, ns: 0 });
    }
}
