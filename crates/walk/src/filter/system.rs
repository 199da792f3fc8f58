//! Directories that belong to a system or a program rather than to the user's data.
//!
//! System directories contain snapshots of the same files, deleted files, or private files of a
//! system. Reading them takes time, and users can neither change them nor rely on a copy in them.
//!
//! A version control repository contains the user's work, so it is scanned and queried. Its files
//! must match the records of the version control program, so only that program may change them.

use crate::tree::Tree;
use crate::tree::records::DirId;

/// Names of system directories.
const SYSTEM: [&[u8]; 17] = [
    // Snapshots: NetApp, QNAP, Synology, snapper, ZFS.
    b".snapshot",
    b"~snapshot",
    b"@Recently-Snapshot",
    b"#snapshot",
    b".snapshots",
    b".zfs",
    // Trash: XDG (except on the disk of the home directory), macOS, QNAP, Synology.
    b".Trash",
    b".Trashes",
    b"@Recycle",
    b"#recycle",
    // Thumbnails and indexes: Synology, QNAP, macOS.
    b"@eaDir",
    b".@__thumb",
    b".Spotlight-V100",
    b".fseventsd",
    b".DocumentRevisions-V100",
    b".TemporaryItems",
    // Files whose names were lost in a repair of the file system.
    b"lost+found",
];

/// Names of Windows system directories. Windows ignores case.
const OF_WINDOWS: [&[u8]; 3] = [b"$RECYCLE.BIN", b"RECYCLER", b"System Volume Information"];

/// Names of version control directories.
const REPOSITORIES: [&[u8]; 5] = [b".git", b".hg", b".svn", b".bzr", b".jj"];

/// The trash of a home directory.
const HOME_TRASH: &[u8] = b".local/share/Trash";

/// Returns whether a directory is a system directory. `parent` returns the path of the parent
/// directory. It is called only if the name alone is not sufficient.
pub(crate) fn is_system_dir(name: &[u8], parent: impl FnOnce() -> Vec<u8>) -> bool {
    let path = || [&parent()[..], b"/", name].concat();
    is_system_name(name) || name == b"Trash" && is_home_trash(&path())
}

/// Returns whether a path is below a system directory.
pub fn in_system_dir(path: &[u8]) -> bool {
    let names = || path.split(|&byte| byte == b'/');
    let dirs = || names().take(names().count() - 1);
    dirs().any(is_system_name) || {
        let ends = path.windows(6).enumerate().filter(|(_, end)| *end == b"Trash/");
        ends.map(|(at, _)| &path[..at + 5]).any(is_home_trash)
    }
}

/// Returns, for each directory, whether its files belong to a system or a program. This applies to
/// system directories, to repositories, and to everything below them. The absolute paths in `named`
/// are exempt because the user asked for them.
pub fn managed_by_programs(tree: &Tree, named: &[Vec<u8>]) -> Vec<bool> {
    let mut kept: Vec<bool> = Vec::with_capacity(tree.dirs().len());
    for (id, dir) in (0u32..).map(DirId).zip(tree.dirs()) {
        let is_kept = match (dir.parent, tree.dir_name(id)) {
            (Some(parent), Some(name)) => {
                let (name, above) = (name.to_bytes(), || tree.absolute_dir_path(parent));
                kept[parent.0 as usize]
                    || REPOSITORIES.contains(&name)
                    || is_system_dir(name, above)
            }
            _ => false,
        };
        let is_named = || named.contains(&tree.absolute_dir_path(id));
        kept.push(is_kept && !is_named());
    }
    kept
}

/// Returns whether every directory with this name is a system directory.
pub fn is_system_name(name: &[u8]) -> bool {
    let of_windows = |other: &[u8]| name.eq_ignore_ascii_case(other);
    SYSTEM.contains(&name) || OF_WINDOWS.into_iter().any(of_windows) || is_trash_of_user(name)
}

/// Returns whether this is the name of a user's trash, such as `.Trash-1000`.
fn is_trash_of_user(name: &[u8]) -> bool {
    let number = name.strip_prefix(b".Trash-");
    number.is_some_and(|n| !n.is_empty() && n.iter().all(u8::is_ascii_digit))
}

fn is_home_trash(path: &[u8]) -> bool {
    let rest = path.strip_suffix(HOME_TRASH);
    rest.is_some_and(|rest| rest.is_empty() || rest.ends_with(b"/"))
}

#[cfg(test)]
mod tests {
    use super::{in_system_dir, is_system_dir, is_system_name, managed_by_programs};
    use crate::tree::Tree;

    #[test]
    fn system_directories_are_recognised_by_name() {
        for name in ["@eaDir", ".snapshots", "$RECYCLE.BIN", "$Recycle.Bin", ".Trash-1000"] {
            assert!(is_system_name(name.as_bytes()), "{name}");
        }
        for name in ["", "Trash", ".Trash-", ".Trash-mine", "snapshots", ".git", "eaDir"] {
            assert!(!is_system_name(name.as_bytes()), "{name}");
        }
    }

    #[test]
    fn home_trash_is_recognised_by_location() {
        let is = |parent: &str| is_system_dir(b"Trash", || parent.as_bytes().to_vec());
        assert!(is("/home/me/.local/share") && is("./.local/share") && is(".local/share"));
        assert!(!is("/home/me/share") && !is("x.local/share") && !is(""));
    }

    #[test]
    fn paths_below_system_directories_are_recognised() {
        for path in ["/a/.snapshot/b", "/.zfs/x/y", "/home/me/.local/share/Trash/files/x"] {
            assert!(in_system_dir(path.as_bytes()), "{path}");
        }
        for path in ["/a/.snapshot", "/a/b", "/me/Trash/x", "/a/x.local/share/Trash/y", ""] {
            assert!(!in_system_dir(path.as_bytes()), "{path}");
        }
    }

    #[test]
    fn managed_directories_are_found_unless_named() {
        let mut tree = Tree::default();
        let root = tree.remember_root();
        let mut child = |parent, name| tree.remember_dir(parent, name);
        let git = child(root, c".git");
        let objects = child(git, c"objects");
        let pack = child(objects, c"pack");
        let other = child(root, c"@eaDir");
        let mine = child(root, c"git");
        let kept = |named: &[&str]| {
            let named: Vec<Vec<u8>> = named.iter().map(|path| path.as_bytes().to_vec()).collect();
            let kept = managed_by_programs(&tree, &named);
            [root, git, objects, pack, other, mine].map(|dir| kept[dir.0 as usize])
        };
        assert_eq!(kept(&[]), [false, true, true, true, true, false]);
        assert_eq!(kept(&["/"]), kept(&[]));
        assert_eq!(kept(&["/.git"]), [false, false, false, false, true, false]);
        assert_eq!(kept(&["/.git/objects"]), [false, true, false, false, true, false]);
    }
}
