//! Finds reasons to refuse an action before any bytes are compared. Previews and runs share these
//! checks.
//!
//! # Aliases
//!
//! A kept file on a network or FUSE file system may be an alias of the file to be removed. Examples
//! are a tree that is exported and mounted on the same machine, a share that is mounted twice, and
//! a union file system with its branches. Device and inode numbers do not reveal an alias, because
//! each file system assigns its own. Once the file is gone, such a file system may still report its
//! alias from a cache, including the content.
//!
//! The kept file therefore counts as a different file only in three cases:
//!
//! - It is on the same device as the redundant file.
//! - The kernel itself maintains its metadata ([`Volume::is_local`]), and its times differ.
//! - The user says so (`--distinct`).

use std::io;

use fsops::{Dir, File, Op, Stat, Volume};
use walk::{OwnFiles, QUARANTINE_PREFIX, split_path};

use crate::error::Reason;
use crate::plan::kind::Kind;

/// The kept file and its file system.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeptLocation<'k> {
    pub(crate) path: &'k [u8],
    pub(crate) stat: &'k Stat,
    pub(crate) volume: Volume,
}

impl KeptLocation<'_> {
    /// Checks that a kind of action is possible on a file with the metadata `redundant`. `there` is
    /// the file system of that file, if known. `distinct` contains the directories that the user
    /// declared to be free of aliases.
    ///
    /// # Errors
    ///
    /// [`Reason::Unsupported`] or [`Reason::MaybeAlias`].
    pub(crate) fn check(
        &self,
        kind: Kind,
        redundant: &Stat,
        there: Option<Volume>,
        distinct: &[Vec<u8>],
    ) -> Result<(), Reason> {
        let volume = &self.volume;
        if kind == Kind::Reflink && !volume.can_share_extents() {
            return Err(Reason::Unsupported { file_system: volume.name(), kind });
        }
        // The times are compared only if the redundant file is not on a local file system. A file in
        // a btrfs snapshot is local and has the times of the original, but is a different file.
        let may_show = there.is_some_and(|there| !there.is_local(redundant.device));
        let is_shown = may_show && have_same_times(self.stat, redundant);
        let is_distinct = self.stat.device == redundant.device
            || volume.is_local(self.stat.device) && !is_shown
            || distinct.iter().any(|dir| is_below(dir, self.path));
        if is_distinct { Ok(()) } else { Err(Reason::MaybeAlias { file_system: volume.name() }) }
    }
}

/// Returns whether two files on different devices have the same times to the nanosecond, as a file
/// and its alias do. A copy never has the status change time of its original. Times in whole
/// seconds prove nothing.
///
/// This also catches mergerfs, which would rename a kept file on one of its branches together with
/// the file to be removed.
fn have_same_times(one: &Stat, other: &Stat) -> bool {
    let times = |stat: &Stat| (stat.mtime_ns(), stat.ctime_ns);
    times(one) == times(other) && one.ctime_ns % 1_000_000_000 != 0
}

/// Converts an error into [`Reason::Unsupported`] if it means that the file system does not support
/// this kind of action.
pub(crate) fn unsupported(kind: Kind, volume: &Volume, error: &io::Error) -> Option<Reason> {
    let is_unknown = match error.kind() {
        io::ErrorKind::Unsupported => true,
        // On other file systems, this error means that the kernel forbids links to files of other
        // users.
        io::ErrorKind::PermissionDenied => {
            volume.is_fat() || !volume.keeps_inode_numbers() && fsops::effective_user() == 0
        }
        _ => false,
    };
    is_unknown.then_some(Reason::Unsupported { file_system: volume.name(), kind })
}

/// Returns whether an absolute path is below a directory.
fn is_below(dir: &[u8], path: &[u8]) -> bool {
    let dir = dir.strip_suffix(b"/").unwrap_or(dir);
    path.strip_prefix(dir).is_some_and(|rest| rest.starts_with(b"/"))
}

/// Fails if a file belongs to lop itself, or is in a staging or quarantine directory of lop. `path`
/// is absolute, and `dir` is its parent directory.
///
/// A run that removed such a file could not be undone, or could prevent the undo of another run.
///
/// # Errors
///
/// [`Reason::OwnFile`], [`Reason::InQuarantine`], or the reason why the metadata of `dir` cannot be
/// read. Nothing on disk changes.
pub fn check_not_own(own: &OwnFiles, dir: &Dir, path: &[u8]) -> Result<(), Reason> {
    if has_quarantine_name(path) {
        return Err(Reason::InQuarantine);
    }
    let dir = dir.stat().map_err(Reason::failed(Op::Stat))?.key();
    if own.has(dir, split_path(path).1) { Err(Reason::OwnFile) } else { Ok(()) }
}

/// Returns whether a component of a path is a name that lop uses for quarantine.
pub(crate) fn has_quarantine_name(path: &[u8]) -> bool {
    // All path components are checked, including the file name. On a full disk, names with this
    // prefix are used beside the files instead of a staging directory.
    path.split(|&byte| byte == b'/').any(|name| name.starts_with(QUARANTINE_PREFIX.as_bytes()))
}

/// Returns whether a reflink would save nothing. This is the case if two equal files already share
/// all their extents, or if the bytes are inside the inode and would be copied.
pub(crate) fn has_nothing_to_share(file: &File, kept: &File) -> bool {
    let layout = file.shared_layout();
    layout.is_some() && layout == kept.shared_layout() || file.is_inline()
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use fsops::Dir;
    use testkit::TreeBuilder;
    use walk::OwnFiles;

    use super::{check_not_own, is_below};
    use crate::error::Reason;

    #[test]
    fn only_whole_path_components_count() {
        for (dir, path, is) in [
            ("/a", "/a/b", true),
            ("/a/", "/a/b", true),
            ("/", "/a", true),
            ("/a", "/ab", false),
            ("/a/b", "/a", false),
        ] {
            assert_eq!(is_below(dir.as_bytes(), path.as_bytes()), is, "{dir} {path}");
        }
    }
    #[test]
    fn files_in_and_beside_quarantine_directories_count_as_quarantined() {
        let tree = TreeBuilder::new().dir("d/.lop-quarantine-0/run").make_temp();
        let check = |dir: &str, name: &str| {
            let path = tree.join(dir);
            let opened = Dir::open(&path).expect("exists");
            check_not_own(&OwnFiles::default(), &opened, path.join(name).as_os_str().as_bytes())
        };
        assert!(matches!(check("d/.lop-quarantine-0/run", "1"), Err(Reason::InQuarantine)));
        assert!(matches!(check("d", ".lop-quarantine-0-run-7"), Err(Reason::InQuarantine)));
        assert!(check("d", "file").is_ok());
    }
}
