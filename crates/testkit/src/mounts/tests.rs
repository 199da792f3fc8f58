//! Each kind of mount is empty and writable at first, and leaves nothing behind.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::{FileSystem, Mount, ReparsePoint, make_reparse_points};
use crate::{TreeBuilder, is_root, naive_groups, skipped};

fn is_mounted(point: &Path) -> bool {
    let mounts = fs::read_to_string("/proc/self/mounts").expect("a proc file system");
    let point = point.to_str().expect("a plain name");
    mounts.lines().any(|line| line.split(' ').nth(1) == Some(point))
}

fn comes_and_goes(kind: FileSystem) {
    let mount = match Mount::new(kind, 0) {
        Ok(mount) => mount,
        Err(reason) => return skipped(reason),
    };
    let point = mount.path().to_path_buf();
    assert!(is_mounted(&point));
    assert_eq!(fs::read_dir(&point).expect("listed").count(), 0, "{kind:?} is empty");
    TreeBuilder::new().file("a", "x").file("d/b", "x").fifo("f").make(&point);
    assert_eq!(naive_groups(&point).len(), 1);
    mount.remount("ro").expect("remounted");
    assert!(fs::File::create(point.join("new")).is_err(), "read-only");
    drop(mount);
    assert!(!is_mounted(&point) && !point.exists());
}

#[test]
fn ext4_is_mounted_and_unmounted() {
    comes_and_goes(FileSystem::Ext4);
}

#[test]
fn xfs_is_mounted_and_unmounted() {
    comes_and_goes(FileSystem::Xfs);
}

#[test]
fn btrfs_is_mounted_and_unmounted() {
    comes_and_goes(FileSystem::Btrfs);
}

#[test]
fn tmpfs_is_mounted_and_unmounted() {
    comes_and_goes(FileSystem::Tmpfs);
}

#[test]
fn a_busy_mount_is_unmounted() {
    let mount = match Mount::new(FileSystem::Tmpfs, 0) {
        Ok(mount) => mount,
        Err(reason) => return skipped(reason),
    };
    let point = mount.path().to_path_buf();
    let held = fs::File::create(point.join("held")).expect("made");
    drop(mount);
    assert!(!is_mounted(&point) && !point.exists());
    drop(held);
}

#[test]
fn a_bind_mount_shows_the_same_inodes() {
    let tree = TreeBuilder::new().file("source/file", "x").dir("target").make_temp();
    let mount = match Mount::bind(tree.join("source"), tree.join("target")) {
        Ok(mount) => mount,
        Err(reason) => return skipped(reason),
    };
    let inode = |path: &str| fs::metadata(tree.join(path)).expect("there").ino();
    assert_eq!(inode("source/file"), inode("target/file"));
    assert!(naive_groups(&tree).is_empty(), "one file by two paths");
    drop(mount);
    assert!(!tree.join("target/file").exists());
}

#[test]
fn a_failed_mount_is_an_error_and_not_a_panic() {
    let reason = Mount::bind("/no/such/source", "/no/such/target").expect_err("cannot be mounted");
    let expected = if is_root() { "mount failed" } else { "only root" };
    assert!(reason.contains(expected), "{reason}");
}

#[test]
fn ntfs_is_mounted_and_unmounted() {
    comes_and_goes(FileSystem::Ntfs);
}

#[test]
fn a_junction_on_ntfs_is_a_symbolic_link_to_the_place_on_this_volume() {
    let mount = match Mount::new(FileSystem::Ntfs, 0) {
        Ok(mount) => mount,
        Err(reason) => return skipped(reason),
    };
    TreeBuilder::new().file("Users/anna/letter.txt", "x").make(&mount);
    let path = |name: &str| mount.path().join(name);
    let points = [
        ReparsePoint::junction(path("Documents and Settings"), r"C:\Users"),
        ReparsePoint::symlink(path("All Users"), r"C:\users"),
        ReparsePoint::junction(path("Games"), r"D:\Elsewhere"),
        ReparsePoint::junction(path("Played"), r"D:\Users"),
    ];
    make_reparse_points(&points).expect("reparse points");
    let listed = fs::read_dir(&mount).expect("listed").map(|entry| entry.expect("an entry"));
    let links = listed.filter(|entry| entry.file_type().expect("a type").is_symlink());
    assert_eq!(links.count(), points.len(), "the listing reports links as links");
    let target = |name: &str| fs::read_link(path(name)).expect("a link");
    assert_eq!(target("Documents and Settings"), path("Users"));
    let letter = fs::read(path("All Users/anna/letter.txt"));
    assert_eq!(letter.expect("reached without regard to case"), b"x");
    assert_eq!(target("Games"), path(".NTFS-3G/D:/Elsewhere"));
    assert_eq!(target("Played"), path("Users"), "a path that exists on this volume wins");
}
