//! What the file systems of two files rule out, known before anything is compared: for plans that are shown
//! and for those that are carried out.
//!
//! # Views
//!
//! A kept file on a network or FUSE file system may be the very file that is to go, by another path: of a tree
//! that is exported and mounted on the same machine, of one share that is mounted twice, of a union and its
//! branches. Numbers do not tell, as each of these has its own, and what such a file system says after the other
//! name is gone may be from a cache, content included. So it counts as another file only if it is on the same file
//! system as the one that goes, if the kernel itself keeps its metadata ([`Volume::is_local`]) and its times are others, or if the user
//! says that it is one.

use std::io;

use fsops::{Dir, File, Op, Stat, Volume};
use walk::{Own, STORE_PREFIX, split};

use crate::error::Reason;
use crate::plan::kind::Kind;

/// Where the kept file is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeptLocation<'k> {
    pub(crate) path: &'k [u8],
    pub(crate) stat: &'k Stat,
    pub(crate) volume: Volume,
}

impl KeptLocation<'_> {
    /// Makes sure that a kind of action can be done with a file, on `there` if that is known; `distinct` are directories of which the user
    /// said that what is below them is no other view of it.
    pub(crate) fn check(
        &self,
        kind: Kind,
        going: &Stat,
        there: Option<Volume>,
        distinct: &[Vec<u8>],
    ) -> Result<(), Reason> {
        let volume = &self.volume;
        if kind == Kind::Reflink && !volume.can_share_extents() {
            return Err(Reason::Unsupported { file_system: volume.name(), kind });
        }
        // A snapshot of btrfs has the times of its original, and is another file.
        let may_show = there.is_some_and(|there| !there.is_local(going.device));
        let is_shown = may_show && have_same_times(self.stat, going);
        let is_distinct = self.stat.device == going.device
            || volume.is_local(self.stat.device) && !is_shown
            || distinct.iter().any(|dir| is_below(dir, self.path));
        if is_distinct { Ok(()) } else { Err(Reason::MaybeAlias { file_system: volume.name() }) }
    }
}

/// Returns whether two files on different devices have the same times to the nanosecond, as a file and its view have: no
/// copy is made with the status change time of its original. Whole seconds do not tell.
///
/// mergerfs renames a file on all of its branches at once, and a kept file that is on one of them with it.
fn have_same_times(one: &Stat, other: &Stat) -> bool {
    let times = |stat: &Stat| (stat.mtime_ns(), stat.ctime_ns);
    times(one) == times(other) && one.ctime_ns % 1_000_000_000 != 0
}

/// Returns that the file system knows no such kind of action, if an error says so.
pub(crate) fn unsupported(kind: Kind, volume: &Volume, error: &io::Error) -> Option<Reason> {
    let is_unknown = match error.kind() {
        io::ErrorKind::Unsupported => true,
        // Elsewhere the kernel lets nobody link the files of others.
        io::ErrorKind::PermissionDenied => {
            volume.is_fat() || !volume.keeps_numbers() && fsops::effective_user() == 0
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

/// Fails if a file is one of these. `path` is absolute, and `dir` is the directory that it leads to.
///
/// # Errors
///
/// [`Reason::OwnFile`], [`Reason::InQuarantine`], or the reason why `dir` has no metadata.
pub fn check_not_own(own: &Own, dir: &Dir, path: &[u8]) -> Result<(), Reason> {
    // Where no directory could be made, a store is a single file.
    let mut names = path.split(|&byte| byte == b'/');
    if names.any(|name| name.starts_with(STORE_PREFIX.as_bytes())) {
        return Err(Reason::InQuarantine);
    }
    let dir = dir.stat().map_err(Reason::failed(Op::Stat))?.key();
    if own.has(dir, split(path).1) { Err(Reason::OwnFile) } else { Ok(()) }
}

/// Returns whether two equal files share all their extents already, or have none: what is inside an inode is
/// copied there.
pub(crate) fn has_nothing_to_share(file: &File, kept: &File) -> bool {
    let layout = file.shared_layout();
    layout.is_some() && layout == kept.shared_layout() || file.is_inline()
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use fsops::Dir;
    use testkit::TreeBuilder;
    use walk::Own;

    use super::{check_not_own, is_below};
    use crate::error::Reason;

    #[test]
    fn a_path_is_below_a_directory_or_not() {
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
    fn files_in_folders_of_quarantine_and_by_themselves_are_in_quarantine() {
        let tree = TreeBuilder::new().dir("d/.lop-quarantine-0/run").make_temp();
        let check = |dir: &str, name: &str| {
            let path = tree.join(dir);
            let opened = Dir::open(&path).expect("is there");
            check_not_own(&Own::default(), &opened, path.join(name).as_os_str().as_bytes())
        };
        assert!(matches!(check("d/.lop-quarantine-0/run", "1"), Err(Reason::InQuarantine)));
        assert!(matches!(check("d", ".lop-quarantine-0-run-7"), Err(Reason::InQuarantine)));
        assert!(check("d", "file").is_ok());
    }
}
