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
use crate::model::dir_node::{CHANGED, DirNode, SUPPORT_PROBED};
use crate::model::metadata_support::{
    EARLIEST_PROBED, EXACT_NS, LATEST_PROBED, MetadataSupport, PROBE_TIME, TIME_STEPS_NS,
    TimeRange, round_down,
};
use crate::model::ownership::{Owner, Privileges};

/// Permissions that are tried one after the other.
const PROBE_MODES: [u32; 2] = [0o640, 0o701];

impl Worker<'_> {
    /// Returns what the device keeps that a directory of the destination is on.
    pub(crate) fn support(
        &mut self,
        node: &Arc<DirNode>,
        volume: &Volume,
        device: u64,
    ) -> MetadataSupport {
        if volume.keeps_owners_and_modes() {
            return MetadataSupport::ALL;
        }
        self.support_on(node, device)
    }

    /// Returns whether the time of something at the destination is none that the source's has become there.
    pub(crate) fn time_differs(&mut self, node: &Arc<DirNode>, of: Time, dest: &Stat) -> bool {
        let (now, device) = (dest.mtime, dest.device);
        if of == now {
            return false;
        }
        if let Some(nearest) = self.clamped_time(node, of, device) {
            if nearest == now {
                self.job.support.note_clamped(of, nearest);
            }
            return nearest != now;
        }
        let apparent =
            TIME_STEPS_NS.into_iter().find(|&time_step_ns| round_down(of, time_step_ns) == now);
        apparent.is_none_or(|apparent| apparent > self.support_on(node, device).time_step_ns)
    }

    /// Notes that something gets a time in a directory that it may not keep there.
    pub(crate) fn note_clamped_time(&mut self, node: &Arc<DirNode>, of: Time) {
        let Some(device) = node.dest_device() else { return };
        if let Some(nearest) = self.clamped_time(node, of, device) {
            self.job.support.note_clamped(of, nearest);
        }
    }

    /// Returns what becomes of a time on a device, if that does not keep it.
    fn clamped_time(&mut self, node: &Arc<DirNode>, of: Time, device: u64) -> Option<Time> {
        if node.support().surely_keeps(of) {
            return None;
        }
        self.support_on(node, device).nearest(of)
    }

    /// Returns what is known of a device, after a trial if nothing is; everything where that cannot be made.
    fn support_on(&mut self, node: &Arc<DirNode>, device: u64) -> MetadataSupport {
        let kept = &self.job.support;
        // Others wait: two trials would be in each other's way.
        let mut found = kept.found();
        if let Some(&known) = found.get(&device) {
            return known;
        }
        if node.is(SUPPORT_PROBED) {
            return MetadataSupport::ALL;
        }
        node.set(SUPPORT_PROBED);
        let Some((support, on)) = self.probe_support(node) else { return MetadataSupport::ALL };
        found.insert(on, support);
        // What is on another device than its directory is not what was tried.
        if on == device { support } else { MetadataSupport::ALL }
    }

    /// Tries what becomes of a file in a directory of the destination; returns also the device that it is on.
    fn probe_support(&mut self, node: &Arc<DirNode>) -> Option<(MetadataSupport, u64)> {
        let to = self.open(Side::Destination, node).ok()?;
        let volume = to.volume().ok()?;
        let probe_file = |file: &NewFile| probe_file(file, &volume, &self.job.privileges);
        if let Ok(file) = to.create_unnamed() {
            return probe_file(&file);
        }
        if self.job.options.dry_run {
            return Some((MetadataSupport::assumed(&volume), to.stat().ok()?.device));
        }
        let name = self.job.temp_names.of(c"what is kept of metadata");
        let file = to.create_file_with(&name, 0o600).ok()?;
        // The directory's time is set again at the end.
        node.set(CHANGED);
        let support = probe_file(&file);
        // NFS and FUSE give one that is open another name.
        drop(file);
        let _left = to.remove_name(&name);
        support
    }
}

/// Gives a file metadata and looks what it has then.
///
/// Owners and permissions are not kept where to set them is said to be done and does nothing, owners also where
/// the file system refuses it. If it may be refused for who is given it, or by whom, each file is told of.
fn probe_file(
    file: &NewFile,
    volume: &Volume,
    privileges: &Privileges,
) -> Option<(MetadataSupport, u64)> {
    let times =
        Some(TimeRange { first: limit(file, EARLIEST_PROBED)?, last: limit(file, LATEST_PROBED)? });
    let has_times = file.set_times(PROBE_TIME, PROBE_TIME).is_ok();
    let made = file.stat().ok()?;
    let time_step_ns = TIME_STEPS_NS
        .into_iter()
        .find(|&time_step_ns| round_down(PROBE_TIME, time_step_ns) == made.mtime);
    let time_step_ns = time_step_ns.filter(|_| has_times).unwrap_or(EXACT_NS);
    if volume.is_fat() {
        return Some((
            MetadataSupport { time_step_ns, owners: false, modes: false, times },
            made.device,
        ));
    }
    if volume.keeps_owners_and_modes() {
        return Some((
            MetadataSupport { time_step_ns, times, ..MetadataSupport::ALL },
            made.device,
        ));
    }
    let is_as_made = |is: fn(&Stat, &Stat) -> bool| file.stat().is_ok_and(|now| is(&made, &now));
    let has_no_effect = |mode| file.set_mode(mode).is_ok() && is_as_made(|a, b| a.mode == b.mode);
    let modes = !PROBE_MODES.into_iter().all(has_no_effect);
    let owners =
        privileges.another_owner((made.uid, made.gid)).is_none_or(|Owner { user, group }| {
            let owner = |stat: &Stat| (stat.uid, stat.gid);
            match file.set_owner_to(user, group) {
                Ok(()) => file.stat().is_ok_and(|now| owner(&now) != owner(&made)),
                Err(e) => e.kind() != ErrorKind::PermissionDenied || !fsops::may_give_files_away(),
            }
        });
    Some((MetadataSupport { time_step_ns, owners, modes, times }, made.device))
}

/// Returns what becomes of a time, if it is the nearest that is kept; that time itself if it makes no sense, or was
/// refused.
fn limit(file: &NewFile, time: Time) -> Option<Time> {
    let is_set = file.set_times(time, time).is_ok();
    let now = file.stat().ok()?.mtime;
    let sensible = time.min(PROBE_TIME)..=time.max(PROBE_TIME);
    Some(if is_set && sensible.contains(&now) { now } else { time })
}
