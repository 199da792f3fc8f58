//! Tests of mounts below a root. These tests require root privileges.

use std::collections::BTreeSet;
use std::ffi::CStr;
use std::path::Path;
use std::sync::{Condvar, Mutex};

use device::Io;
use fsops::{Dir, Stat, Volume};
use runtime::Progress;
use testkit::{FileSystem, Mount, PathBytes, TEST_TIMEOUT, TempTree, TreeBuilder, skipped};
use walk::{Filter, Options, Tree, from_list, walk};

use crate::found::{actual, disks, expected, found_with, ids, names, options, problems, workers};

fn bound(source: &TempTree, pairs: &[(&str, &str)]) -> Option<Vec<Mount>> {
    let mut mounts = Vec::new();
    for (from, to) in pairs {
        match Mount::bind(source.join(*from), source.join(*to)) {
            Ok(mount) => mounts.push(mount),
            Err(reason) => {
                skipped(format!("no bind mounts: {reason}"));
                return None;
            }
        }
    }
    // A later mount may be inside an earlier one, so it must be unmounted first.
    mounts.reverse();
    Some(mounts)
}

#[test]
fn directories_with_several_mounts_are_listed_once() {
    let tree = TreeBuilder::new()
        .file("m/a", "1")
        .file("m/n/b", "2")
        .dir("before")
        .dir("m/inside")
        .dir("z")
        .dir("z2")
        .make_temp();
    let pairs = [("m", "before"), ("m/n", "z"), ("", "z2"), ("m/n", "m/inside")];
    let Some(mounts) = bound(&tree, &pairs) else { return };
    for threads in [1, 8] {
        let walked =
            found_with(&[&tree], &walk::Options { threads: workers(threads), ..options() });
        // Mounts are walked last, so the files are found under their original paths.
        assert!(names(&tree, &walked).iter().eq(["m/a", "m/n/b"]), "{:?}", names(&tree, &walked));
        assert_eq!(problems(&walked).len(), 0);
    }
    // A root is walked even if it is a mount point.
    let walked = found_with(&[tree.join("z")], &options());
    assert_eq!(walked.files().len(), 1);
    let walked = found_with(&[tree.join("z"), tree.join("before")], &options());
    assert_eq!(walked.files().len(), 2);
    drop(mounts);
}

#[test]
fn two_mounts_of_an_outside_directory_are_listed_once() {
    let outside = TreeBuilder::new().file("m/a", "1").file("m/b", "2").make_temp();
    let tree = TreeBuilder::new().file("x", "3").dir("y").dir("z").make_temp();
    let mount = |to: &str| Mount::bind(outside.join("m"), tree.join(to));
    let (Ok(first), Ok(second)) = (mount("z"), mount("y")) else {
        return skipped("no bind mounts");
    };
    for threads in [1, 8] {
        let walked =
            found_with(&[&tree], &walk::Options { threads: workers(threads), ..options() });
        assert!(names(&tree, &walked).iter().eq(["x", "y/a", "y/b"]));
        assert_eq!(walked.skipped.seen_before, 1);
    }
    drop((first, second));
}

#[test]
fn the_mount_with_the_smallest_path_is_listed() {
    let outside = TreeBuilder::new().file("a", "1").make_temp();
    let names = ["q", "k", "b/z", "w", "c", "m", "b/d", "x", "f", "t"];
    let tree = names.iter().fold(TreeBuilder::new(), |tree, name| tree.dir(*name)).make_temp();
    let mut mounts = Vec::new();
    for name in names {
        match Mount::bind(&outside, tree.join(name)) {
            Ok(mount) => mounts.push(mount),
            Err(reason) => return skipped(format!("no bind mounts: {reason}")),
        }
    }
    for threads in [1, 2, 8] {
        let walked =
            found_with(&[&tree], &walk::Options { threads: workers(threads), ..options() });
        assert!(self::names(&tree, &walked).iter().eq(["b/d/a"]), "{threads} threads");
        assert_eq!(walked.skipped.seen_before, 9);
    }
    drop(mounts);
}

#[test]
fn other_file_systems_are_walked_unless_excluded() {
    let tree = TreeBuilder::new().file("a", "1").dir("m").dir("n/deep").make_temp();
    let mut mounts = Vec::new();
    for (kind, place) in [(FileSystem::Tmpfs, "m"), (FileSystem::Ext4, "n/deep")] {
        let mount = match Mount::new(kind, 16 << 20) {
            Ok(mount) => mount,
            Err(reason) => return skipped(format!("no {}: {reason}", kind.name())),
        };
        TreeBuilder::new().file("b", "22").file("d/c", "333").make(&mount);
        mounts.push(Mount::bind(&mount, tree.join(place)).expect("mount"));
        mounts.push(mount);
    }
    let walked = found_with(&[&tree], &options());
    assert_eq!(actual(&walked), expected(tree.path()));
    assert_eq!(walked.files().len(), 5);
    assert_eq!(walked.devices().len(), 3);
    let inside = walk::Options { one_file_system: true, ..options() };
    let walked = found_with(&[&tree], &inside);
    assert!(names(&tree, &walked).iter().eq(["a"]));
    assert_eq!(walked.skipped.other_file_systems, 2);
    // A mount point that is itself a root is walked, even if it is inside another root.
    let walked = found_with(&[tree.path().to_path_buf(), tree.join("m")], &inside);
    assert_eq!(walked.files().len(), 3);
    drop(mounts);
}

#[test]
fn one_file_system_includes_its_bind_mounts() {
    let outside = TreeBuilder::new().file("a", "1").make_temp();
    let tree = TreeBuilder::new().dir("m").make_temp();
    let mount = match Mount::bind(&outside, tree.join("m")) {
        Ok(mount) => mount,
        Err(reason) => return skipped(format!("no bind mounts: {reason}")),
    };
    let walked = found_with(&[&tree], &walk::Options { one_file_system: true, ..options() });
    assert_eq!(walked.files().len(), 1);
    drop(mount);
}

fn volume(dir: &Path) -> Volume {
    Dir::open(dir).and_then(|dir| dir.volume()).expect("a mounted directory")
}

fn volumes(tree: &Tree) -> Vec<Volume> {
    tree.devices().iter().map(|device| device.volume).collect()
}

#[test]
fn mounted_files_have_their_own_device_and_file_system() {
    let Ok(other) = Mount::new(FileSystem::Tmpfs, 1 << 20) else {
        return skipped("no tmpfs");
    };
    TreeBuilder::new().file("far", "12345").file("far 2", "67").make(&other);
    let tree = TreeBuilder::new()
        .file("covered", "1")
        .file("d/covered", "12")
        .file("d/covered too", "12")
        .file("d/plain", "123")
        .make_temp();
    let mounts = [("far", "covered"), ("far", "d/covered"), ("far 2", "d/covered too")]
        .map(|(from, to)| Mount::bind(other.path().join(from), tree.join(to)).expect("mount"));
    for threads in [1, 4] {
        let walked =
            found_with(&[&tree], &walk::Options { threads: workers(threads), ..options() });
        assert_eq!(actual(&walked), expected(tree.path()));
        assert_eq!(volumes(&walked), [volume(tree.path()), volume(other.path())]);
    }
    let listed = from_list(
        ["covered", "d/covered", "d/plain"].map(|p| tree.join(p)).into_iter(),
        &Filter::default(),
        &Progress::default(),
    );
    let listed = listed.expect("not stopped");
    assert_eq!(listed.files().len(), 3);
    assert!(volumes(&listed).contains(&volume(other.path())));
    assert!(volumes(&listed).contains(&volume(tree.path())));
    // The walk finds two files that are also named as roots.
    let both = [tree.path().to_path_buf(), tree.join("d/covered"), tree.join("d/plain")];
    let walked = found_with(&both, &options());
    assert_eq!((walked.files().len(), walked.skipped.seen_before), (4, 2));
    drop(mounts);
}

/// Blocks when it visits a file named `here`, until such a file has been visited on both devices.
struct Meeting {
    met: Mutex<usize>,
    come: Condvar,
}

impl walk::Visitor for Meeting {
    fn file(&self, _: &Dir, name: &CStr, _: &Stat) -> walk::Note {
        if name.to_bytes() == b"here" {
            let mut met = self.met.lock().expect("not poisoned");
            *met += 1;
            self.come.notify_all();
            let waited = self.come.wait_timeout_while(met, TEST_TIMEOUT, |met| *met < 2);
            assert!(
                !waited.expect("not poisoned").1.timed_out(),
                "devices are not walked in parallel"
            );
        }
        walk::Note::default()
    }
}

#[test]
fn devices_are_walked_in_parallel() {
    let mounts = [(); 2].map(|()| Mount::new(FileSystem::Tmpfs, 16 << 20));
    let [Ok(one), Ok(other)] = mounts else { return skipped("no tmpfs") };
    let tree = TreeBuilder::new().file("here", "1").file("d/e", "2");
    tree.make(&one);
    tree.make(&other);
    let meeting = Meeting { met: Mutex::default(), come: Condvar::new() };
    let options = Options { threads: workers(1), disks: disks(Io::Cached), ..options() };
    let roots = [one.path().to_path_buf(), other.path().to_path_buf()];
    let walked = walk(&roots, &options, Some(&meeting), &Progress::default()).expect("not stopped");
    assert_eq!(walked.files().len(), 4);
    assert_eq!(*meeting.met.lock().expect("not poisoned"), 2);
}

#[test]
fn paths_of_shared_directories_do_not_depend_on_device_speed() {
    let mounts = [(); 2].map(|()| Mount::new(FileSystem::Tmpfs, 16 << 20));
    let [Ok(one), Ok(other)] = mounts else { return skipped("no tmpfs") };
    let tree = TreeBuilder::new().file("a", "1").dir("m").dir("n").make_temp();
    TreeBuilder::new().file("b", "22").file("d/c", "333").dir("k").make(&one);
    TreeBuilder::new().file("e", "4444").make(&other);
    let pairs = [(one.path().join("d"), "m"), (other.path().to_path_buf(), "n")];
    let mut bound: Vec<Mount> = Vec::new();
    for (from, to) in pairs {
        bound.push(Mount::bind(from, tree.join(to)).expect("mount"));
    }
    bound.push(Mount::bind(other.path(), one.path().join("k")).expect("mount"));
    let inside = one.path().join("d");
    for threads in [1, 2, 8] {
        // Roots are walked first, then the mounts below them in order of path.
        let options = Options { threads: workers(threads), ..options() };
        let walked = found_with(&[tree.path(), one.path(), &inside], &options);
        let paths: BTreeSet<Vec<u8>> = walked_paths(&walked);
        let at = |root: &Path, name: &str| root.join(name).path_bytes().to_vec();
        let first =
            if tree.path() < one.path() { at(tree.path(), "n/e") } else { at(one.path(), "k/e") };
        let expected = [at(tree.path(), "a"), at(one.path(), "b"), at(one.path(), "d/c"), first];
        assert_eq!(paths, expected.into(), "{threads} threads");
        assert_eq!((walked.skipped.seen_before, walked.roots().len()), (3, 3));
    }
    drop(bound);
}

fn walked_paths(tree: &Tree) -> BTreeSet<Vec<u8>> {
    ids(tree).map(|id| tree.path(id)).collect()
}
