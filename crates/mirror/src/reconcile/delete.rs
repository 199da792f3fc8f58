//! Deletes extraneous entries at the end of a run.
//!
//! The run keeps all extraneous entries if it could not read some part of the source, if the source has nothing to
//! mirror, if there are more entries than `--max-delete` allows, or if the user declines. [`purge`] removes
//! directories, and its guard protects the source and lop's own files. Leftovers of killed runs are always removed.
//!
//! The progress counts each deleted entry once. Counting entries in advance and removing leftovers therefore use a
//! separate [`Progress`].

use std::ffi::CStr;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use fsops::{Dir, Kind, Op};
use purge::{Guard, Operation, Refusal, Selection, Target, Why};
use runtime::{Progress, Stage};
use wire::{Action, Change, Differences, KeptReason, Removal};

use crate::engine::extraneous::{Extraneous, split_names};
use crate::engine::job::Job;
use crate::model::change::CreatedEntry;
use crate::model::dir_node::DirNode;
use crate::model::reason::Reason;
use crate::model::settled::Failure;
use crate::outcome::Outcome;
use crate::roots::lookalike::Lookalike;
use crate::{Consent, Options};

/// Maximum number of names that are shown to the user before they are deleted.
const MAX_EXAMPLES: usize = 5;

impl Extraneous {
    /// Deletes the entries, unless there is a reason to keep them.
    pub(crate) fn delete(self, job: &Job<'_>, outcome: &mut Outcome, ask: Option<Consent<'_>>) {
        if self.names.is_empty() && self.obstacles.is_empty() && self.leftovers.is_empty() {
            return;
        }
        let mut guard = Guard::new(None, &[]);
        for path in job.options.own.paths() {
            guard.keep(path, Why::Catalog);
        }
        if let Some(source) = &job.roots.source {
            // The source may be inside the destination through another mount.
            guard.keep(&source.top.absolute, Why::Source);
            // File systems mounted in the source may be inside the destination too.
            guard.keep_mounted(&source.top.absolute, job.roots.destination(), Why::Source);
        }
        let mut deleter = Deleter { job, guard, outcome, lookalike: job.roots.lookalike() };
        job.progress.enter(deleter.stage());
        for (node, name) in &self.leftovers {
            if !job.options.dry_run {
                deleter.in_dir(node, |deleter, dir| deleter.remove_leftover(node, dir, name));
            }
        }
        if let Some(why) = deleter.reason_to_keep(&self, ask) {
            return deleter.keep_all(&self, why);
        }
        for (node, names) in &self.names {
            deleter.in_dir(node, |deleter, dir| {
                for name in split_names(names) {
                    deleter.remove(node, dir, name);
                }
            });
        }
        for (node, name, made) in self.obstacles {
            deleter.in_dir(&node, |deleter, dir| {
                if let Some(reason) = deleter.remove(&node, dir, &name) {
                    deleter.outcome.fail(|| node.child_path(name.to_bytes()), reason);
                    deleter.discard_obstructed(&node, dir, &name);
                } else {
                    deleter.put_in_place(&node, dir, &name, made);
                }
            });
        }
    }
}

/// Deletes entries in directories of the destination.
struct Deleter<'r, 'j> {
    job: &'r Job<'j>,
    guard: Guard,
    outcome: &'r mut Outcome,
    /// Set if a directory in the destination may be the source under another path.
    lookalike: Option<Lookalike<'r>>,
}

impl Deleter<'_, '_> {
    /// Runs `act` on a directory, and then sets the final metadata of the directory.
    fn in_dir(&mut self, node: &DirNode, act: impl FnOnce(&mut Self, &Arc<Dir>)) {
        if self.job.progress.poll_stop() {
            return;
        }
        let dir = match self.open(node) {
            Ok(dir) => Arc::new(dir),
            Err(source) => {
                let reason = Reason::Destination { op: Op::Open, source };
                return self.outcome.fail(|| node.path(), reason);
            }
        };
        if let Err(Failure::Failed(reason)) = self.job.add_owner_access(&dir) {
            self.outcome.fail(|| node.path(), reason);
        }
        act(self, &dir);
        if self.job.options.dry_run {
            return;
        }
        let dressed =
            node.metadata().map_or(Ok(()), |metadata| self.job.set_final_metadata(&dir, metadata));
        if let Err(Failure::Failed(reason)) = dressed {
            self.outcome.fail(|| node.path(), reason);
        }
    }

    /// Returns the stage to show while entries are deleted, or counted in a dry run.
    fn stage(&self) -> Stage {
        if self.job.options.dry_run { Stage::Count } else { Stage::Purge }
    }

    fn open(&self, node: &DirNode) -> std::io::Result<Dir> {
        let top = self.job.roots.destination.as_ref().ok_or(std::io::ErrorKind::NotFound)?;
        match node.parent() {
            None => top.dir.open_child(c"."),
            Some(_) => top.dir.open_below(&node.dest_path(&self.job.temp_names)),
        }
    }

    /// Returns the reason why nothing may be deleted, or `None` if deletion is allowed.
    fn reason_to_keep(
        &mut self,
        extraneous: &Extraneous,
        ask: Option<Consent<'_>>,
    ) -> Option<KeptReason> {
        extraneous.all().next()?;
        let Options { max_delete, allow_empty, dry_run, .. } = *self.job.options;
        if self.outcome.counts.source_failed {
            return Some(KeptReason::SourceFailed);
        }
        if !self.outcome.has_files && !allow_empty {
            return Some(KeptReason::SourceEmpty);
        }
        let is_incomplete = self.outcome.counts.failed > self.outcome.counts.unremoved;
        if self.job.roots.may_show_source(is_incomplete) {
            return Some(KeptReason::NotCopied);
        }
        let ask = ask.filter(|_| !dry_run);
        if max_delete.is_none() && ask.is_none() {
            return None;
        }
        self.job.progress.enter(Stage::Count);
        let entries = self.count(extraneous);
        self.job.progress.enter(self.stage());
        if max_delete.is_some_and(|most| entries > most) {
            self.outcome.counts.kept_entries = entries;
            return Some(KeptReason::TooMany);
        }
        let some = extraneous.all().take(MAX_EXAMPLES);
        let removal = Removal {
            entries,
            names: extraneous.all().count() as u64,
            some: some.map(|(node, name)| node.child_path(name.to_bytes())).collect(),
            source: self.outcome.counts.names,
            unchanged: self.outcome.counts.unchanged(),
        };
        ask.filter(|_| !self.job.progress.poll_stop())
            .and_then(|ask| (!ask(&removal)).then_some(KeptReason::Declined))
    }

    /// Returns a lower bound for the number of entries that would be deleted.
    fn count(&mut self, extraneous: &Extraneous) -> u64 {
        // A separate progress is used, because the entries are counted again when they are deleted.
        let progress = self.job.progress.uncounted();
        let mut entries = 0;
        for (node, name) in extraneous.all() {
            let Ok(dir) = self.open(node) else { continue };
            let is_dir = dir.stat_child(name).is_ok_and(|stat| stat.kind == Kind::Dir);
            entries += match self.check_target(&Arc::new(dir), node, name) {
                Ok(target) if is_dir => {
                    let counted = self.purge(
                        &target,
                        Operation::Count,
                        self.selection(&target),
                        &progress,
                        None,
                    );
                    counted.files + counted.dirs
                }
                _ => 1,
            };
        }
        entries
    }

    fn keep_all(&mut self, extraneous: &Extraneous, why: KeptReason) {
        self.outcome.counts.kept += extraneous.all().count() as u64;
        self.outcome.counts.kept_reason = why;
        for (node, name, _) in &extraneous.obstacles {
            self.outcome.fail(|| node.child_path(name.to_bytes()), Reason::Kept);
            if !self.job.options.dry_run {
                self.in_dir(node, |deleter, dir| deleter.discard_obstructed(node, dir, name));
            }
        }
    }

    /// Renames a new entry to its final name after the directory that had this name was removed.
    fn put_in_place(
        &mut self,
        node: &Arc<DirNode>,
        dir: &Arc<Dir>,
        name: &CStr,
        made: CreatedEntry,
    ) {
        if self.job.progress.poll_stop() {
            return;
        }
        if !self.job.options.dry_run
            && let Err(source) = dir.replace(&self.job.temp_names.of(name), name)
        {
            let reason = Reason::Destination { op: Op::Rename, source };
            self.outcome.fail(|| node.child_path(name.to_bytes()), reason);
            return self.discard_obstructed(node, dir, name);
        }
        self.outcome.count(&made);
        self.job.report(|| made.change(node.child_path(name.to_bytes())));
    }

    /// Removes a new entry that cannot get its final name.
    fn discard_obstructed(&mut self, node: &Arc<DirNode>, dir: &Arc<Dir>, name: &CStr) {
        if self.job.options.dry_run {
            return;
        }
        let temp = self.job.temp_names.of(name);
        self.remove_leftover(node, dir, &temp);
    }

    /// Removes an entry with a temporary name, and everything below it.
    fn remove_leftover(&mut self, node: &DirNode, dir: &Arc<Dir>, name: &CStr) {
        match dir.remove_name(name) {
            Err(e) if e.kind() == ErrorKind::IsADirectory => {
                let removed = self
                    .check_target(dir, node, name)
                    .map(|target| self.remove_leftover_dir(&target));
                self.note_removal(node, name, removed);
            }
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            Err(source) => {
                let reason = Reason::Destination { op: Op::Remove, source };
                self.outcome.fail_to_remove(|| node.child_path(name.to_bytes()), reason);
            }
            Ok(()) => {}
        }
    }

    /// Deletes an entry, and everything below it that the patterns select. Returns the reason if a directory remains.
    fn remove(&mut self, node: &DirNode, dir: &Arc<Dir>, name: &CStr) -> Option<Reason> {
        if self.job.progress.poll_stop() {
            return None;
        }
        let path = || node.child_path(name.to_bytes());
        let removed = match dir.stat_child(name) {
            Ok(stat) if stat.kind == Kind::Dir => return self.remove_dir(node, dir, name),
            Ok(stat) if self.job.options.dry_run => Ok(stat.kind),
            Ok(stat) => {
                let removed = dir.remove_name(name).map_err(|source| (Op::Remove, source));
                removed.map(|()| stat.kind)
            }
            Err(source) => Err((Op::Stat, source)),
        };
        match removed {
            // Another process removed the entry. FUSE also does this: it renames a file that is removed while open, and
            // later removes the new name.
            Err((_, source)) if source.kind() == ErrorKind::NotFound => {}
            Ok(kind) => {
                self.outcome.counts.removed += 1;
                self.job.progress.removed_done.fetch_add(1, Relaxed);
                self.job.report(|| removal(&path(), kind));
            }
            Err((op, source)) => {
                self.outcome.fail_to_remove(path, Reason::Destination { op, source });
            }
        }
        None
    }

    fn remove_dir(&mut self, node: &DirNode, dir: &Arc<Dir>, name: &CStr) -> Option<Reason> {
        let find = |lookalike: &Lookalike<'_>| lookalike.find(dir, name, self.job.progress);
        if let Some(path) = self.lookalike.as_ref().and_then(find) {
            self.outcome.fail_to_remove(|| node.child_path(&path), Reason::MayBeSource);
            return Some(Reason::Remains);
        }
        let operation = if self.job.options.dry_run { Operation::Count } else { Operation::Remove };
        let removed = self.check_target(dir, node, name).map(|target| {
            let tell = |path: &[u8], is_dir| {
                let kind = if is_dir { Kind::Dir } else { Kind::Unknown };
                self.job.report(|| removal(path, kind));
            };
            let tell: Option<purge::Tell<'_>> = self.job.on_change.map(|_| &tell as _);
            self.purge(&target, operation, self.selection(&target), self.job.progress, tell)
        });
        let stays = match &removed {
            Ok(outcome) if outcome.unselected > 0 => Some(Reason::HoldsExcluded),
            Ok(outcome) if outcome.failed == 0 => None,
            Ok(_) | Err(_) => Some(Reason::Remains),
        };
        self.outcome.counts.removed += self.note_removal(node, name, removed);
        stays
    }

    /// Records which entries of a directory could not be removed. Returns the number of entries that were removed.
    fn note_removal(
        &mut self,
        node: &DirNode,
        name: &CStr,
        removed: Result<purge::Outcome, Refusal>,
    ) -> u64 {
        let outcome = match removed {
            Ok(outcome) => outcome,
            Err(refusal) => {
                let reason = Reason::from(purge::Reason::from(refusal));
                self.outcome.fail_to_remove(|| node.child_path(name.to_bytes()), reason);
                return 0;
            }
        };
        let removed = outcome.files + outcome.dirs;
        self.outcome.add_failed_removals(outcome);
        removed
    }

    fn check_target(&self, dir: &Arc<Dir>, node: &DirNode, name: &CStr) -> Result<Target, Refusal> {
        let path = self.absolute(node, name);
        self.guard.check_in(Arc::clone(dir), &path, &node.child_path(name.to_bytes()))
    }

    fn absolute(&self, node: &DirNode, name: &CStr) -> Vec<u8> {
        let top = self.job.roots.destination.as_ref();
        let top = top.map_or(&b""[..], |top| top.absolute.as_os_str().as_bytes());
        [top, b"/", &node.child_path(name.to_bytes())].concat()
    }

    /// Returns the selection of entries to delete in an extraneous directory.
    fn selection(&self, target: &Target) -> Selection {
        let Options { include, exclude, .. } = self.job.options;
        Selection {
            include: include.clone(),
            exclude: exclude.clone(),
            above: target.given().to_vec(),
            by_files: true,
            ..Selection::default()
        }
    }

    /// Removes a directory that a killed run left, without counting it in the progress.
    fn remove_leftover_dir(&self, target: &Target) -> purge::Outcome {
        let progress = self.job.progress.uncounted();
        self.purge(target, Operation::Remove, Selection::default(), &progress, None)
    }

    /// Removes a directory tree, or counts its entries. Updates the stage and the counts in `progress`.
    fn purge(
        &self,
        target: &Target,
        operation: Operation,
        selection: Selection,
        progress: &Progress,
        tell: Option<purge::Tell<'_>>,
    ) -> purge::Outcome {
        let options = purge::Options {
            operation,
            selection,
            keep_root: false,
            adds_permissions: true,
            cross_mounts: false,
            guarded: self.guard.keys(),
            threads: self.job.options.threads,
            disks: Arc::clone(&self.job.options.disks),
            open_dirs: self.job.options.open_dirs,
            throttle: Arc::default(),
        };
        // The caller checks whether the user asked to stop.
        purge::purge(std::slice::from_ref(target), &options, progress, tell).0
    }
}

fn removal(path: &[u8], kind: Kind) -> Change {
    let (action, path, differences) = (Action::Removed, path.into(), Differences::default());
    Change { action, path, file_type: kind.mode_bits(), size: None, to: None, differences }
}

#[cfg(test)]
mod tests;
