//! Copies that share their extents are recognized as identical without a read, until one of them is
//! changed.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;

use device::Io;
use testkit::{FileSystem, TreeBuilder, assert_groups, groups_of, relative_to};

use crate::mounts::{btrfs, mounted};
use crate::reclaimable::{SHARING, reflink};
use crate::scan::{Setup, setup};

const SIZE: u64 = 4 << 20;

/// Upper limit for the bytes of all heads together. A scan that reads more than this has read more
/// than heads.
const HEADS: u64 = 64 << 10;

fn without_digests() -> Setup {
    let mut setup = setup().io(Io::Cached);
    setup.find.digests = false;
    setup
}

fn change(path: &Path, offset: u64) {
    let file = fs::File::options().write(true).open(path).expect("a file");
    file.write_all_at(b"!", offset).expect("written");
}

#[test]
fn copies_that_share_their_extents_are_equal_without_a_read() {
    for kind in SHARING {
        let Some(mount) = mounted(kind) else { continue };
        TreeBuilder::new().seeded("a", 1, SIZE).make(&mount);
        for copy in ["b", "c", "d"] {
            reflink(&mount.path().join("a"), &mount.path().join(copy));
        }
        let scan = without_digests().scan_once(&[mount.path()]);
        assert_eq!((scan.only_group().files.len(), scan.only_group().digest), (4, None));
        assert!(scan.bytes_read() < HEADS, "{kind:?}: {} bytes read", scan.bytes_read());
        let scan = setup().io(Io::Cached).scan_once(&[mount.path()]);
        assert!(scan.only_group().digest.is_some());
        assert!(scan.bytes_read() < SIZE + HEADS, "{kind:?}: {} bytes read", scan.bytes_read());
        // Two sets of shared extents, which are compared once.
        TreeBuilder::new().seeded("e", 1, SIZE).make(&mount);
        reflink(&mount.path().join("e"), &mount.path().join("f"));
        let scan = without_digests().scan_once(&[mount.path()]);
        assert_eq!(scan.only_group().files.len(), 6);
        assert!(scan.bytes_read() < 2 * SIZE + 2 * HEADS, "{} bytes read", scan.bytes_read());
    }
}

#[test]
fn copies_that_share_their_extents_are_read_once_on_a_seek_bound_disk() {
    for kind in SHARING {
        let Some(mount) = mounted(kind) else { continue };
        TreeBuilder::new().seeded("a", 1, SIZE).seeded("other", 2, SIZE).make(&mount);
        fs::File::open(mount.path().join("a")).and_then(|file| file.sync_all()).expect("synced");
        for copy in ["b", "c", "d", "e"] {
            reflink(&mount.path().join("a"), &mount.path().join(copy));
        }
        change(&mount.path().join("e"), SIZE - 1);
        let scan = setup().io(Io::Hdd).scan_once(&[mount.path()]);
        assert_eq!(scan.only_group().files.len(), 4);
        // Reads at most three files: `other`, the changed file, and one of the unchanged copies.
        assert!(scan.bytes_read() < 3 * SIZE + (2 << 20), "{} bytes read", scan.bytes_read());
    }
}

#[test]
fn a_shared_copy_that_was_changed_is_no_longer_equal() {
    for kind in SHARING {
        let Some(mount) = mounted(kind) else { continue };
        for offset in [9000, SIZE / 2, SIZE - 1] {
            let dir = mount.path().join(offset.to_string());
            TreeBuilder::new().seeded("a", 1, SIZE).make(&dir);
            for copy in ["b", "changed"] {
                reflink(&dir.join("a"), &dir.join(copy));
            }
            // The change is still in memory only, so the file system may report that all extents
            // are shared.
            change(&dir.join("changed"), offset);
            for setup in [without_digests(), setup().io(Io::Hdd)] {
                let scan = setup.scan_once(&[&dir]);
                let found = relative_to(&dir, &scan.groups());
                assert_groups(&groups_of([["a", "b"]]), &found);
            }
        }
    }
}

#[test]
fn snapshots_are_equal_without_a_read() {
    let Some(mount) = mounted(FileSystem::Btrfs) else { return };
    let (live, snapshot) = (mount.path().join("live"), mount.path().join("snapshot"));
    if !btrfs(&["subvolume", "create"], &[&live]) {
        return;
    }
    TreeBuilder::new().seeded("a", 1, SIZE).make(&live);
    fs::File::open(live.join("a")).and_then(|file| file.sync_all()).expect("synced");
    if btrfs(&["subvolume", "snapshot"], &[&live, &snapshot]) {
        let scan = without_digests().scan_once(&[mount.path()]);
        assert_eq!(scan.only_group().files.len(), 2);
        assert!(scan.bytes_read() < HEADS, "{} bytes read", scan.bytes_read());
    }
}
