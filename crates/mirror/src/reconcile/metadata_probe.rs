//! Determines the metadata support of the destination's file systems by setting metadata on a new file and reading it
//! back.
//!
//! If a file system drops metadata, copies on it never match their originals, and each run would adjust or copy them
//! again. A device is therefore probed once if its support is unknown, or if a time on it looks rounded.

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

/// Permissions that the probe sets one after the other.
const PROBE_MODES: [u32; 2] = [0o640, 0o701];

impl Worker<'_> {
    /// Returns the metadata support of a destination directory's device.
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

    /// Returns whether the time of `dest` differs from the time that its file system would store for the source's time
    /// `of`.
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

    /// Records a time that the file system of a directory cannot store exactly.
    pub(crate) fn note_clamped_time(&mut self, node: &Arc<DirNode>, of: Time) {
        let Some(device) = node.dest_device() else { return };
        if let Some(nearest) = self.clamped_time(node, of, device) {
            self.job.support.note_clamped(of, nearest);
        }
    }

    /// Returns the time that a device stores instead of `of`, or `None` if `of` is within the device's range.
    fn clamped_time(&mut self, node: &Arc<DirNode>, of: Time, device: u64) -> Option<Time> {
        if node.support().surely_keeps(of) {
            return None;
        }
        self.support_on(node, device).nearest(of)
    }

    /// Returns the metadata support of a device. Probes the device if its support is unknown, and assumes full support
    /// if probing is impossible.
    fn support_on(&mut self, node: &Arc<DirNode>, device: u64) -> MetadataSupport {
        let kept = &self.job.support;
        // This lock lets other workers wait, because simultaneous probes would disturb each other.
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
        // If the file is on a different device than its directory, the result does not apply to the directory's device.
        if on == device { support } else { MetadataSupport::ALL }
    }

    /// Probes metadata support with a new file in a destination directory. Also returns the device of the new file.
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
        let file = to.create_file(&name, 0o600).ok()?;
        // Creating the file changed the directory's time, so the time is set again at the end.
        node.set(CHANGED);
        let support = probe_file(&file);
        // NFS and FUSE rename a file that is removed while it is open, so the file is closed first.
        drop(file);
        let _left = to.remove_name(&name);
        support
    }
}

/// Sets metadata on a file and reads it back.
///
/// Owners and permissions count as unsupported if setting them succeeds without effect. Owners also count as
/// unsupported if the file system refuses to set them. If the refusal may be due to missing privileges, owners count as
/// supported, and each file whose owner cannot be set is reported.
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
            match file.set_owner(user, group) {
                Ok(()) => file.stat().is_ok_and(|now| owner(&now) != owner(&made)),
                Err(e) => e.kind() != ErrorKind::PermissionDenied || !fsops::may_give_files_away(),
            }
        });
    Some((MetadataSupport { time_step_ns, owners, modes, times }, made.device))
}

/// Returns the time that a file system stores when `time`, a limit of the probed range, is set. Returns `time` itself
/// if it could not be set, or if the stored time is implausible.
fn limit(file: &NewFile, time: Time) -> Option<Time> {
    let is_set = file.set_times(time, time).is_ok();
    let now = file.stat().ok()?.mtime;
    let sensible = time.min(PROBE_TIME)..=time.max(PROBE_TIME);
    Some(if is_set && sensible.contains(&now) { now } else { time })
}
