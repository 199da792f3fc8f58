//! Checks whether an entry may be moved into quarantine.
//!
//! Each entry is checked before its intent is written. A tree is checked once more right before the
//! rename, and every entry right after it ([`has_arrived`]). All checks read metadata relative to an
//! open directory, never by path.

use std::collections::{HashMap, HashSet};
use std::ffi::CStr;
use std::path::Path;
use std::rc::Rc;

use fsops::{Dir, DirBuffer, FileKey, Kind as Entry, Mounts, Op, Stat};

use crate::error::Reason;
use crate::plan::obstacle::has_quarantine_name;
use crate::staging::dir::Staging;
use crate::sweep::{SweepEntry, SweepOptions};

/// The open directory that contains entries to move.
#[derive(Clone, Debug)]
pub(crate) struct Parent {
    pub(crate) path: Vec<u8>,
    pub(crate) dir: Rc<Dir>,
    /// The metadata when the directory was opened.
    pub(crate) stat: Stat,
    /// The staging directory for its entries.
    pub(crate) staging: Staging,
}

/// The status change time of a directory before and after the run moved entries out of it.
#[derive(Clone, Copy, Debug)]
struct DirChange {
    before_ns: i64,
    after_ns: i64,
}

/// Checks entries. Remembers which directories the run itself changed.
pub(crate) struct Checker<'a> {
    options: &'a SweepOptions<'a>,
    /// lop's own files and folder of journals, and the directories above them.
    above_own: HashSet<FileKey>,
    mounts: Mounts,
    changes: HashMap<FileKey, DirChange>,
    buffer: DirBuffer,
}

impl<'a> Checker<'a> {
    /// Creates a checker. `folder` is the folder of journals.
    pub(crate) fn new(options: &'a SweepOptions<'a>, folder: &Path) -> Checker<'a> {
        let own = options.own.paths().chain([folder]);
        let above = own.flat_map(Path::ancestors).filter_map(|dir| Stat::of_path(dir).ok());
        Checker {
            options,
            above_own: above.map(|stat| stat.key()).collect(),
            mounts: Mounts::read(),
            changes: HashMap::new(),
            buffer: DirBuffer::default(),
        }
    }

    /// Checks that an entry may be moved.
    ///
    /// # Errors
    ///
    /// The reason why the entry is left alone.
    pub(crate) fn check(
        &self,
        entry: &SweepEntry,
        parent: &Parent,
        name: &CStr,
    ) -> Result<(), Reason> {
        if has_quarantine_name(name.to_bytes()) {
            return Err(Reason::InQuarantine);
        }
        if self.options.own.has(parent.stat.key(), name.to_bytes()) {
            return Err(Reason::OwnFile);
        }
        let now = parent.dir.stat_child(name).map_err(Reason::failed(Op::Stat))?;
        self.check_unchanged(&entry.was, &now)?;
        let has_mount = entry.is_tree() && self.mounts.any_below(&entry.path);
        if has_mount || is_mount_point(&now, &parent.stat) {
            return Err(Reason::MountPoint);
        }
        if self.above_own.contains(&now.key()) { Err(Reason::OwnFile) } else { Ok(()) }
    }

    /// Checks a tree right before it is moved.
    ///
    /// # Errors
    ///
    /// The reason why the tree is left alone.
    pub(crate) fn check_tree(
        &mut self,
        entry: &SweepEntry,
        parent: &Dir,
        name: &CStr,
    ) -> Result<(), Reason> {
        let tree = parent.open_child_same_mount(name).map_err(Reason::failed(Op::Open))?;
        let now = tree.stat().map_err(Reason::failed(Op::Stat))?;
        self.check_unchanged(&entry.was, &now)?;
        let mut has_quarantine = false;
        let listed = tree.open_below_same_mount(b".").and_then(|list| {
            list.list_quietly();
            list.for_each(&mut self.buffer, |item| {
                has_quarantine |= has_quarantine_name(item.name.to_bytes());
            })
        });
        listed.map_err(Reason::failed(Op::List))?;
        if has_quarantine {
            return Err(Reason::InQuarantine);
        }
        match self.options.verify_tree {
            Some(verify) if !verify(entry, &tree) => Err(Reason::NoMatch),
            _ => Ok(()),
        }
    }

    /// Checks that an entry is the one that a rule chose, and has not changed since.
    fn check_unchanged(&self, was: &Stat, now: &Stat) -> Result<(), Reason> {
        if now.kind != was.kind || !now.same_file(was) {
            return Err(Reason::Swapped);
        }
        let is_unchanged = match now.kind {
            Entry::File | Entry::Symlink => now.same_content(was),
            Entry::Dir => {
                let change = self.changes.get(&now.key());
                let is_own = |change: &DirChange| {
                    (change.before_ns, change.after_ns) == (was.ctime_ns, now.ctime_ns)
                };
                change.is_some_and(is_own)
                    || (now.mtime_ns(), now.ctime_ns) == (was.mtime_ns(), was.ctime_ns)
            }
            _ => return Err(Reason::Special),
        };
        if is_unchanged { Ok(()) } else { Err(Reason::Changed) }
    }

    /// Records that the run moved entries out of a directory, and restores the times of the directory
    /// if the user wants that. `before` is its metadata before the moves.
    pub(crate) fn record_change(&mut self, dir: &Dir, before: &Stat) {
        if self.options.directory_times {
            // The changed names matter more than the times, so a failure is ignored.
            let _refused = dir.set_times(before.atime, before.mtime);
        }
        // If the new time cannot be read, the directory later counts as changed by another program.
        let Ok(after) = dir.stat() else { return };
        let earlier = self.changes.get(&before.key());
        let earlier = earlier.filter(|change| change.after_ns == before.ctime_ns);
        let before_ns = earlier.map_or(before.ctime_ns, |change| change.before_ns);
        let change = DirChange { before_ns, after_ns: after.ctime_ns };
        self.changes.insert(before.key(), change);
    }
}

/// Returns whether an entry is a mount point. `parent` is the metadata of its parent directory.
fn is_mount_point(entry: &Stat, parent: &Stat) -> bool {
    // Before Linux 5.8, the IDs of mounts are unknown.
    if entry.mount == 0 { entry.device != parent.device } else { entry.mount != parent.mount }
}

/// Checks that the entry that arrived in quarantine is the chosen one. The content of a tree may have
/// changed while it was moved.
///
/// # Errors
///
/// The reason why the entry must be moved back.
pub(crate) fn has_arrived(was: &Stat, arrived: &Stat) -> Result<(), Reason> {
    if arrived.kind != was.kind || !arrived.same_file(was) {
        Err(Reason::Swapped)
    } else if was.kind == Entry::Dir || arrived.same_content(was) {
        Ok(())
    } else {
        Err(Reason::Changed)
    }
}
