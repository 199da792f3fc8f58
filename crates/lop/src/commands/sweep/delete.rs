//! `--delete`: removes the entries for good.
//!
//! Each entry is reached from the open target and compared with the match before the purge engine removes it.

use std::ffi::CString;
use std::io::ErrorKind;
use std::sync::Arc;

use fsops::{Dir, Op};
use purge::{Guard, Operation, Options, Problem, Reason, Selection, Target as PurgeTarget};
use runtime::{Interrupted, Progress, Throttle};
use sweep::sums::{TreeSums, has_changed_since};

use super::summary::Summary;
use super::taking::{Batch, Taking, TreeProof};
use super::target::split_relative;
use crate::settings::Resources;

/// Maximum number of entries that are handed to the purge engine at once.
const MAX_ENTRIES: usize = 4096;

/// The outcome of a removal.
pub(super) struct Removed {
    pub(super) summary: Summary,
    pub(super) problems: Vec<Problem>,
    pub(super) failed: u64,
    pub(super) ended: Result<(), Interrupted>,
}

/// Removes the entries of all targets.
pub(super) fn remove(
    batches: &[Batch<'_>],
    guard: &Guard,
    resources: &Resources,
    progress: &Progress,
) -> Removed {
    let mut deletion = Deletion {
        guard,
        options: options(guard, resources),
        progress,
        chunk: Vec::new(),
        dirs: 0,
        removed: Removed {
            summary: Summary::default(),
            problems: Vec::new(),
            failed: 0,
            ended: Ok(()),
        },
    };
    for batch in batches {
        deletion.batch(batch);
    }
    deletion.removed
}

fn options(guard: &Guard, resources: &Resources) -> Options {
    Options {
        operation: Operation::Remove,
        selection: Selection::default(),
        keep_root: false,
        adds_permissions: false,
        cross_mounts: false,
        guarded: guard.keys(),
        threads: resources.threads,
        open_dirs: resources.tree_dirs(),
        disks: Arc::clone(&resources.disks),
        throttle: Arc::new(Throttle::new(None)),
    }
}

/// The removal of all entries.
struct Deletion<'d> {
    guard: &'d Guard,
    options: Options,
    progress: &'d Progress,
    /// Checked entries that will be removed together: the index of each in its batch, its directory, and the target.
    chunk: Vec<((usize, Arc<Dir>), PurgeTarget)>,
    /// Number of directories that the entries in `chunk` keep open.
    dirs: usize,
    removed: Removed,
}

impl Deletion<'_> {
    fn batch(&mut self, batch: &Batch<'_>) {
        let mut last: Option<(&[u8], Arc<Dir>)> = None;
        for (at, entry) in batch.entries.iter().enumerate() {
            if self.removed.ended.is_err() {
                return;
            }
            let (above, _) = split_relative(entry.path);
            let known =
                last.as_ref().filter(|(path, _)| *path == above).map(|(_, dir)| Arc::clone(dir));
            let opened = known.map_or_else(
                || {
                    self.dirs += 1;
                    let path = if above.is_empty() { b".".as_slice() } else { above };
                    batch.target.dir.open_below_same_mount(path).map(Arc::new)
                },
                Ok,
            );
            let checked = opened.map_err(failed(Op::Open)).and_then(|dir| {
                last = Some((above, Arc::clone(&dir)));
                let target = self.check(&dir, batch, entry)?;
                Ok(((at, dir), target))
            });
            match checked {
                Ok(checked) => self.chunk.push(checked),
                Err(reason) => self.fail(batch.target.shown_path(entry.path), reason),
            }
            if self.chunk.len() >= MAX_ENTRIES || self.dirs >= self.options.open_dirs {
                self.flush(batch);
                last = None;
            }
        }
        self.flush(batch);
    }

    /// Checks that an entry may be removed and is still the one that was matched.
    fn check(
        &self,
        dir: &Arc<Dir>,
        batch: &Batch<'_>,
        entry: &Taking<'_>,
    ) -> Result<PurgeTarget, Reason> {
        let absolute = batch.target.absolute_path(entry.path);
        let target = self.guard.check_in(
            Arc::clone(dir),
            &absolute,
            &batch.target.shown_path(entry.path),
        )?;
        if !entry.is_unchanged(target.stat()) {
            return Err(Reason::Moved);
        }
        if entry.is_tree() && self.has_changed(dir, entry)? {
            return Err(Reason::Moved);
        }
        Ok(target)
    }

    /// Returns whether something in a directory changed after it was matched.
    fn has_changed(&self, dir: &Dir, entry: &Taking<'_>) -> Result<bool, Reason> {
        let name = CString::new(split_relative(entry.path).1);
        let name = name.map_err(|e| failed(Op::Open)(e.into()))?;
        let top = dir.open_child_same_mount(&name).map_err(failed(Op::Open))?;
        let has_changed = match entry.proof {
            TreeProof::Sums(wanted) => TreeSums::of(&top, self.progress).map(|now| now != wanted),
            TreeProof::Since(ns) => has_changed_since(&top, ns, self.progress),
        };
        has_changed.map_err(failed(Op::List))
    }

    /// Removes the entries that have been checked.
    fn flush(&mut self, batch: &Batch<'_>) {
        let (checked, targets): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.chunk).into_iter().unzip();
        self.dirs = 0;
        if targets.is_empty() {
            return;
        }
        let (outcome, ended) = purge::purge(&targets, &self.options, self.progress, None);
        self.removed.ended = ended;
        for (at, dir) in checked {
            let entry = &batch.entries[at];
            let is_gone = CString::new(split_relative(entry.path).1).is_ok_and(|name| {
                dir.stat_child(&name).is_err_and(|e| e.kind() == ErrorKind::NotFound)
            });
            // Only space that was really freed counts, so an entry of which something is left does not count.
            if is_gone {
                self.removed.summary.add(entry);
            }
        }
        self.removed.failed += outcome.failed;
        self.removed.problems.extend(outcome.problems);
    }

    fn fail(&mut self, path: Vec<u8>, reason: Reason) {
        self.removed.failed += 1;
        self.removed.problems.push(Problem { path, reason });
    }
}

fn failed(op: Op) -> impl Fn(std::io::Error) -> Reason {
    move |source| Reason::Failed { op, source }
}
