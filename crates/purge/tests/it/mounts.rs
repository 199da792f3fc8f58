//! Tests of mounts inside a tree, and of different file systems. These tests require root
//! privileges.

use std::fs;
use std::path::Path;
use std::process::Command;

use purge::{Guard, Options, Problem, Reason, Refusal, Selection};
use testkit::{Compare, FileSystem, Mount, Snapshot, TreeBuilder, assert_same, skipped};

use crate::world::{assert_gone, remove, usual, ways};

fn canary() -> TreeBuilder {
    TreeBuilder::new().file("a", "a").file("b/c", "c").seeded("b/d", 1, 100_000)
}

/// Calls `check` with a tree and a canary directory. The canary is on the same file system as the
/// tree, and is bind-mounted inside the tree.
fn with_bind(check: impl FnOnce(&Path, &Path)) {
    let place = TreeBuilder::new()
        .file("tree/x/y", "x")
        .file("tree/z", "z")
        .dir("tree/x/point/below")
        .make_temp();
    canary().make(place.join("canary"));
    match Mount::bind(place.join("canary"), place.join("tree/x/point")) {
        Ok(_mount) => check(&place.join("tree"), &place.join("canary")),
        Err(reason) => skipped(format!("no bind mounts: {reason}")),
    }
}

#[test]
fn a_bind_mount_of_the_same_file_system_is_not_entered() {
    for way in ways() {
        with_bind(|tree, canary| {
            let before = Snapshot::of(canary);
            let outcome = remove(tree, &way);
            assert_same(&before, &Snapshot::of(canary), Compare::ALL);
            assert_eq!((outcome.files, outcome.failed), (2, 1));
            assert!(matches!(outcome.problems[0].reason, Reason::Mount));
            assert!(outcome.problems[0].path.ends_with(b"tree/x/point"));
        });
    }
}

#[test]
fn mounts_are_emptied_if_requested() {
    with_bind(|tree, canary| {
        let outcome = remove(tree, &Options { cross_mounts: true, ..usual() });
        assert_eq!(fs::read_dir(canary).expect("the entry exists").count(), 0);
        // The mount point and the directories that contain it are kept.
        assert_eq!((outcome.failed, outcome.unselected), (0, 1), "{:?}", outcome.problems);
        assert!(tree.join("x/point").exists() && !tree.join("x/y").exists());
    });
}

#[test]
fn mounts_of_protected_directories_are_never_entered() {
    with_bind(|tree, canary| {
        let before = Snapshot::of(canary);
        let guarded = Guard::new(Some(canary), &[]).keys();
        let outcome = remove(tree, &Options { cross_mounts: true, guarded, ..usual() });
        assert_same(&before, &Snapshot::of(canary), Compare::ALL);
        assert!(matches!(outcome.problems[0].reason, Reason::Protected), "{:?}", outcome.problems);
    });
}

#[test]
fn mount_points_and_mounted_protected_directories_are_refused() {
    with_bind(|tree, canary| {
        let mut guard = Guard::new(Some(&tree.join("x/point/b")), &[]);
        let mut refused = |path: &Path| guard.check(path).expect_err("refused");
        // The working directory is in a mount of `canary`, so `canary` contains the working
        // directory.
        assert!(matches!(refused(canary), Refusal::Protected(_)));
        assert!(matches!(refused(&canary.join("b")), Refusal::Protected(_)));
        let mut guard = Guard::new(None, &[]);
        let point = guard.check(&tree.join("x/point")).expect_err("refused");
        assert!(matches!(point, Refusal::Mount), "{point}");
        assert!(guard.check(&tree.join("x")).is_ok());
    });
}

#[test]
fn files_that_are_mount_points_are_kept() {
    let place = TreeBuilder::new().file("tree/point", "x").file("canary", "c").make_temp();
    let Ok(_mount) = Mount::bind(place.join("canary"), place.join("tree/point")) else {
        return skipped("no bind mounts");
    };
    let outcome = remove(place.join("tree"), &usual());
    assert!(matches!(outcome.problems[..], [Problem { reason: Reason::Mount, .. }]));
    assert_eq!(fs::read_to_string(place.join("canary")).expect("the entry exists"), "c");
    assert!(matches!(Guard::new(None, &[]).check(&place.join("tree/point")), Err(Refusal::Mount)));
}

/// Returns the number of inodes in use on a file system.
fn inodes_in_use(place: &Path) -> u64 {
    let stat = rustix::fs::statvfs(place).expect("statvfs");
    stat.f_files - stat.f_ffree
}

#[test]
fn all_inodes_are_freed_on_every_file_system() {
    for kind in FileSystem::ALL {
        let mount = match Mount::new(kind, 128 << 20) {
            Ok(mount) => mount,
            Err(reason) => {
                skipped(format!("no {}: {reason}", kind.name()));
                continue;
            }
        };
        for way in ways() {
            rustix::fs::sync();
            let before = inodes_in_use(mount.path());
            let tree = mount.path().join("tree");
            let mut builder = TreeBuilder::new();
            for i in 0..2000u64 {
                builder = builder.seeded(format!("{}/{}/{i}", i % 5, i % 50), i, i % 3000);
            }
            builder.hard_links("linked", &["l/1", "l/2", "0/3"]).make(&tree);
            let outcome = remove(&tree, &way);
            assert_gone(&tree, &outcome);
            if !matches!(kind, FileSystem::Ext4 | FileSystem::Tmpfs) {
                continue;
            }
            // A thread of another test may have copied the descriptor table while directories of
            // `tree` were open. The copies stay open until shortly after that thread ends.
            let freed = (0..3000).any(|_| {
                std::thread::sleep(std::time::Duration::from_millis(20));
                inodes_in_use(mount.path()) == before
            });
            assert!(freed, "{}: {} and not {before}", kind.name(), inodes_in_use(mount.path()));
        }
    }
}

fn btrfs(args: &[&str], paths: &[&Path]) {
    let done = Command::new("btrfs").args(args).args(paths).output().expect("start");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
}

/// Directories in different btrfs subvolumes can have the same inode numbers, and a subvolume can
/// be moved into another one while it is being emptied.
#[test]
fn moving_a_subvolume_away_affects_no_other_files() {
    let Ok(mount) = Mount::new(FileSystem::Btrfs, 128 << 20) else {
        return skipped("no btrfs");
    };
    let (tree, other) = (mount.path().join("tree"), mount.path().join("other"));
    fs::create_dir(&tree).expect("create");
    let (q, s) = (tree.join("q"), tree.join("q/s"));
    for subvolume in [&q, &other, &s, &tree.join("q/s/nested")] {
        btrfs(&["subvolume", "create"], &[subvolume]);
    }
    let deep = s.join("c/".repeat(10));
    fs::create_dir_all(&deep).expect("create");
    for number in 0..100 {
        fs::write(deep.join(number.to_string()), "x").expect("write");
    }
    // Use up inode numbers, so that directories created later get higher numbers than `s`.
    for number in 0..500 {
        fs::write(q.join("spent"), number.to_string()).expect("write");
        fs::remove_file(q.join("spent")).expect("remove");
    }
    for number in 0..60 {
        fs::create_dir_all(q.join(format!("x{number}/f"))).expect("create");
        TreeBuilder::new().file("canary", "c").make(other.join(format!("x{number}")));
    }
    let before = Snapshot::of(&other);
    // If there are patterns, subvolumes are not removed as a whole.
    let exclude = walk::Globs::new(&["nothing".to_string()]).expect("a pattern");
    let selection = Selection { exclude, ..Selection::default() };
    let throttle = std::sync::Arc::new(runtime::Throttle::new(100.try_into().ok()));
    let options = Options { throttle, selection, ..ways().swap_remove(0) };
    std::thread::scope(|scope| {
        let purging = scope.spawn(|| remove(&tree, &options));
        std::thread::sleep(std::time::Duration::from_millis(400));
        fs::rename(&s, other.join("s")).expect("move while being emptied");
        purging.join().expect("no panic");
    });
    let after = Snapshot::except(&other, |path| path == b"s" || path.starts_with(b"s/"));
    assert_same(&before, &after, Compare::ALL - Compare::DIR_MTIMES);
}

#[test]
fn subvolumes_are_removed_as_a_whole() {
    let Ok(mount) = Mount::new(FileSystem::Btrfs, 128 << 20) else {
        return skipped("no btrfs");
    };
    for way in ways() {
        let tree = mount.path().join("tree");
        fs::create_dir_all(tree.join("d")).expect("create");
        btrfs(&["subvolume", "create"], &[&tree.join("d/sub")]);
        canary().make(tree.join("d/sub/files"));
        btrfs(&["subvolume", "create"], &[&tree.join("d/sub/nested")]);
        canary().make(tree.join("d/sub/nested/files"));
        btrfs(&["subvolume", "snapshot", "-r"], &[&tree.join("d/sub/nested"), &tree.join("snap")]);
        let outcome = remove(&tree, &way);
        assert_gone(&tree, &outcome);
        assert!(outcome.subvolumes >= 2, "{outcome:?}");
        // A subvolume with quarantined files.
        btrfs(&["subvolume", "create"], &[&tree]);
        TreeBuilder::new().file(".lop-quarantine-0/run/1", "kept").file("a", "a").make(&tree);
        let outcome = remove(&tree, &way);
        assert!(matches!(outcome.problems[0].reason, Reason::Store));
        assert_eq!((outcome.subvolumes, outcome.files), (0, 1));
        fs::remove_dir_all(&tree).expect("remove");
        // A subvolume that is the target.
        btrfs(&["subvolume", "create"], &[&tree]);
        canary().make(tree.join("files"));
        let outcome = remove(&tree, &way);
        assert_gone(&tree, &outcome);
        assert_eq!((outcome.subvolumes, outcome.files), (1, 0));
    }
}
