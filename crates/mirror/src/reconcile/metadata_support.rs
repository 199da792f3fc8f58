//! What the file systems of the destination keep of metadata: how exactly times, to the nanosecond, to 10 milliseconds
//! (exFAT), to a second (ext4 with small inodes), to two (FAT); which times at all (ext4 none after 2446); and whether
//! owners and permissions (FAT, exFAT, NTFS, and shares of other systems say the same of all files).
//!
//! A copy there never has the metadata of its original, and would be changed or made anew each time. So it is tried
//! once what becomes of a file there: where that is not known, or a time looks as if it was cut off.

use std::collections::HashMap;
use std::io::ErrorKind;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use fsops::{NewFile, Stat, Time, Volume};

use crate::engine::dir_cache::Side;
use crate::engine::worker::Worker;
use crate::model::dir_node::{Node, TOUCHED, TRIED};
use crate::model::ownership::{Owner, Rights};

/// Parts of time that file systems keep, in nanoseconds.
const GRAINS: [u64; 7] = [1, 100, 1_000, 1_000_000, 10_000_000, SECOND, COARSEST];
const SECOND: u64 = 1_000_000_000;
const COARSEST: u64 = 2 * SECOND;
const EXACT: u64 = GRAINS[0];

/// A time that all of these cut off: with an odd second, and each digit of its nanoseconds something else than 0.
const TRIED_TIME: Time = Time { s: 1_234_567_891, ns: 987_654_321 };

/// Times before and after which hardly any file system keeps any: of the years 1 and 9999.
const EARLY: Time = Time { s: -62_135_596_800, ns: 0 };
const LATE: Time = Time { s: 253_402_300_799, ns: 0 };

/// What every file system keeps that keeps owners: seconds in 32 bits.
const USUAL: Span =
    Span { first: Time { s: -1 << 31, ns: 0 }, last: Time { s: (1 << 31) - 1, ns: 0 } };

/// Permissions that are tried one after the other.
const TRIED_MODES: [u32; 2] = [0o640, 0o701];

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
    first: Time,
    last: Time,
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
    fn certainly_keeps(&self, of: Time) -> bool {
        let Span { first, last } = self.times.unwrap_or(USUAL);
        first.s < of.s && of.s < last.s
    }

    /// Returns what becomes of a time that is beyond those that are kept.
    fn nearest(&self, of: Time) -> Option<Time> {
        let Span { first, last } = self.times?;
        let beyond = |limit: Time, is: bool| Some(limit).filter(|&limit| is && limit != of);
        beyond(first, of.s <= first.s).or(beyond(last, of.s >= last.s))
    }

    /// Returns what a file system may be taken to keep on which nothing can be tried, as nothing is to be changed:
    /// times to what NTFS does, which nobody cuts off to by himself.
    fn guess(volume: &Volume) -> Keeps {
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
    fn found(&self) -> MutexGuard<'_, HashMap<u64, Keeps>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns which times were not kept that the source has.
    pub(crate) fn beyond(&self) -> Beyond {
        *self.beyond.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_beyond(&self, of: Time, nearest: Time) {
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

impl Worker<'_> {
    /// Returns what the device keeps that a directory of the destination is on.
    pub(crate) fn keeps(&mut self, node: &Arc<Node>, volume: &Volume, device: u64) -> Keeps {
        if volume.keeps_owners_and_modes() {
            return Keeps::ALL;
        }
        self.look_at_keeping(node, device)
    }

    /// Returns whether the time of something at the destination is none that the source's has become there.
    pub(crate) fn has_other_time(
        &mut self,
        node: &Arc<Node>,
        of: Time,
        (now, device): (Time, u64),
    ) -> bool {
        if of == now {
            return false;
        }
        if let Some(nearest) = self.nearest_time(node, of, device) {
            if nearest == now {
                self.job.kept.note_beyond(of, nearest);
            }
            return nearest != now;
        }
        let apparent = GRAINS.into_iter().find(|&grain| cut_off(of, grain) == now);
        apparent.is_none_or(|apparent| apparent > self.look_at_keeping(node, device).grain)
    }

    /// Notes that something gets a time in a directory that it may not keep there.
    pub(crate) fn note_time(&mut self, node: &Arc<Node>, of: Time) {
        let Some(device) = node.device_there() else { return };
        if let Some(nearest) = self.nearest_time(node, of, device) {
            self.job.kept.note_beyond(of, nearest);
        }
    }

    /// Returns what becomes of a time on a device, if that does not keep it.
    fn nearest_time(&mut self, node: &Arc<Node>, of: Time, device: u64) -> Option<Time> {
        if node.keeps().certainly_keeps(of) {
            return None;
        }
        self.look_at_keeping(node, device).nearest(of)
    }

    /// Returns what is known of a device, after a trial if nothing is; everything where that cannot be made.
    fn look_at_keeping(&mut self, node: &Arc<Node>, device: u64) -> Keeps {
        let kept = &self.job.kept;
        // Others wait: two trials would be in each other's way.
        let mut found = kept.found();
        if let Some(&known) = found.get(&device) {
            return known;
        }
        if node.is(TRIED) {
            return Keeps::ALL;
        }
        node.set(TRIED);
        let Some((keeps, on)) = self.try_keeping(node) else { return Keeps::ALL };
        found.insert(on, keeps);
        // What is on another device than its directory is not what was tried.
        if on == device { keeps } else { Keeps::ALL }
    }

    /// Tries what becomes of a file in a directory of the destination; returns also the device that it is on.
    fn try_keeping(&mut self, node: &Arc<Node>) -> Option<(Keeps, u64)> {
        let to = self.open(Side::Destination, node).ok()?;
        let volume = to.volume().ok()?;
        let tried = |file: &NewFile| tried(file, &volume, &self.job.rights);
        if let Ok(file) = to.create_unnamed() {
            return tried(&file);
        }
        if self.job.options.dry_run {
            return Some((Keeps::guess(&volume), to.stat().ok()?.device));
        }
        let name = self.job.parts.of(c"what is kept of metadata");
        let file = to.create_file_with(&name, 0o600).ok()?;
        // The directory's time is set again at the end.
        node.set(TOUCHED);
        let keeps = tried(&file);
        // NFS and FUSE give one that is open another name.
        drop(file);
        let _left = to.remove_name(&name);
        keeps
    }
}

/// Gives a file metadata and looks what it has then.
///
/// Owners and permissions are not kept where to set them is said to be done and does nothing, owners also where
/// the file system refuses it. If it may be refused for who is given it, or by whom, each file is told of.
fn tried(file: &NewFile, volume: &Volume, rights: &Rights) -> Option<(Keeps, u64)> {
    let times = Some(Span { first: limit(file, EARLY)?, last: limit(file, LATE)? });
    let has_times = file.set_times(TRIED_TIME, TRIED_TIME).is_ok();
    let made = file.stat().ok()?;
    let grain = GRAINS.into_iter().find(|&grain| cut_off(TRIED_TIME, grain) == made.mtime);
    let grain = grain.filter(|_| has_times).unwrap_or(EXACT);
    if volume.is_fat() {
        return Some((Keeps { grain, owners: false, modes: false, times }, made.device));
    }
    if volume.keeps_owners_and_modes() {
        return Some((Keeps { grain, times, ..Keeps::ALL }, made.device));
    }
    let is_as_made = |is: fn(&Stat, &Stat) -> bool| file.stat().is_ok_and(|now| is(&made, &now));
    let has_no_effect = |mode| file.set_mode(mode).is_ok() && is_as_made(|a, b| a.mode == b.mode);
    let modes = !TRIED_MODES.into_iter().all(has_no_effect);
    let owners = rights.another((made.uid, made.gid)).is_none_or(|Owner { user, group }| {
        let owner = |stat: &Stat| (stat.uid, stat.gid);
        match file.set_owner_to(user, group) {
            Ok(()) => file.stat().is_ok_and(|now| owner(&now) != owner(&made)),
            Err(e) => e.kind() != ErrorKind::PermissionDenied || !fsops::may_give_files_away(),
        }
    });
    Some((Keeps { grain, owners, modes, times }, made.device))
}

/// Returns what becomes of a time, if it is the nearest that is kept; that time itself if it makes no sense, or was
/// refused.
fn limit(file: &NewFile, time: Time) -> Option<Time> {
    let is_set = file.set_times(time, time).is_ok();
    let now = file.stat().ok()?.mtime;
    let sensible = time.min(TRIED_TIME)..=time.max(TRIED_TIME);
    Some(if is_set && sensible.contains(&now) { now } else { time })
}

/// Returns what a time is in whole parts.
fn cut_off(time: Time, grain: u64) -> Time {
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
