//! Removes the tree of a test, of any depth and with any modes, without recursion.
//!
//! `std::fs::remove_dir_all` holds a descriptor and a stack frame per level. With Rust 1.95, a
//! chain of 3,000 directories fails with EMFILE under the usual limit of 1,024. This module holds
//! two or three descriptors at any depth. It climbs through `..` and checks that it returned to the
//! same directory. It never enters a mount, not even a bind mount of the same file system, because
//! a test that forgot a mount must not empty the mounted directory.

use std::ffi::{CStr, CString};
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, StatxFlags, chmodat, fchmod, openat, statat, statx,
    unlinkat,
};

/// A directory on the path from the root to the one being emptied.
struct Level {
    name: CString,
    place: Place,
    /// Subdirectories that remain to be removed.
    pending: Vec<CString>,
}

/// The identity of a directory and its mount.
#[derive(PartialEq, Eq, Clone, Copy)]
struct Place {
    mount: u64,
    device: (u32, u32),
    inode: u64,
}

/// Removes `root` and everything below it. A missing `root` is not an error.
///
/// # Errors
///
/// The first failure. Everything before it was removed. `CrossesDevices` if there is a mount below
/// `root`, and `Other` if a directory was moved away meanwhile.
pub fn remove_tree(root: &Path) -> io::Result<()> {
    let mut dir = match enter(CWD, root) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        dir => dir?,
    };
    let home = place(&dir)?;
    let mut levels = vec![Level { name: c"".into(), place: home, pending: strip(&dir)? }];
    while let Some(level) = levels.last_mut() {
        if let Some(name) = level.pending.pop() {
            dir = enter(&dir, name.as_c_str())?;
            let place = place(&dir)?;
            if place.mount != home.mount {
                return Err(io::Error::new(io::ErrorKind::CrossesDevices, "a mount is below"));
            }
            levels.push(Level { name, place, pending: strip(&dir)? });
        } else if let (Some(done), Some(above)) = (levels.pop(), levels.last()) {
            dir = openat(&dir, c"..", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
            if place(&dir)? != above.place {
                return Err(io::Error::other("a directory was moved during its removal"));
            }
            unlinkat(&dir, &done.name, AtFlags::REMOVEDIR)?;
        }
    }
    fs::remove_dir(root)
}

/// Opens a directory after giving its owner the permissions that emptying it requires.
fn enter(
    parent: impl std::os::fd::AsFd,
    name: impl rustix::path::Arg + Copy,
) -> io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let dir = match openat(&parent, name, flags, Mode::empty()) {
        Err(rustix::io::Errno::ACCESS) => {
            chmodat(&parent, name, Mode::RWXU, AtFlags::empty())?;
            openat(&parent, name, flags, Mode::empty())?
        }
        dir => dir?,
    };
    fchmod(&dir, Mode::RWXU)?;
    Ok(dir)
}

/// Unlinks everything in `dir` except subdirectories, and returns the names of these.
fn strip(dir: &OwnedFd) -> io::Result<Vec<CString>> {
    let mut directories = Vec::new();
    for entry in Dir::read_from(dir)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == c"." || name == c".." {
            continue;
        }
        if is_directory(dir, name, entry.file_type())? {
            directories.push(name.to_owned());
        } else {
            unlinkat(dir, name, AtFlags::empty())?;
        }
    }
    Ok(directories)
}

fn is_directory(dir: &OwnedFd, name: &CStr, kind: FileType) -> io::Result<bool> {
    if kind != FileType::Unknown {
        return Ok(kind == FileType::Directory);
    }
    let stat = statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
}

fn place(dir: &OwnedFd) -> io::Result<Place> {
    let x = statx(dir, c"", AtFlags::EMPTY_PATH, StatxFlags::INO | StatxFlags::MNT_ID)?;
    let device = (x.stx_dev_major, x.stx_dev_minor);
    Ok(Place { mount: x.stx_mnt_id, device, inode: x.stx_ino })
}

#[cfg(test)]
mod tests {
    use super::remove_tree;
    use crate::{BOTTOM, Mount, TempTree, TreeBuilder, deep_path, open_beneath};
    use std::io::{ErrorKind, Read};

    #[test]
    fn removes_a_tree_far_deeper_than_path_max_and_descriptors() {
        let temp = TempTree::new();
        let root = temp.path().join("deep");
        TreeBuilder::new().deep_chain(5_000, "0123456789", "down here\n").make(&root);
        let mut text = String::new();
        let mut bottom = open_beneath(&root, deep_path(5_000, "0123456789")).expect("the bottom");
        bottom.read_to_string(&mut text).expect("readable");
        assert_eq!(text, "down here\n");
        remove_tree(&root).expect("removed");
        assert!(!root.exists());
        remove_tree(&root).expect("missing is fine");
    }

    #[test]
    fn removes_unreadable_directories_and_leaves_link_targets() {
        let temp = TempTree::new();
        let (root, kept) = (temp.path().join("tree"), temp.path().join("kept"));
        TreeBuilder::new().file("file", "kept").make(&kept);
        TreeBuilder::new()
            .file("locked/inside/file", "x")
            .mode("locked/inside", 0)
            .mode("locked", 0)
            .symlink("link", &kept)
            .make(&root);
        remove_tree(&root).expect("removed");
        assert!(!root.exists() && kept.join("file").exists());
    }

    #[test]
    fn refuses_to_enter_a_bind_mount_of_the_same_file_system() {
        let temp = TempTree::new();
        let (root, source) = (temp.path().join("tree"), temp.path().join("source"));
        TreeBuilder::new().file(BOTTOM, "precious").make(&source);
        TreeBuilder::new().dir("mounted").make(&root);
        match Mount::bind(&source, root.join("mounted")) {
            Err(reason) => crate::skipped(reason),
            Ok(_mount) => {
                let error = remove_tree(&root).expect_err("a mount is below");
                assert_eq!(error.kind(), ErrorKind::CrossesDevices);
            }
        }
        assert!(source.join(BOTTOM).exists());
    }
}
