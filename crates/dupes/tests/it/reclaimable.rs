//! The number of bytes that removing copies would free, which is zero if the copies share their
//! extents.

use std::fs;
use std::path::Path;
use std::process::Command;

use testkit::{FileSystem, TreeBuilder, disk_space, skipped};

use crate::mounts::{btrfs, mounted};
use crate::scan::setup;

pub(crate) const SHARING: [FileSystem; 2] = [FileSystem::Btrfs, FileSystem::Xfs];

/// Sizes that fit into an inode and sizes that do not, at block boundaries and elsewhere.
const SIZES: [u64; 5] = [5000, 65_536, 100_000, 1_000_001, 4 << 20];

/// Copies a file by sharing its extents.
pub(crate) fn reflink(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("--reflink=always").args([from, to]).status();
    assert!(copied.expect("cp runs").success(), "no reflink of {}", from.display());
}

fn sync(path: &Path) {
    fs::File::open(path).and_then(|file| file.sync_all()).expect("synced");
}

/// Returns the reclaimable bytes of the only group below `root`.
fn reclaimable(root: &Path) -> u64 {
    setup().scan(&[root]).only_group().reclaimable
}

#[test]
fn hard_links_free_nothing() {
    let tree = TreeBuilder::new()
        .hard_links(vec![7; 100_000], &["a", "b", "c"])
        .file("copy", vec![7; 100_000])
        .make_temp();
    for hardlinks in [false, true] {
        let scan = setup().hardlinks(hardlinks).scan(&[&tree]);
        assert_eq!(scan.only_group().reclaimable, disk_space(tree.join("copy")));
    }
    let alone = TreeBuilder::new().hard_links(vec![7; 100_000], &["a", "b"]).make_temp();
    let scan = setup().hardlinks(true).scan(&[&alone]);
    assert_eq!(scan.only_group().reclaimable, 0);
}

#[test]
fn independent_copies_free_all_but_one_on_every_file_system() {
    for kind in FileSystem::ALL {
        let Some(mount) = mounted(kind) else { continue };
        for size in SIZES {
            let dir = mount.path().join(size.to_string());
            TreeBuilder::new()
                .seeded("a", 1, size)
                .seeded("b", 1, size)
                .seeded("c", 1, size)
                .make(&dir);
            for synced in [false, true] {
                if synced {
                    for name in ["a", "b", "c"] {
                        sync(&dir.join(name));
                    }
                }
                assert_eq!(
                    reclaimable(&dir),
                    2 * disk_space(dir.join("a")),
                    "{kind:?}, {size} bytes, synced: {synced}"
                );
            }
        }
    }
}

#[test]
fn copies_that_share_their_extents_free_nothing() {
    for kind in SHARING {
        let Some(mount) = mounted(kind) else { continue };
        for size in SIZES.into_iter().skip(1) {
            let dir = mount.path().join(size.to_string());
            TreeBuilder::new().seeded("a", 1, size).make(&dir);
            for copy in ["b", "c", "d"] {
                reflink(&dir.join("a"), &dir.join(copy));
            }
            assert_eq!(reclaimable(&dir), 0, "{kind:?}, {size} bytes");
            // An independent copy frees its own size. A second copy that shares the extents of the
            // first does not free any more bytes.
            TreeBuilder::new().seeded("e", 1, size).make(&dir);
            sync(&dir.join("e"));
            assert_eq!(reclaimable(&dir), disk_space(dir.join("e")), "{kind:?}, {size} bytes");
            reflink(&dir.join("e"), &dir.join("f"));
            assert_eq!(reclaimable(&dir), disk_space(dir.join("e")), "{kind:?}, {size} bytes");
        }
    }
}

#[test]
fn a_snapshot_frees_nothing() {
    let Some(mount) = mounted(FileSystem::Btrfs) else { return };
    let (live, snapshot) = (mount.path().join("live"), mount.path().join("snapshot"));
    if !btrfs(&["subvolume", "create"], &[&live]) {
        return;
    }
    TreeBuilder::new().seeded("a", 1, 1_000_000).make(&live);
    sync(&live.join("a"));
    if btrfs(&["subvolume", "snapshot"], &[&live, &snapshot]) {
        assert_eq!(reclaimable(mount.path()), 0);
    }
}

#[test]
fn compressed_copies_share_nothing() {
    let Some(mount) = mounted(FileSystem::Btrfs) else { return };
    if let Err(reason) = mount.remount("compress=zstd") {
        return skipped(format!("no compression: {reason}"));
    }
    let bytes = b"much of a muchness, ".repeat(100_000);
    TreeBuilder::new().file("a", bytes.clone()).file("b", bytes).make(&mount);
    for name in ["a", "b"] {
        sync(&mount.path().join(name));
    }
    assert_eq!(reclaimable(mount.path()), disk_space(mount.path().join("a")));
    reflink(&mount.path().join("a"), &mount.path().join("c"));
    reflink(&mount.path().join("b"), &mount.path().join("d"));
    assert_eq!(reclaimable(mount.path()), disk_space(mount.path().join("a")));
    for name in ["b", "d"] {
        fs::remove_file(mount.path().join(name)).expect("removable");
    }
    assert_eq!(reclaimable(mount.path()), 0);
}

#[test]
fn holes_free_nothing() {
    for kind in FileSystem::ALL {
        let Some(mount) = mounted(kind) else { continue };
        let (size, island) = (8 << 20, vec![9; 1 << 20]);
        TreeBuilder::new()
            .sparse("a", size, &[(4 << 20, &island)])
            .sparse("b", size, &[(4 << 20, &island)])
            .sparse("c", size, &[(4 << 20, &island)])
            .make(&mount);
        for name in ["a", "b", "c"] {
            sync(&mount.path().join(name));
        }
        let bytes = reclaimable(mount.path());
        assert!((2 << 20..=(2 << 20) + 65_536).contains(&bytes), "{kind:?}: {bytes}");
    }
}

#[test]
fn reclaimable_bytes_assume_that_the_largest_copy_is_kept() {
    let size = 4 << 20;
    let tree =
        TreeBuilder::new().sparse("hole", size, &[]).file("zeros", vec![0; 4 << 20]).make_temp();
    sync(&tree.join("zeros"));
    assert_eq!(reclaimable(tree.path()), 0);
}

#[test]
fn copies_on_two_file_systems_never_share_extents() {
    for kind in SHARING {
        let (Some(one), Some(two)) = (mounted(kind), mounted(kind)) else { continue };
        for mount in [&one, &two] {
            TreeBuilder::new().seeded("a", 1, 300_000).make(mount);
            sync(&mount.path().join("a"));
        }
        let scan = setup().scan(&[&one, &two]);
        assert_eq!(scan.only_group().reclaimable, disk_space(one.path().join("a")), "{kind:?}");
    }
}
