//! Decides whether an entry on disk is the file, the link or the copy that a journal describes.
//!
//! An entry is identified by inode number, size and time, insofar as the file system stores them.
//! Callers remove or replace only entries that these functions recognize, so each function must
//! return false when in doubt.

use std::ffi::CStr;

use fsops::{Dir, FileKey, Kind as Entry, Stat};

use crate::error::Reason;
use crate::journal::record::{FormerMetadata, Intent};
use crate::journal::replay::LoggedIntent;
use crate::plan::kind::Kind;
use crate::plan::target::Version;
use crate::staging::dir::Staging;
use crate::staging::name_swap::{Substitute, leads_to};

/// Returns whether a file on disk is the former file of an intent and still has its former size and
/// modification time.
pub(crate) fn is_unchanged(now: &Stat, dir: &Dir, was: &FormerMetadata, fsid: u64) -> bool {
    (now.size, now.mtime_ns()) == (was.version.size, was.version.mtime_ns)
        && is_same_inode(now, dir, was, fsid)
}

/// Returns whether an entry in a staging directory is the one that an intent moved there. A tree is
/// recognized by its top directory alone, because its content does not identify it.
pub(crate) fn is_moved_entry(now: &Stat, dir: &Dir, intent: &Intent, fsid: u64) -> bool {
    if intent.is_tree() {
        return now.kind == Entry::Dir && is_same_inode(now, dir, &intent.was, fsid);
    }
    let is_kind = now.kind == Entry::File || intent.swept.is_some() && now.kind == Entry::Symlink;
    is_kind && is_unchanged(now, dir, &intent.was, fsid)
}

/// Returns whether a file on disk is the former file of an intent, regardless of its current
/// content.
///
/// The device number may have changed after a restart. In that case either the `fsid` of the file
/// system or the birth time of the file must match. The birth time is needed on XFS, which derives
/// the `fsid` from the device number.
pub(crate) fn is_same_inode(now: &Stat, dir: &Dir, was: &FormerMetadata, fsid: u64) -> bool {
    let is_born_then = now.born_ns != 0 && now.born_ns == was.born_ns;
    let same_disk = || {
        now.device == was.version.device
            || fsid != 0 && dir.volume().is_ok_and(|volume| volume.fsid == fsid)
    };
    was.has_inode_of(now) && (is_born_then || same_disk())
}

/// Returns the substitute that an action makes for a file.
pub(crate) fn substitute_of(
    LoggedIntent { intent, links, .. }: &LoggedIntent,
    device: u64,
) -> Substitute {
    let link = |&inode: &u64| FileKey { device, inode };
    match (intent.kind, &intent.link) {
        (Kind::Hardlink, _) => {
            Substitute::Link(std::iter::once(&intent.kept.inode).chain(links).map(link).collect())
        }
        (_, Some(link)) => Substitute::Symlink(link.0.clone()),
        _ => Substitute::Nothing,
    }
}

/// Returns the substitute that an undo makes for a file.
pub(crate) fn undo_substitute_of(intent: &Intent, inode: u64, staging: &Staging) -> Substitute {
    if intent.kind == Kind::Separate {
        let device = staging.dir.stat().map_or(0, |stat| stat.device);
        return Substitute::Link(vec![FileKey { device, inode }]);
    }
    let Version { size, mtime_ns, .. } = intent.was.version;
    Substitute::Copy { inode, size, mtime_ns }
}

/// Returns the substitute that the run put in a file's place, if `now` is that substitute. Fails
/// with [`Reason::NameTaken`] otherwise.
pub(crate) fn substitute_in_place(
    logged: &LoggedIntent,
    (dir, name): (&Dir, &CStr),
    now: &Stat,
) -> Result<Substitute, Reason> {
    let new = substitute_of(logged, now.device);
    let is = match &new {
        Substitute::Link(keys) if keys.contains(&now.key()) => now.kind == Entry::File,
        // Where inode numbers change with each mount, a link cannot be identified by its inode
        // number. An entry with the size and time of the kept file is accepted if it has several
        // names, because replacing one of them loses no content.
        Substitute::Link(_) => {
            let may_be = now.links > 1 && has_size_and_time_of_kept(&logged.intent, now);
            let is_numbered_anew = dir.volume().is_ok_and(|volume| !volume.keeps_inode_numbers());
            return if may_be && is_numbered_anew {
                Ok(Substitute::Link(vec![now.key()]))
            } else {
                Err(Reason::NameTaken)
            };
        }
        Substitute::Symlink(target) => {
            now.kind == Entry::Symlink && leads_to(dir, name, now, target).is_ok_and(|leads| leads)
        }
        Substitute::Nothing | Substitute::Copy { .. } => false,
    };
    if is { Ok(new) } else { Err(Reason::NameTaken) }
}

/// Returns whether a file has the size and modification time of a former file.
pub(crate) fn has_size_and_time_of(was: &FormerMetadata, now: &Stat) -> bool {
    now.kind == Entry::File
        && (now.size, now.mtime_ns()) == (was.version.size, was.version.mtime_ns)
}

/// Returns whether a file is the kept file of an intent, with the content that was compared.
pub(crate) fn is_kept_file(intent: &Intent, now: &Stat) -> bool {
    now.inode == intent.kept.inode && has_size_and_time_of_kept(intent, now)
}

/// Returns whether a file has the size and modification time of the kept file.
pub(crate) fn has_size_and_time_of_kept(intent: &Intent, now: &Stat) -> bool {
    let kept = &intent.kept;
    now.kind == Entry::File && (now.size, now.mtime_ns()) == (kept.size, kept.mtime_ns)
}
