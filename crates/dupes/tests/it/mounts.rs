//! Several file systems, and one file system that is visible in several places. Needs root.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use testkit::{
    FileSystem, Mount, TempTree, TreeBuilder, assert_groups, collapse_links, disk_space, groups_of,
    jdupes, naive_groups, relative_to, skipped,
};

use crate::scan::setup;

/// Mounts a new file system, or reports why that is not possible.
pub(crate) fn mounted(kind: FileSystem) -> Option<Mount> {
    Mount::new(kind, 48 << 20)
        .map_err(|reason| skipped(format!("no {} to test on: {reason}", kind.name())))
        .ok()
}

fn content() -> TreeBuilder {
    let mut builder = TreeBuilder::new().hard_links("linked", &["l1", "d/l2"]).file("l3", "linked");
    for (i, size) in [1, 4096, 16_385, 65_536, 65_537, 300_000].into_iter().enumerate() {
        for copy in 0..5 {
            let path = format!("{}{i} {copy}", "d/".repeat(i));
            builder = builder.differing(path, 1, size, size - 1, copy / 2);
        }
    }
    builder.sparse("hole", 1_000_000, &[(500_000, b"x")]).sparse(
        "d/hole",
        1_000_000,
        &[(500_000, b"x")],
    )
}

#[test]
fn every_file_system_gives_the_groups_of_the_oracle_and_jdupes() {
    for kind in FileSystem::ALL {
        let Some(mount) = mounted(kind) else { continue };
        content().make(&mount);
        let expected = naive_groups(&mount);
        for (open_files, inline_reads) in [(2, false), (32, false), (32, true)] {
            let scan = setup().open_files(open_files).inline_reads(inline_reads).scan(&[&mount]);
            assert_groups(&expected, &scan.groups());
            assert_eq!(scan.problems().len(), 0);
        }
        if let Some(groups) = jdupes(&mount) {
            assert_groups(&collapse_links(&mount, &groups), &expected);
        }
    }
}

#[test]
fn files_with_one_inode_number_on_two_file_systems_are_distinct() {
    for kind in [FileSystem::Ext4, FileSystem::Xfs, FileSystem::Btrfs] {
        let (Some(one), Some(two)) = (mounted(kind), mounted(kind)) else { continue };
        TreeBuilder::new().file("a", "first ").file("b", "second").make(&one);
        TreeBuilder::new().file("a", "second").file("b", "third ").make(&two);
        let inode = |mount: &Mount, name: &str| {
            fs::metadata(mount.path().join(name)).expect("just made").ino()
        };
        assert_eq!(inode(&one, "a"), inode(&two, "a"), "{kind:?}");
        assert_eq!(inode(&one, "b"), inode(&two, "b"), "{kind:?}");
        for hardlinks in [false, true] {
            let scan = setup().hardlinks(hardlinks).scan(&[&one, &two]);
            let expected = groups_of([[one.path().join("b"), two.path().join("a")]]);
            assert_groups(&expected, &scan.groups());
            let freed = disk_space(one.path().join("b"));
            assert_eq!(scan.only_group().reclaimable, freed);
        }
    }
}

#[test]
fn copies_on_other_file_systems_are_found_unless_excluded() {
    let tree = TreeBuilder::new().file("a", "copy").dir("ext4").dir("tmpfs").make_temp();
    let mut mounts = Vec::new();
    for kind in [FileSystem::Ext4, FileSystem::Tmpfs] {
        let Some(mount) = mounted(kind) else { return };
        TreeBuilder::new().file("b", "copy").file("d/c", "copy").make(&mount);
        mounts.push(Mount::bind(&mount, tree.join(kind.name())).expect("mounts work"));
        mounts.push(mount);
    }
    let scan = setup().scan(&[&tree]);
    assert_eq!(scan.only_group().files.len(), 5);
    assert_eq!(scan.tree.devices().len(), 3);
    let mut inside = setup();
    inside.walk.one_file_system = true;
    let scan = inside.scan(&[&tree]);
    assert!(scan.found.groups.is_empty());
    assert_eq!(scan.tree.skipped.other_file_systems, 2);
    drop(mounts);
}

#[test]
fn a_file_is_not_its_own_copy_through_a_bind_mount() {
    let tree = TreeBuilder::new()
        .file("d/a", "one")
        .file("d/e/b", "two")
        .file("d/e/lone", "another size")
        .file("copy", "two")
        .dir("whole")
        .dir("d/above")
        .dir("before")
        .dir("zz")
        .make_temp();
    let binds = [("", "whole"), ("d", "d/above"), ("d/e", "before"), ("d", "zz")];
    let mut mounts = Vec::new();
    for (source, target) in binds {
        match Mount::bind(tree.join(source), tree.join(target)) {
            Ok(mount) => mounts.push(mount),
            Err(reason) => return skipped(format!("no bind mounts: {reason}")),
        }
    }
    for threads in [1, 8] {
        for hardlinks in [false, true] {
            let setup = setup().threads(threads).hardlinks(hardlinks);
            let roots = [tree.path().to_path_buf(), tree.join("whole/d"), tree.join("before")];
            for roots in [&roots[..1], &roots[..2], &roots[..]] {
                let scan = setup.scan(roots);
                let expected = groups_of([["copy", "d/e/b"]]);
                let mapped = scan.groups();
                assert_eq!(scan.tree.files().len(), 4, "{:?}", paths(&scan));
                if roots.len() == 1 {
                    assert_groups(&expected, &relative_to(tree.path(), &mapped));
                }
                assert_eq!(scan.only_group().inodes, 2);
            }
        }
    }
    drop(mounts);
}

fn paths(scan: &crate::scan::Scan) -> BTreeSet<String> {
    let path = |id| scan.tree.path(id).escape_ascii().to_string();
    crate::scan::ids(&scan.tree).map(path).collect()
}

#[test]
fn a_mounted_file_replaces_the_file_that_it_covers() {
    let Some(other) = mounted(FileSystem::Tmpfs) else { return };
    TreeBuilder::new().file("far", "content").file("far copy", "content").make(&other);
    let tree = TreeBuilder::new()
        .file("near", "content")
        .file("covered by near", "covered")
        .file("covered by far", "covered")
        .file("uncovered", "covered")
        .make_temp();
    let bind = |source: &Path, target| Mount::bind(source, tree.join(target)).expect("mounts work");
    let mounts = [
        bind(&tree.join("near"), "covered by near"),
        bind(&other.path().join("far"), "covered by far"),
    ];
    for inline_reads in [false, true] {
        let scan = setup().inline_reads(inline_reads).scan(&[&tree]);
        assert_groups(&naive_groups(&tree), &scan.groups());
        let expected = groups_of([["covered by near", "covered by far"]]);
        assert_groups(&expected, &relative_to(tree.path(), &scan.groups()));
        // The other file system is also scanned under its own path. A file that was already seen is
        // not a copy of itself.
        let scan = setup().inline_reads(inline_reads).scan(&[tree.path(), other.path()]);
        assert_eq!((scan.only_group().files.len(), scan.only_group().inodes), (3, 3));
        let volumes: Vec<_> = scan.tree.devices().iter().map(|d| d.volume.magic).collect();
        assert!(volumes.contains(&0x0102_1994), "tmpfs is not among {volumes:x?}");
        let again = scan.again(&setup());
        assert_eq!(again.opened(), 0);
    }
    drop(mounts);
}

#[test]
fn subvolumes_are_walked_and_their_inode_numbers_kept_apart() {
    let Some(mount) = mounted(FileSystem::Btrfs) else { return };
    let (one, two) = (mount.path().join("one"), mount.path().join("two"));
    if !btrfs(&["subvolume", "create"], &[&one]) || !btrfs(&["subvolume", "create"], &[&two]) {
        return;
    }
    TreeBuilder::new().file("a", "first ").file("b", "second").make(&one);
    TreeBuilder::new().file("a", "second").file("b", "third ").make(&two);
    let inode = |path: &Path| fs::metadata(path.join("a")).expect("just made").ino();
    assert_eq!(inode(&one), inode(&two));
    for hardlinks in [false, true] {
        let scan = setup().hardlinks(hardlinks).scan(&[&mount]);
        assert_groups(&groups_of([[one.join("b"), two.join("a")]]), &scan.groups());
    }
    let mut inside = setup();
    inside.walk.one_file_system = true;
    assert!(inside.scan(&[&mount]).tree.files().is_empty());
}

/// Runs `btrfs` with a command. Returns whether the mount succeeded, and reports the reason if it
/// failed.
pub(crate) fn btrfs(command: &[&str], paths: &[&Path]) -> bool {
    match Command::new("btrfs").args(command).args(paths).output() {
        Ok(output) if output.status.success() => true,
        Ok(output) => {
            skipped(format!("btrfs {command:?}: {}", String::from_utf8_lossy(&output.stderr)));
            false
        }
        Err(e) => {
            skipped(format!("btrfs {command:?}: {e}"));
            false
        }
    }
}

#[test]
fn a_tree_with_a_second_mount_point_is_scanned_once() {
    let tree = TreeBuilder::new().file("a/1", "equal").file("a/2", "equal").make_temp();
    let elsewhere = TempTree::new();
    let mount = match Mount::bind(tree.path(), elsewhere.path()) {
        Ok(mount) => mount,
        Err(reason) => return skipped(format!("no bind mounts: {reason}")),
    };
    for roots in [[tree.path(), mount.path()], [mount.path(), tree.path()]] {
        for hardlinks in [false, true] {
            let scan = setup().hardlinks(hardlinks).scan(&roots);
            assert_eq!(scan.tree.files().len(), 2);
            assert_eq!(scan.only_group().files.len(), 2);
        }
        let inner = [roots[0].join("a"), roots[1].join("a/1")];
        let scan = setup().scan(&inner);
        assert_eq!(scan.only_group().inodes, 2);
    }
}

/// An overlay of a lower and an upper directory, unmounted on drop.
struct Overlay {
    // The mount point, which is dropped after the unmount.
    point: TempTree,
}

impl Overlay {
    fn new(lower: &Path, home: &Path) -> Option<Overlay> {
        TreeBuilder::new().dir("upper").dir("work").make(home);
        let point = TempTree::new();
        let (lower, home) = (lower.display(), home.display());
        let options = format!("lowerdir={lower},upperdir={home}/upper,workdir={home}/work");
        let mut mount = Command::new("mount");
        mount.args(["-t", "overlay", "-o", &options, "overlay"]).arg(point.path());
        let output = mount.output().expect("mount runs");
        if output.status.success() {
            return Some(Overlay { point });
        }
        skipped(format!("no overlay: {}", String::from_utf8_lossy(&output.stderr)));
        None
    }
}

impl Drop for Overlay {
    fn drop(&mut self) {
        // Workers of other tests may hold copies of descriptors for a moment.
        for _ in 0..40 {
            let unmounted = Command::new("umount").arg(self.point.path()).output();
            if unmounted.is_ok_and(|output| output.status.success()) {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        assert!(std::thread::panicking(), "{} stays mounted", self.point.path().display());
    }
}

#[test]
fn all_layers_of_an_overlay_are_one_tree() {
    let Some(upper) = mounted(FileSystem::Tmpfs) else { return };
    let lower = content().make_temp();
    let Some(overlay) = Overlay::new(lower.path(), upper.path()) else { return };
    let root = overlay.point.path();
    // The upper layer now has a new file, a changed file and a copied-up file, and it hides a
    // fourth file.
    fs::write(root.join("new"), "linked").expect("writable");
    fs::write(root.join("0 0"), "x").expect("writable");
    fs::File::options().append(true).open(root.join("d/1 1")).expect("writable");
    fs::remove_file(root.join("d/1 2")).expect("removable");
    for (open_files, inline_reads) in [(2, false), (32, true)] {
        for hardlinks in [false, true] {
            let setup =
                setup().open_files(open_files).inline_reads(inline_reads).hardlinks(hardlinks);
            let rules = testkit::Rules { every_link: hardlinks, empty: false };
            let expected = testkit::naive_truth(&[root], rules).groups;
            let scan = setup.scan(&[root]);
            assert_eq!(scan.problems().len(), 0, "{:?}", scan.problems());
            assert_groups(&expected, &scan.groups());
        }
    }
}
