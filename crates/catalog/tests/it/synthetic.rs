//! Trees that do not exist on disk, with any metadata on any device and any number of files.

use std::ffi::CString;

use fsops::{FileKey, Volume};
use walk::{Device, Remembered, Tree};

/// A file system that does not exist.
pub(crate) const NOWHERE: Device =
    Device { number: 0x7777_0000_7777, volume: Volume { fsid: 0x5eed, magic: 0x1457 } };

/// A directory on a device, with its files and their names.
pub(crate) struct Dir<'a> {
    pub(crate) name: &'a str,
    pub(crate) device: Device,
    pub(crate) files: Vec<(&'a str, Remembered)>,
}

/// Returns a small file with this inode number and old timestamps.
pub(crate) fn file(inode: u64) -> Remembered {
    Remembered { size: 5, inode, mtime_ns: 1_000_000_007, ctime_ns: 1_000_000_009 }
}

/// Returns a tree with these directories. The parent directory of these directories does not exist
/// on disk.
pub(crate) fn synthetic_tree(dirs: &[Dir<'_>]) -> Tree {
    let mut tree = Tree::default();
    let top = tree.remember_root();
    let parent = tree.remember_dir(top, c"no such directory");
    for (inode, Dir { name, device, files }) in (1..).zip(dirs) {
        let dir = tree.remember_dir(parent, &CString::new(*name).expect("no NUL"));
        let key = FileKey { device: device.number, inode };
        tree.place_dir(dir, Some((key, device.volume)));
        for (name, file) in files {
            tree.remember_file(dir, &CString::new(*name).expect("no NUL"), *file);
        }
    }
    tree
}

/// Returns a tree with one file on a device.
pub(crate) fn one(device: Device, file: Remembered) -> Tree {
    synthetic_tree(&[Dir { name: "d", device, files: vec![("one", file)] }])
}
