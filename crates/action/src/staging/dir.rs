//! Chooses the location of staging directories, and creates, opens and removes them.
//!
//! A staging directory belongs to one run on one file system, and only the user who runs lop can
//! access it. No other user can replace an entry in it between two system calls. It is therefore
//! safe to check an entry and then remove it.
//!
//! The staging directory is in `.lop-quarantine-UID`, which is created in the file's own directory
//! or in one above it. The user must be able to write to this parent. A parent that nobody else may
//! write to is preferred, then one that the user owns, and then the topmost one. `/` is used only
//! if there is no other.
//!
//! # Full disks
//!
//! Creating a directory takes a free block, and users often delete duplicates because the disk is
//! full. If no block is free, each file instead passes through a temporary name in its own
//! directory. These names begin with `.lop-quarantine-UID-ID-`. This happens only if the user owns
//! the directory and nobody else may write to it, so that no other user can replace an entry there
//! either. No file keeps such a name after the run.

use fsops::DirBuffer;
use std::ffi::{CStr, CString};
use std::io;
use std::rc::Rc;
use std::time::Duration;

use fsops::{Dir, Stat};
use walk::{PathOpener, QUARANTINE_PREFIX, split_path};

use crate::error::Reason;

/// The name of the manifest in a staging directory with files in quarantine.
pub const MANIFEST: &CStr = c"manifest.jsonl";

/// Number and duration of the waits for a FUSE file system to release removed files.
const MAX_HIDDEN_FILE_WAITS: u32 = 10;
const HIDDEN_FILE_WAIT: Duration = Duration::from_millis(20);

/// An open staging directory.
#[derive(Clone, Debug)]
pub(crate) struct Staging {
    pub(crate) number: u32,
    pub(crate) dir: Rc<Dir>,
    pub(crate) path: Rc<[u8]>,
    /// The prefix of the run's names. Empty unless the directory also contains other names.
    prefix: Rc<str>,
}

/// Returns whether a path is the prefix of names beside the files instead of the path of a staging
/// directory.
fn is_beside(path: &[u8]) -> bool {
    split_path(path).1.starts_with(QUARANTINE_PREFIX.as_bytes())
}

/// Returns the parent of the `.lop-quarantine-UID` directory that contains the staging directory at
/// `path`.
pub(crate) fn parent_of_outer(path: &[u8]) -> &[u8] {
    let dir = split_path(path).0;
    if is_beside(path) { dir } else { split_path(dir).0 }
}

/// Opens a staging directory.
///
/// # Errors
///
/// Fails if the directory cannot be opened, or other users can access it.
pub(crate) fn open_staging(
    number: u32,
    path: &[u8],
    reach: &mut PathOpener,
) -> io::Result<Staging> {
    if is_beside(path) {
        let (path, prefix) = split_path(path);
        let dir = reach.dir(path)?;
        if !is_writable_only_by_user(&dir.stat()?) {
            let text = "others may write to it by now";
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
        }
        let prefix = String::from_utf8_lossy(prefix).into();
        return Ok(Staging { number, dir, path: path.into(), prefix });
    }
    let dir = reach.dir(path)?;
    if !is_private(&dir.stat()?) {
        let text = "other users can access it";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, text));
    }
    Ok(Staging { number, dir, path: path.into(), prefix: "".into() })
}

/// Returns the path of the directory in which to create `.lop-quarantine-UID` for files in
/// `dir_path`.
pub(crate) fn choose_parent(dir_path: &[u8], reach: &mut PathOpener) -> Result<Vec<u8>, Reason> {
    let failed = |source| Reason::Directory { at: dir_path.to_vec(), source };
    let own = reach.dir(dir_path).map_err(failed)?;
    let here = own.stat().map_err(failed)?;
    own.may_change().map_err(failed)?;
    let (mut best, mut best_rank) = (dir_path, rank(dir_path, &here));
    let mut path = dir_path;
    while !path.is_empty() {
        path = split_path(path).0;
        let Ok(above) = reach.dir(path) else { break };
        let stat = above.stat().map_err(failed)?;
        if (stat.mount, stat.device) != (here.mount, here.device) {
            break;
        }
        if rank(path, &stat) >= best_rank && above.may_change().is_ok() {
            (best, best_rank) = (path, rank(path, &stat));
        }
    }
    Ok(best.to_vec())
}

/// Ranks a directory as the parent of `.lop-quarantine-UID`. A directory that others may write to
/// ranks low, because they could replace `.lop-quarantine-UID`, and because files in `/tmp` are
/// removed at some point.
fn rank(path: &[u8], stat: &Stat) -> u8 {
    if path.is_empty() {
        return 0;
    }
    let is_closed = stat.mode & 0o022 == 0;
    1 + u8::from(stat.uid == user()) + 2 * u8::from(is_closed)
}

pub(crate) fn outer_path(above: &[u8]) -> Vec<u8> {
    let name = outer_name();
    [above.strip_suffix(b"/").unwrap_or(above), b"/", name.as_bytes()].concat()
}

pub(crate) fn outer_name() -> String {
    format!("{QUARANTINE_PREFIX}{}", user())
}

fn user() -> u32 {
    fsops::effective_user()
}

/// Recreates a staging directory that was removed because it was empty.
///
/// # Errors
///
/// Fails if the directory cannot be created, or its parent is accessible to other users.
pub(crate) fn restore_staging(path: &[u8], reach: &mut PathOpener) -> io::Result<()> {
    if is_beside(path) {
        return Ok(());
    }
    let (store, id) = split_path(path);
    let id = String::from_utf8_lossy(id);
    make_staging(split_path(store).0, &id, reach, true).map_err(|reason| match reason {
        Reason::Staging { source, .. } => source,
        reason => io::Error::new(io::ErrorKind::PermissionDenied, reason.to_string()),
    })
}

/// Creates the `.lop-quarantine-UID` directory in `above` if it is missing, and then the staging
/// directory in it. Unless `again` is true, the staging directory must not exist yet, because no
/// two runs share one.
///
/// # Errors
///
/// [`Reason::Staging`] or [`Reason::NotPrivate`]. Removes the `.lop-quarantine-UID` directory if
/// this call created it and it is empty.
pub(crate) fn make_staging(
    above: &[u8],
    id: &str,
    reach: &mut PathOpener,
    again: bool,
) -> Result<(), Reason> {
    let at = outer_path(above);
    let failed = |source| Reason::Staging { at: at.clone(), source };
    let above = reach.dir(above).map_err(failed)?;
    let store = CString::new(outer_name()).map_err(|e| failed(e.into()))?;
    let run = CString::new(id).map_err(|e| failed(e.into()))?;
    // Another run may remove the outer directory before this run has created its own directory in
    // it.
    for _ in 0..100 {
        let is_ours = above.make_private_dir(&store);
        let is_new = is_ours.is_ok();
        allow_existing(is_ours).map_err(failed)?;
        let dir = match above.open_child(&store) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            dir => dir.map_err(failed)?,
        };
        let is_private = is_private(&dir.stat().map_err(failed)?);
        let answer = if is_private { dir.make_private_dir(&run) } else { Ok(()) };
        match if again { allow_existing(answer) } else { answer } {
            Ok(()) if is_private => return Ok(()),
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            answer => {
                // The disk may be full, for example. The outer directory is removed only if it is
                // empty.
                let _kept = is_new.then(|| above.remove_empty_dir(&store));
                return Err(answer.err().map_or(Reason::NotPrivate { at: at.clone() }, failed));
            }
        }
    }
    Err(failed(io::ErrorKind::NotFound.into()))
}

fn allow_existing(answer: io::Result<()>) -> io::Result<()> {
    match answer {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        other => other,
    }
}

/// Returns whether no other user can access a directory. The check is needed even though lop
/// creates the directory with mode 0700: another user may have created it first, and some file
/// systems do not store permissions.
fn is_private(stat: &Stat) -> bool {
    stat.uid == user() && stat.mode.trailing_zeros() >= 6
}

/// Returns whether the user owns a directory and nobody else may change its entries.
pub(crate) fn is_writable_only_by_user(stat: &Stat) -> bool {
    stat.uid == user() && stat.mode & 0o022 == 0
}

impl Staging {
    /// Returns the name of entry `n` of the run.
    pub(crate) fn name_of(&self, n: u64) -> CString {
        self.name(&n.to_string())
    }

    /// Returns `name` with the run's prefix.
    pub(crate) fn name(&self, name: &str) -> CString {
        CString::new(format!("{}{name}", self.prefix)).unwrap_or_default()
    }

    /// Returns `name` without the run's prefix. Returns `None` if the name does not belong to the
    /// run.
    pub(crate) fn own<'n>(&self, name: &'n CStr) -> Option<&'n str> {
        name.to_str().ok()?.strip_prefix(&self.prefix[..])
    }

    /// Returns the path of a name in this directory.
    pub(crate) fn path_of(&self, name: &CStr) -> Vec<u8> {
        [&self.path[..], b"/", name.to_bytes()].concat()
    }
}

/// Removes a staging directory if it is empty, and then `.lop-quarantine-UID` if that directory is
/// empty too.
///
/// # Errors
///
/// Fails if an empty directory could not be removed.
pub(crate) fn remove_staging_if_empty(path: &[u8], reach: &mut PathOpener) -> io::Result<()> {
    if is_beside(path) {
        return Ok(());
    }
    remove_manifest_if_alone(path, reach);
    for path in [path, split_path(path).0] {
        reach.forget();
        let removed =
            reach.parent_and_name(path).and_then(|(dir, name)| dir.remove_empty_dir(&name));
        match removed.as_ref().map_err(io::Error::kind) {
            // The directory does not exist if an earlier run was killed before creating it.
            Ok(()) | Err(io::ErrorKind::NotFound) => {}
            Err(io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists) => break,
            Err(_) => return removed,
        }
    }
    Ok(())
}

/// Removes the manifest of a staging directory if the manifest is the only entry.
///
/// If a file is removed while it is open, libfuse renames it to `.fuse_hidden…` and removes it some
/// time after it is closed. This function therefore waits for such files to disappear.
fn remove_manifest_if_alone(path: &[u8], reach: &mut PathOpener) {
    let Ok(staging) = open_staging(0, path, reach) else { return };
    for _ in 0..MAX_HIDDEN_FILE_WAITS {
        let (mut others, mut hidden) = (0, 0);
        let listed = staging.dir.open_below_same_mount(b".").and_then(|dir| {
            dir.for_each(&mut DirBuffer::default(), |item| match item.name.to_bytes() {
                name if name == MANIFEST.to_bytes() => {}
                name if name.starts_with(b".fuse_hidden") => hidden += 1,
                _ => others += 1,
            })
        });
        if listed.is_err() || others > 0 {
            return;
        }
        if hidden == 0 {
            // The manifest may not exist. A manifest that cannot be removed does no harm.
            let _kept = staging.dir.remove_name(MANIFEST);
            return;
        }
        std::thread::sleep(HIDDEN_FILE_WAIT);
    }
}

#[cfg(test)]
mod tests {
    use walk::PathOpener;

    use super::{make_staging, outer_path, remove_staging_if_empty, restore_staging};
    use crate::error::Reason;

    #[test]
    fn no_two_runs_share_a_staging_directory() {
        let home = testkit::TempTree::new();
        let above = home.path().canonicalize().expect("a home").into_os_string();
        let above = above.into_encoded_bytes();
        let mut reach = PathOpener::new(4);
        make_staging(&above, "1-a", &mut reach, false).expect("is made");
        let again = make_staging(&above, "1-a", &mut reach, false).expect_err("exists");
        let is_there = |reason: &Reason| {
            matches!(reason, Reason::Staging { source, .. }
                if source.kind() == std::io::ErrorKind::AlreadyExists)
        };
        assert!(is_there(&again), "{again:?}");
        make_staging(&above, "1-b", &mut reach, false).expect("is another one");
        let path = [&outer_path(&above)[..], b"/1-a"].concat();
        restore_staging(&path, &mut reach).expect("for an undo of the same run");
        remove_staging_if_empty(&path, &mut reach).expect("is removed");
        assert!(reach.stat(&path).is_err() && reach.stat(&outer_path(&above)).is_ok());
    }
}
