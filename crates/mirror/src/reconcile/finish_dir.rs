//! Finishes directories in two steps.
//!
//! A directory is *complete* when all of its own names have been processed. It then gets its final name and most of its
//! metadata, and its subdirectories are started. A directory is *finished* when all of its subdirectories are finished.
//! The run then makes no more changes below it, so the directory gets its times and final permissions.

use std::ffi::CStr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Release;

use fsops::{Dir, Kind, Op};
use wire::{Action, Change, Differences, LeftOut};

use crate::engine::dir_cache::Side;
use crate::engine::dir_state::DirState;
use crate::engine::estimate::count_subtree;
use crate::engine::job::Job;
use crate::engine::worker::Worker;
use crate::model::dir_node::{
    CHANGED, DRY_RUN_ONLY, DirMetadata, DirNode, EXISTS, HAS_TEMP_NAME, REPLACES_OTHER,
};
use crate::model::ownership::{Owner, mode_after_chown};
use crate::model::reason::Reason;
use crate::model::selection::selects;
use crate::model::settled::{Failure, destination};
use crate::model::temp_name::is_temp_name;
use crate::reconcile::directory::{OWNER_ACCESS, child_state};
use crate::reconcile::put_in_place::{check_still_ours, name_exists};

impl Worker<'_> {
    /// Completes a directory: gives it its final name if it is new, and starts its subdirectories.
    pub(crate) fn complete_dir(&mut self, dir_state: &Arc<DirState>) {
        let node = &dir_state.node;
        let whole = dir_state.is_fully_listed.load(std::sync::atomic::Ordering::Relaxed);
        if whole {
            self.note_extraneous(dir_state);
        }
        let placed = match self.place_dir(node) {
            Ok(()) => true,
            Err(failure) => {
                // If another process displaced the directory, the temporary name belongs to an entry that must not be
                // removed.
                if !matches!(failure, Failure::Failed(Reason::Displaced)) {
                    self.discard_temp_dir(node);
                }
                if let Some(reason) = failure.into_reason() {
                    self.fail(node, b"", reason);
                }
                false
            }
        };
        let children = dir_state.take_children();
        for child in children {
            if self.stopped() {
                break;
            }
            let inner = DirNode::child(node, &child.name, child_state(node, child.dest));
            if placed {
                self.push(child.inode, inner);
            } else {
                self.count_missing_dir(&inner);
            }
        }
        self.release(node);
    }

    /// Counts a directory and everything below it as missing, because its parent directory is missing.
    fn count_missing_dir(&mut self, node: &Arc<DirNode>) {
        if let Some(source) = self.job.roots.source() {
            let below = count_subtree(source, &node.path(), self.job.options, &|| self.stopped());
            self.outcome.counts.missing += 1;
            self.add_missing(&below);
        }
        self.release(node);
    }

    /// Gives a directory its final name, and sets the metadata that does not depend on its subdirectories.
    fn place_dir(&mut self, node: &Arc<DirNode>) -> Result<(), Failure> {
        let Some(metadata) = node.metadata() else { return Ok(()) };
        let now = metadata.dest_stat;
        let mut differences = now.map_or_else(Differences::default, |now| {
            self.compare_metadata(metadata.support, &metadata.stat, &now)
        });
        if let Some(now) = now {
            differences.time =
                differences.time && self.time_differs(node, metadata.stat.mtime, &now);
            let to = self.open(Side::Destination, node).map_err(destination(Op::Open))?;
            differences.xattrs = self.set_dir_metadata(&to, node, metadata)?;
            if node.is(HAS_TEMP_NAME) {
                self.publish_dir(node)?;
            }
        }
        if node.is(EXISTS) {
            self.report_adjusted(node, differences);
        } else if node.parent().is_some() {
            self.outcome.counts.dirs += 1;
            let (action, kind) = if node.is(REPLACES_OTHER) {
                (Action::Replaced, true)
            } else {
                (Action::New, false)
            };
            self.report_dir(node, action, Differences { kind, ..Differences::default() });
        }
        Ok(())
    }

    /// Reports an existing directory whose metadata was different.
    fn report_adjusted(&mut self, node: &DirNode, mut differences: Differences) {
        if node.parent().is_none() && self.job.roots.was_created {
            return node.set(CHANGED);
        }
        // Changes that this run makes in the directory also change its time. Such a time does not count as a
        // difference.
        differences.time &= !node.is(CHANGED);
        if differences.any() {
            self.outcome.counts.adjusted += 1;
            node.set(CHANGED);
            self.report_dir(node, Action::Adjusted, differences);
        }
    }

    fn report_dir(&self, node: &DirNode, action: Action, differences: Differences) {
        let change = || {
            let (path, file_type) = (node.path(), Kind::Dir.mode_bits());
            Change { action, path, file_type, size: None, to: None, differences }
        };
        self.job.report(change);
    }

    /// Sets the owner, permissions and attributes of a directory. Returns whether the attributes differed.
    fn set_dir_metadata(
        &mut self,
        to: &Dir,
        node: &DirNode,
        metadata: &DirMetadata,
    ) -> Result<bool, Failure> {
        let privileges = &self.job.privileges;
        let Some(now) = metadata.dest_stat else { return Ok(false) };
        let has = to.xattrs().map_err(destination(Op::Read))?;
        let (wanted, support) = (&metadata.attributes, metadata.support);
        let had = metadata.dest_xattrs.as_ref().unwrap_or(&has);
        let has_others = wanted.differ(privileges, support, had.clone());
        let has = wanted.comparable(privileges, support, has);
        if self.job.options.dry_run {
            return Ok(has_others);
        }
        let owner = (now.uid, now.gid);
        let to_be = privileges.owner(metadata.support, owner, &metadata.stat);
        let failed = to_be.is_some_and(|Owner { user, group }| {
            self.record_unset(node, c"", Op::SetOwner, to.set_owner(user, group))
        });
        let mode =
            privileges.mode(metadata.support, owner, &metadata.stat).map(mode_after_chown(failed));
        let set = if has_others { to.set_xattrs(&has, wanted.all()) } else { Ok(()) };
        // A new owner or ACL can change the permissions.
        let others = to_be.is_some() || has_others;
        let has = now.mode & 0o7777;
        if let Some(mode) = mode.filter(|mode| others || mode | OWNER_ACCESS != has && *mode != has)
        {
            self.record_unset(node, c"", Op::SetMode, to.set_mode(mode | OWNER_ACCESS));
        }
        self.record_unset(node, c"", Op::SetAttributes, set);
        Ok(has_others)
    }

    /// Renames a complete directory to its final name.
    fn publish_dir(&mut self, node: &Arc<DirNode>) -> Result<(), Failure> {
        let Some(parent) = node.parent() else { return Ok(()) };
        let above = self.open(Side::Destination, parent).map_err(destination(Op::Open))?;
        let temp = self.job.temp_names.of(node.name());
        check_still_ours(
            &above,
            &temp,
            node.metadata().and_then(|metadata| Some(metadata.dest_stat?.key())),
        )?;
        if node.is(REPLACES_OTHER) {
            self.exchange(&above, &temp, node.name()).map_err(destination(Op::Rename))?;
        } else if let Err(e) = above.rename_new(&temp, node.name()) {
            let other =
                if name_exists(&e) { self.other_spelling(&above, node.name())? } else { None };
            return Err(other.unwrap_or(Reason::Destination { op: Op::Rename, source: e }).into());
        }
        node.unset(HAS_TEMP_NAME);
        self.job.published_dirs.fetch_add(1, Release);
        if node.is(REPLACES_OTHER) {
            above.remove_name(&temp).map_err(destination(Op::Remove))
        } else {
            Ok(())
        }
    }

    /// Exchanges a complete directory with the entry that it replaces, atomically if the file system supports that.
    fn exchange(&self, dir: &Dir, temp: &CStr, name: &CStr) -> std::io::Result<()> {
        match dir.exchange(temp, dir, name) {
            Err(e) if matches!(e.raw_os_error(), Some(libc::EINVAL | libc::ENOSYS)) => {
                let aside = self.job.temp_names.of(temp);
                dir.rename_new(name, &aside)?;
                let placed = dir.rename_new(temp, name);
                let back = if placed.is_ok() { temp } else { name };
                placed.and(dir.rename_new(&aside, back))
            }
            exchanged => exchanged,
        }
    }

    /// Marks one part of a directory as done. The last part finishes the directory, and may thereby finish its
    /// ancestors.
    pub(crate) fn release(&mut self, node: &Arc<DirNode>) {
        let mut node = Arc::clone(node);
        while node.release() {
            if let Err(Failure::Failed(reason)) = self.finish_dir(&node) {
                self.fail(&node, b"", reason);
            }
            self.dir_cache.close(&node);
            let Some(parent) = node.parent() else { return self.source.finish() };
            node = Arc::clone(parent);
        }
    }

    /// Sets the remaining metadata of a directory.
    fn finish_dir(&mut self, node: &Arc<DirNode>) -> Result<(), Failure> {
        let Some(metadata) = node.metadata() else { return Ok(()) };
        if self.job.options.dry_run || node.is(DRY_RUN_ONLY) || !node.is(CHANGED) {
            return Ok(());
        }
        let to = self.open(Side::Destination, node).map_err(destination(Op::Open))?;
        self.job.set_final_metadata(&to, metadata)?;
        if self.job.options.fsync {
            to.sync().map_err(destination(Op::Sync))?;
        }
        Ok(())
    }

    /// Collects the extraneous entries of a directory, and the leftovers of killed runs.
    fn note_extraneous(&mut self, dir_state: &Arc<DirState>) {
        let node = &dir_state.node;
        let mut extraneous = Vec::new();
        let clears = dir_state.dest_listing.has_temp_names() && !self.is_of_other_run(node);
        for (name, kind) in dir_state.dest_listing.unclaimed() {
            let bytes = name.to_bytes();
            if is_temp_name(bytes) {
                if clears {
                    self.job.extraneous().add_leftover(node, name);
                }
            } else if self.job.options.delete
                && selects(self.job.options, bytes, || node.child_path(bytes), kind == Kind::Dir)
            {
                if self.is_own_file(node, name) {
                    self.outcome.leave_out(LeftOut::Catalog, || node.child_path(bytes));
                } else {
                    extraneous.push(name);
                }
            }
        }
        if !extraneous.is_empty() {
            self.job.extraneous().add(node, &extraneous);
        }
    }
}

impl Job<'_> {
    /// Grants the owner access to a finished directory so that entries in it can be deleted.
    pub(crate) fn add_owner_access(&self, to: &Dir) -> Result<(), Failure> {
        if self.privileges.is_root() || self.options.dry_run {
            return Ok(());
        }
        let now = to.stat().map_err(destination(Op::Stat))?;
        if now.mode & OWNER_ACCESS == OWNER_ACCESS {
            return Ok(());
        }
        to.set_mode(now.mode | OWNER_ACCESS).map_err(destination(Op::SetMode))
    }

    /// Sets the times of a directory after its last change. Also sets its permissions if they deny the owner access.
    pub(crate) fn set_final_metadata(
        &self,
        to: &Dir,
        metadata: &DirMetadata,
    ) -> Result<(), Failure> {
        if metadata.stat.mode & OWNER_ACCESS != OWNER_ACCESS {
            let now = to.stat().map_err(destination(Op::Stat))?;
            let mode =
                self.privileges.final_mode(metadata.support, (now.uid, now.gid), &metadata.stat);
            let set = mode.map_or(Ok(()), |mode| to.set_mode(mode));
            set.map_err(destination(Op::SetMode))?;
        }
        to.set_times(metadata.stat.atime, metadata.stat.mtime).map_err(destination(Op::SetTimes))
    }
}
