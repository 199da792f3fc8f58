//! What the file systems of the destination keep of metadata: how exactly times, to the nanosecond, to 10 milliseconds
//! (exFAT), to a second (ext4 with small inodes), to two (FAT); which times at all (ext4 none after 2446); and whether
//! owners and permissions (FAT, exFAT, NTFS, and shares of other systems say the same of all files).
//!
//! A copy there never has the metadata of its original, and would be changed or made anew each time. So it is tried
//! once what becomes of a file there: where that is not known, or a time looks as if it was cut off.

use std::io::ErrorKind;
use std::sync::Arc;

use fsops::{NewFile, Stat, Time, Volume};

use crate::engine::dir_cache::Side;
use crate::engine::worker::Worker;
use crate::model::dir_node::Node;
use crate::model::dir_node::TOUCHED;
use crate::model::dir_node::TRIED;
use crate::model::metadata_support::EARLY;
use crate::model::metadata_support::EXACT;
use crate::model::metadata_support::GRAINS;
use crate::model::metadata_support::Keeps;
use crate::model::metadata_support::LATE;
use crate::model::metadata_support::Span;
use crate::model::metadata_support::TRIED_TIME;
use crate::model::metadata_support::cut_off;
use crate::model::ownership::Owner;
use crate::model::ownership::Rights;

/// Permissions that are tried one after the other.
const TRIED_MODES: [u32; 2] = [0o640, 0o701];

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
