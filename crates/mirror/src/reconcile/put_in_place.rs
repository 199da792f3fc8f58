//! Gives new entries their final names, and adopts unfinished directories of killed runs.
//!
//! A name that was not in the destination's listing is used only if it is free. If it is taken, the file system ignores
//! case or normalises names, and an entry has the name in another spelling. Replacing that entry would silently lose
//! one of two files.

use std::ffi::{CStr, CString};
use std::io::{self, ErrorKind};
use std::sync::Arc;

use fsops::{Dir, DirMark, FileKey, Kind, Op};

use crate::engine::dir_cache::Side;
use crate::engine::dir_state::DirState;
use crate::engine::entry::Entry;
use crate::engine::worker::Worker;
use crate::model::dir_node::{DRY_RUN_ONLY, DirNode};
use crate::model::reason::Reason;
use crate::model::settled::{Failure, destination};

impl Worker<'_> {
    /// Renames a temporary name to the final name. If a directory has the final name, does nothing, because that
    /// directory is removed later. `made` identifies the entry that must still have the temporary name, if the entry is
    /// known.
    pub(crate) fn put_in_place(
        &mut self,
        entry: Entry<'_>,
        to: &Dir,
        temp: &CStr,
        made: Option<FileKey>,
    ) -> Result<(), Failure> {
        check_still_ours(to, temp, made)?;
        if entry.is_obstructed() {
            return Ok(());
        }
        if entry.dest.is_some() {
            return to.replace(temp, entry.name).map_err(destination(Op::Rename));
        }
        match to.rename_new(temp, entry.name) {
            Ok(()) => Ok(()),
            Err(e) if name_exists(&e) => {
                self.check_no_other_spelling(entry.dir, to, entry.name)?;
                to.replace(temp, entry.name).map_err(destination(Op::Rename))
            }
            Err(e) => Err(destination(Op::Rename)(e)),
        }
    }

    /// Fails if the destination has the name in another spelling. If it has the name in this spelling, another process
    /// created the entry after the directory was listed. Such an entry can be replaced like a listed one.
    pub(crate) fn check_no_other_spelling(
        &mut self,
        dir_state: &DirState,
        to: &Dir,
        name: &CStr,
    ) -> Result<(), Failure> {
        let Some(reason) = self.other_spelling(to, name)? else { return Ok(()) };
        if let Reason::Spelling { other: Some(other) } = &reason {
            // The entry is kept, because it may belong to either of the two spellings.
            dir_state.dest_listing.claim(other);
        }
        Err(Failure::Failed(reason))
    }

    /// Returns the reason for the failure if a directory in the destination has a name in another spelling. Returns
    /// `None` if it has the name in this spelling, or no longer has it.
    pub(crate) fn other_spelling(
        &mut self,
        dir: &Dir,
        name: &CStr,
    ) -> Result<Option<Reason>, Failure> {
        let dest = match dir.stat_child(name) {
            Ok(dest) => dest.key(),
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(destination(Op::Stat)(e)),
        };
        let mut names = Vec::new();
        // The cached descriptor has already been read to its end, so the directory is opened again.
        let listed = dir.open_child(c".").and_then(|dir| {
            dir.for_each(self.list_buffer(), |item| names.push(item.name.to_owned()))
        });
        listed.map_err(destination(Op::List))?;
        if names.iter().any(|listed| **listed == *name) {
            return Ok(None);
        }
        let is_it = |listed: &&CString| dir.stat_child(listed).is_ok_and(|it| it.key() == dest);
        let folded = |name: &CStr| name.to_string_lossy().to_lowercase();
        let wanted = folded(name);
        // Through FUSE, each spelling may have its own inode number.
        let alike = names.iter().find(|listed| folded(listed) == wanted);
        let other = alike.or_else(|| names.iter().find(is_it)).cloned();
        Ok(Some(Reason::Spelling { other }))
    }

    /// Fails early if the destination has the name in another spelling. Skips the check if the result is known.
    pub(crate) fn check_name_free(&mut self, entry: Entry<'_>) -> Result<(), Failure> {
        let is_new = entry.dir.traits.is_unpublished || entry.dir.node.is(DRY_RUN_ONLY);
        if is_new || entry.dest.is_some() {
            return Ok(());
        }
        let to = self.open(Side::Destination, &entry.dir.node).map_err(destination(Op::Open))?;
        if to.stat_child(entry.name).is_err() {
            return Ok(());
        }
        self.check_no_other_spelling(entry.dir, &to, entry.name)
    }

    /// Returns the failure to report when an entry could not be created. If the name exists in another spelling, the
    /// failure says so.
    pub(crate) fn creation_failure(
        &mut self,
        entry: Entry<'_>,
        to: &Dir,
        op: Op,
        error: io::Error,
    ) -> Failure {
        if name_exists(&error)
            && let Err(failure) = self.check_no_other_spelling(entry.dir, to, entry.name)
        {
            return failure;
        }
        destination(op)(error)
    }

    /// Adopts the unfinished directory that a killed run left for this name, if there is one. Renames it to the
    /// temporary name that this run uses.
    pub(crate) fn adopt_unfinished_dir(&mut self, entry: Entry<'_>) {
        let DirState { node, dest_listing, .. } = &**entry.dir;
        if entry.is_obstructed() || self.is_dry_run(entry.dir) || !dest_listing.has_temp_names() {
            return;
        }
        let Some(metadata) = node.metadata() else { return };
        let Ok(above) = self.open(Side::Destination, node) else { return };
        for (temp, dest) in dest_listing.temp_names_of(entry.name) {
            if dest.kind != Kind::Dir || self.is_of_other_run(node) {
                continue;
            }
            // In a directory that is writable by everyone, another user may have created it so that lop would fill it.
            let owners =
                [Some(self.job.privileges.user()), metadata.dest_stat.map(|dest| dest.uid)];
            let is_own = above.stat_child(temp).is_ok_and(|stat| owners.contains(&Some(stat.uid)));
            if is_own && above.rename_new(temp, &self.job.temp_names.of(entry.name)).is_ok() {
                dest_listing.claim(temp);
                return;
            }
        }
    }

    /// Returns whether a directory is inside the destination of another run. Temporary names in it may belong to that
    /// run. Usually a run whose destination is inside another run's destination is refused at its start. If it cannot
    /// read the directories above its destination, only the outer run can detect the conflict, which happens here.
    pub(crate) fn is_of_other_run(&mut self, node: &Arc<DirNode>) -> bool {
        let mut next = Some(node);
        while let Some(node) = next.filter(|node| node.parent().is_some()) {
            let dir = self.open(Side::Destination, node);
            if dir.is_ok_and(|dir| dir.is_marked(DirMark::Destination)) {
                return true;
            }
            next = node.parent();
        }
        false
    }
}

/// Fails unless a temporary name still belongs to the entry that was created under it.
pub(crate) fn check_still_ours(
    dir: &Dir,
    temp: &CStr,
    made: Option<FileKey>,
) -> Result<(), Failure> {
    let Some(made) = made else { return Ok(()) };
    let is_it = dir.stat_child(temp).is_ok_and(|now| now.key() == made);
    if is_it { Ok(()) } else { Err(Failure::Failed(Reason::Displaced)) }
}

/// Returns whether an error means that the name already exists.
pub(crate) fn name_exists(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::DirectoryNotEmpty)
}
