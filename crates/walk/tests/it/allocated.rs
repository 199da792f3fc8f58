//! Tests of the disk space of files.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use device::Io;
use fsops::{FileKey, Volume};
use runtime::Progress;
use testkit::{TempTree, TreeBuilder};
use walk::{Remembered, Tree, from_list, usual_allocation};

use crate::found::{disks, filter, found_once, ids, options};

/// Creates files with holes between files without.
fn tree() -> TempTree {
    let mut tree = TreeBuilder::new().file("empty", "");
    for n in 0..40 {
        let dir = format!("d{}", n % 7);
        tree = tree.file(format!("{dir}/full{n}"), "some bytes").sparse(
            format!("{dir}/hole{n}"),
            100_000 + n,
            &[],
        );
    }
    tree.make_temp()
}

fn on_disk(path: &Path) -> u64 {
    fs::metadata(path).expect("metadata").blocks() * 512
}

/// Checks that the disk space of each file of a tree is the one that the file system reports.
fn check(tree: &Tree) {
    for id in ids(tree) {
        let path = PathBuf::from(OsStr::from_bytes(&tree.path(id)));
        assert_eq!(tree.allocated(id), on_disk(&path), "{}", path.display());
    }
}

#[test]
fn the_disk_space_of_files_with_holes_is_known() {
    let tree = tree();
    let hole = tree.join("d0/hole0");
    assert!(on_disk(&hole) < fs::metadata(&hole).expect("metadata").len(), "has no hole");
    for io in [Io::Auto, Io::Hdd, Io::Ssd] {
        let options = walk::Options { disks: disks(io), ..options() };
        let found = found_once(&[tree.path()], &options);
        assert_eq!(found.files().len(), 81);
        check(&found);
    }
}

#[test]
fn the_disk_space_is_known_if_other_files_are_left_out() {
    let tree = tree();
    for io in [Io::Auto, Io::Hdd] {
        let filter = filter(|filter| filter.min_size = 100_003);
        let options = walk::Options { filter, disks: disks(io), ..options() };
        let found = found_once(&[tree.path()], &options);
        assert_eq!(found.files().len(), 37);
        check(&found);
    }
}

#[test]
fn the_disk_space_of_listed_files_is_known() {
    let tree = tree();
    let names = ["d1/hole1", "d0/full0", "d0/hole0", "d1/hole1", "empty", "d2/hole9"];
    let paths = names.iter().map(|name| tree.join(*name));
    let filter = filter(|filter| filter.empty = true);
    let found = from_list(paths, &filter, &Progress::default()).expect("not stopped");
    assert_eq!(found.files().len(), 5);
    check(&found);
}

#[test]
fn the_disk_space_of_remembered_files_is_the_remembered_one() {
    let mut tree = Tree::default();
    let top = tree.remember_root();
    let key = FileKey { device: 7 << 32 | 1, inode: 99 };
    tree.place_dir(top, Some((key, Volume { fsid: 5, magic: 6 })));
    let file = Remembered { size: 4097, inode: 2, mtime_ns: 3, ctime_ns: 4 };
    let expected = [0, 8192, 4096, 1 << 40];
    let files = expected.map(|allocated| {
        let id = tree.remember_file(top, c"name", file);
        tree.remember_allocated(id, allocated);
        id
    });
    let unset = tree.remember_file(top, c"unset", file);
    assert_eq!(files.map(|id| tree.allocated(id)), expected);
    assert_eq!(tree.allocated(unset), 8192);
}

#[test]
fn the_usual_disk_space_is_the_size_in_whole_blocks() {
    assert_eq!([0, 1, 4096, 4097].map(usual_allocation), [0, 4096, 4096, 8192]);
    assert_eq!(usual_allocation(u64::MAX), u64::MAX);
}
