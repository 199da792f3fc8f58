//! A file that can be reached by two paths is one file.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};

use testkit::{FileSystem, Mount, Snapshot, TreeBuilder, assert_same, skipped};

use super::{CHANGING, KINDS, apply, apply_all, back, bound, done, mounted, scanned, undo};
use crate::lop::{Lop, document, settle};

fn one_and_its_equal() -> TreeBuilder {
    TreeBuilder::new()
        .seeded("d/only", 1, 5000)
        .seeded("d/pair 1", 2, 5000)
        .seeded("d/pair 2", 2, 5000)
}

/// Scans the working directory under additional paths, and checks each kind of action. Two of the three files must
/// remain, because there are two distinct contents.
#[track_caller]
fn judge(lop: &Lop, roots: &[&str]) {
    let judged = lop.path("d");
    for by in CHANGING {
        let before = Snapshot::of(&judged);
        lop.remember(roots);
        let output = apply(lop, by, ["--all"]);
        assert_eq!(done(&output), 1, "{by}: {}", document(&output));
        assert!(judged.join("only").is_file(), "{by}: its own duplicate");
        assert!(judged.join("pair 1").is_file() || judged.join("pair 2").is_file(), "{by}");
        undo(lop);
        assert_same(&before, &Snapshot::of(&judged), back());
        settle();
    }
}

// Way 1.
#[test]
fn a_directory_that_is_given_twice_has_no_duplicates_of_itself() {
    let lop = Lop::with(&one_and_its_equal());
    judge(&lop, &["d", "d", "./d/../d", "d/only"]);
}

// Way 1.
#[test]
fn a_directory_reached_through_a_link_has_no_duplicates_of_itself() {
    let lop = Lop::with(&one_and_its_equal());
    symlink("d", lop.path("e")).expect("a link");
    symlink("d/only", lop.path("f")).expect("a link");
    judge(&lop, &["d", "e", "e/", "."]);
}

// Ways 1 and 20.
#[test]
fn a_bind_mount_has_no_duplicates_of_itself() {
    let lop = Lop::with(&one_and_its_equal().dir("again").dir("d/inside"));
    let Some(_again) = bound(lop.path("d"), lop.path("again")) else { return };
    // Also mounts a directory inside itself, as far as the kernel allows it.
    let Some(_inside) = bound(lop.path("d"), lop.path("d/inside")) else { return };
    judge(&lop, &["again", "d", "."]);
}

// Way 1.
#[test]
fn a_file_that_is_mounted_on_another_is_not_its_duplicate() {
    let lop = Lop::with(&one_and_its_equal().file("d/point", "covered"));
    let Some(mount) = bound(lop.path("d/only"), lop.path("d/point")) else { return };
    for by in CHANGING {
        lop.remember(["."]);
        let output = apply(&lop, by, ["--all"]);
        assert_eq!(done(&output), 1, "{by}: {}", document(&output));
        assert!(lop.path("d/only").is_file(), "{by}");
        undo(&lop);
        settle();
    }
    drop(mount);
    assert_eq!(fs::read(lop.path("d/point")).expect("what was covered"), b"covered");
}

// Way 1: a stacked file system shows a file with a different device number.
#[test]
fn a_file_seen_through_an_overlay_is_not_its_duplicate() {
    for by in CHANGING {
        let tree = one_and_its_equal().dir("work").dir("merged").dir("lower");
        let Some(disk) = mounted(FileSystem::Ext4, 32 << 20) else { return };
        tree.make(&disk);
        let (path, merged) = (disk.path().display(), disk.path().join("merged"));
        let layers = format!("lowerdir={path}/lower,upperdir={path}/d,workdir={path}/work");
        let mut mount = std::process::Command::new("mount");
        mount.args(["-t", "overlay", "-o", &layers, "overlay"]).arg(&merged);
        if !mount.status().is_ok_and(|status| status.success()) {
            return skipped("no overlay file system");
        }
        // Both orders are tried, because the kept file may be on either side.
        for keep in ["path:**/merged/**", "path:**/d/**"] {
            settle();
            let lop = Lop::new();
            lop.remember([disk.path().join("d"), merged.clone()]);
            drop(apply(&lop, by, ["--all", "--keep", keep]));
            // The overlay will show the files of this layer again when it is mounted again.
            let real = Snapshot::of(disk.path().join("d"));
            let contents = real.contents().into_iter().filter(|(size, _)| *size == 5000).count();
            drop(lop.run(["undo"]));
            if contents < 2 {
                unmount(&merged);
            }
            assert_eq!(contents, 2, "--by {by} --keep {keep}");
        }
        unmount(&merged);
    }
}

fn unmount(point: &std::path::Path) {
    let status = std::process::Command::new("umount").arg(point).status().expect("runs");
    assert!(status.success());
}

// Way 2.
#[test]
fn a_symbolic_link_is_never_the_kept_file() {
    let tree = TreeBuilder::new()
        .seeded("z/real", 1, 5000)
        .symlink("a/link", "../z/real")
        .symlink("a/way", "../z")
        .seeded("z/second", 1, 5000);
    for by in KINDS.into_iter().filter(|by| *by != "reflink") {
        let lop = scanned(&tree);
        lop.remember(["a", "a/link", "a/way", "z"]);
        let before = Snapshot::of(lop.work());
        let output = apply(&lop, by, ["--all", "--keep", "path:**/a/**"]);
        assert_eq!(done(&output), 1, "{by}");
        assert!(lop.path("z/real").is_file() || lop.path("z/second").is_file(), "{by}");
        let link = fs::symlink_metadata(lop.path("a/link")).expect("a link");
        assert!(link.is_symlink(), "{by}");
        assert_eq!(fs::read(lop.path("a/link")).expect("is followed").len(), 5000, "{by}");
        undo(&lop);
        assert_same(&before, &Snapshot::of(lop.work()), back());
    }
}

// Way 14.
#[test]
fn equal_inode_numbers_on_two_devices_are_two_files() {
    let disks: Vec<Mount> = (0..2).filter_map(|_| mounted(FileSystem::Ext4, 16 << 20)).collect();
    let [one, two] = &disks[..] else { return };
    TreeBuilder::new().seeded("same", 1, 9000).seeded("own", 2, 9000).make(one);
    TreeBuilder::new().seeded("same", 1, 9000).seeded("own", 3, 9000).make(two);
    for name in ["same", "own"] {
        let inode = |disk: &Mount| fs::metadata(disk.path().join(name)).expect("a file").ino();
        assert_eq!(inode(one), inode(two), "the test is about equal numbers");
    }
    settle();
    for (by, files) in [("delete", 1), ("symlink", 1), ("quarantine", 1), ("hardlink", 0)] {
        let lop = Lop::new();
        let before = [Snapshot::of(one), Snapshot::of(two)];
        lop.remember([one.path(), two.path()]);
        apply_all(&lop, by, files);
        assert!(one.path().join("own").is_file() && two.path().join("own").is_file(), "{by}");
        let left = [one, two].map(|disk| disk.path().join("same"));
        let left = left.iter().filter(|path| path.is_file() && !path.is_symlink()).count();
        assert_eq!(left as u64, 2 - files, "{by}");
        if files > 0 {
            undo(&lop);
        }
        assert_same(&before[0], &Snapshot::of(one), back());
        assert_same(&before[1], &Snapshot::of(two), back());
        settle();
    }
}
