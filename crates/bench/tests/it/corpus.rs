//! Corpora on a disk, verified by independent code.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use bench::corpus::{CORPORA, Spec};
use bench::image::Image;
use bench::scenario::{Device, Order};
use testkit::{TempTree, skipped};

fn made(name: &str, names: u64, scale: f64, order: Order) -> (TempTree, bench::corpus::Counts) {
    let temp = TempTree::new();
    let spec = Spec::new(name, Some(names), scale, order).expect("a corpus");
    let counts = spec.make(temp.path()).expect("a whole tree");
    (temp, counts)
}

/// Returns every file below a directory with its bytes.
fn files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    let mut unlisted = vec![root.to_path_buf()];
    while let Some(dir) = unlisted.pop() {
        for entry in fs::read_dir(dir).expect("a directory") {
            let path = entry.expect("an entry").path();
            let metadata = fs::symlink_metadata(&path).expect("it");
            if metadata.is_dir() {
                unlisted.push(path);
            } else if metadata.is_file() {
                let relative = path.strip_prefix(root).expect("below").to_owned();
                files.insert(relative, fs::read(path).expect("it"));
            }
        }
    }
    files
}

#[test]
fn every_corpus_can_be_made_small() {
    for corpus in CORPORA {
        if corpus.name == "hostile" && !testkit::is_root() {
            testkit::skipped("only root can read all of the hostile tree");
            continue;
        }
        let (names, scale) = (corpus.names.min(120), 0.001);
        let (_temp, counts) = made(corpus.name, names, scale, Order::Created);
        assert!(counts.names.abs_diff(names) <= 20, "{}: {counts}", corpus.name);
    }
}

#[test]
fn the_oracle_finds_the_planned_groups() {
    let few = [("late", 40), ("vm-images", 12)];
    let many = ["server2018", "huge-mixed", "few-dups-762", "flat"].map(|name| (name, 400));
    for (name, names) in few.into_iter().chain(many) {
        let (temp, counts) = made(name, names, 0.01, Order::Created);
        let groups = testkit::naive_groups(temp.path());
        let files: usize = groups.iter().map(std::collections::BTreeSet::len).sum();
        assert!(counts.groups > 0, "{name} has none");
        assert_eq!(
            (groups.len() as u64, files as u64),
            (counts.groups, counts.in_groups),
            "{name}"
        );
    }
}

#[test]
fn the_same_bytes_are_made_every_time_in_either_order() {
    let (one, _) = made("server2018", 500, 0.05, Order::Created);
    let (other, _) = made("server2018", 500, 0.05, Order::Shuffled);
    assert!(files(one.path()) == files(other.path()));
}

#[test]
fn names_of_one_inode_are_as_planned() {
    let (temp, counts) = made("snapshots", 2_000, 0.1, Order::Shuffled);
    let mut names_of: BTreeMap<u64, u64> = BTreeMap::new();
    for file in files(temp.path()).keys() {
        let metadata = fs::symlink_metadata(temp.path().join(file)).expect("it");
        *names_of.entry(metadata.ino()).or_default() += 1;
        assert!(metadata.nlink() >= names_of[&metadata.ino()]);
    }
    assert_eq!(names_of.len() as u64, counts.inodes);
    assert_eq!(names_of.values().filter(|&&names| names > 1).count() as u64, counts.linked);
}

#[test]
fn a_spoilt_tree_is_noticed() {
    let spec = Spec::new("server2018", Some(300), 0.05, Order::Created).expect("a corpus");
    let spoil = |what: fn(&Path, &Path)| {
        let temp = TempTree::new();
        spec.make(temp.path()).expect("a whole tree");
        let sizes: Vec<_> = files(temp.path()).into_iter().collect();
        let sharing = |size| sizes.iter().filter(|(_, bytes)| bytes.len() == size).count() > 1;
        let (path, _) = sizes.iter().find(|(_, b)| b.len() > 16 && sharing(b.len())).expect("one");
        what(temp.path(), &temp.path().join(path));
        spec.check(temp.path()).expect_err("it does not match its plan");
    };
    spoil(|_, file| fs::remove_file(file).expect("gone"));
    spoil(|root, _| fs::write(root.join("one too many"), "").expect("written"));
    spoil(|_, file| {
        let mut bytes = fs::read(file).expect("it");
        bytes.push(0);
        fs::write(file, bytes).expect("longer");
    });
    spoil(|root, file| {
        // A hard link where the plan has a copy.
        let other = files(root).into_iter().find(|(path, bytes)| {
            root.join(path) != file && bytes.len() as u64 == fs::metadata(file).expect("it").len()
        });
        fs::remove_file(file).expect("gone");
        fs::hard_link(root.join(other.expect("a shared size").0), file).expect("linked");
    });
}

#[test]
fn a_changed_copy_is_noticed_by_its_bytes_alone() {
    let spec = Spec::new("late", Some(8), 0.001, Order::Created).expect("a corpus");
    let temp = TempTree::new();
    spec.make(temp.path()).expect("a whole tree");
    let file = temp.join("family0000/member1");
    let mut bytes = fs::read(&file).expect("it");
    bytes[0] ^= 1;
    fs::write(&file, bytes).expect("changed");
    spec.check(temp.path()).expect_err("two files differ");
}

#[test]
fn a_tree_is_not_made_in_a_directory_with_entries() {
    let temp = TempTree::new();
    fs::write(temp.join("mine"), "data").expect("written");
    let spec = Spec::new("empty", Some(5), 1.0, Order::Created).expect("a corpus");
    let reason = spec.make(temp.path()).expect_err("it is not empty").to_string();
    assert!(reason.contains("not empty"), "{reason}");
    assert_eq!(fs::read(temp.join("mine")).expect("still there"), b"data");
}

#[test]
fn a_tree_that_cannot_be_made_is_an_error() {
    let reason = Spec::new("server2081", None, 1.0, Order::Created).expect_err("no such corpus");
    assert!(reason.to_string().contains("server2018"), "{reason}");
    for scale in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        Spec::new("late", None, scale, Order::Created).expect_err("no scale");
    }
    Spec::new("late", Some(0), 1.0, Order::Created).expect_err("no names");
}

#[test]
fn a_tree_in_an_image_is_the_same_tree() {
    let temp = TempTree::new();
    let spec = Spec::new("links", Some(500), 0.01, Order::Created).expect("a corpus");
    for device in [Device::Ext4, Device::Xfs, Device::Btrfs] {
        if !testkit::is_root() {
            return skipped("only root can mount an image");
        }
        let path = temp.join(format!("{device:?}.img"));
        let (image, counts) = Image::with_tree(&spec, &path, device).expect("an image");
        let mounted = image.mount(&temp.join("mnt"), None).expect("mounted");
        let tree = mounted.path().join("tree");
        assert_eq!(spec.check(&tree), Ok(counts), "{device:?}");
        mounted.remount().expect("nothing uses it");
        assert!(tree.exists());
    }
}
