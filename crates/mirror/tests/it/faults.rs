//! A run is killed, or a system call fails, at every change. Every name then leads to a complete file, and the next run
//! completes the mirror.

use std::fs;
use std::path::Path;

use fsops::faults::ChangeFault;
use testkit::{Snapshot, TempTree, TreeBuilder};

use crate::child::run as run_child;
use crate::world::{assert_alike, deleting, run};

/// Creates a source with an entry of each kind, and a completely different destination.
fn make(place: &TempTree) {
    let (from, to) = (place.join("from"), place.join("to"));
    let source = TreeBuilder::new()
        .seeded("file", 1, 5000)
        .seeded("large", 2, 600_000)
        .sparse("sparse", 1 << 20, &[(70_000, b"x")])
        .hard_links("linked", &["l1", "d/l2", "d/e/l3"])
        .symlink("link", "target")
        .fifo("fifo")
        .file("d/in d", "x")
        .file("d/e/in e", "y")
        .xattr("d/in d", "user.x", b"1")
        .dir("empty")
        .file("replaced dir", "file")
        .file("mode", "m")
        .mode("mode", 0o600)
        .mtime("mode", 5, 5)
        .mtime("d", 7, 7);
    // Only root can change the owner of a file.
    let source = if testkit::is_root() { source.owner("mode", 5, 6) } else { source };
    source.make(&from);
    TreeBuilder::new()
        .file("file", "old")
        .file("extraneous/deep/down", "s")
        .file("replaced dir/in", "r")
        .hard_links("other", &["l1", "large"])
        .file("d", "a file")
        .symlink("fifo", "was a link")
        .file("mode", "m")
        .mtime("mode", 5, 5)
        .make(&to);
}

/// Asserts that each regular file at the destination has either its old content or its new content.
pub(crate) fn all_are_whole(place: &TempTree, before: &Snapshot, account: &str) {
    let (from, to) = (Snapshot::of(place.join("from")), Snapshot::of(place.join("to")));
    for (path, entry) in &to.entries {
        let is_part = path.split(|&b| b == b'/').any(|name| name.starts_with(b".lop-part-"));
        if is_part || entry.sha256.is_none() {
            continue;
        }
        let like = |tree: &Snapshot| tree.get(path).is_some_and(|was| was.sha256 == entry.sha256);
        assert!(like(&from) || like(before), "{} is half\n{account}", path.escape_ascii());
    }
}

pub(crate) fn no_temporary_names_are_left(root: &Path) {
    let left = |path: &Vec<u8>| path.windows(10).any(|name| name == b".lop-part-");
    let all = Snapshot::of(root);
    assert!(!all.entries.keys().any(left), "{:?}", all.entries.keys());
}

fn at_every_change(blow: ChangeFault) -> u64 {
    for number in 0.. {
        let place = TempTree::new();
        make(&place);
        let before = Snapshot::of(place.join("to"));
        let ended = run_child(place.path(), number, blow);
        all_are_whole(&place, &before, &ended.account);
        if let (ChangeFault::Fail(_), Some((_, failed))) = (blow, ended.done) {
            assert!(failed > 0 || is_harmless(&place), "{}", ended.account);
        }
        run(place.join("from"), place.join("to"), &deleting());
        // Hard links that had to wait until a directory was removed are only made by the second run.
        run(place.join("from"), place.join("to"), &deleting());
        assert_alike(place.join("from"), place.join("to"));
        no_temporary_names_are_left(&place.join("to"));
        if ended.done.is_some_and(|(changes, _)| changes <= number) {
            return number;
        }
    }
    0
}

/// Returns whether the trees are equal despite a failed change, because the run achieved the same result in another
/// way.
fn is_harmless(place: &TempTree) -> bool {
    let (from, to) = (Snapshot::of(place.join("from")), Snapshot::of(place.join("to")));
    from.diff(&to, testkit::Compare::ALL).is_empty()
}

#[test]
pub(crate) fn killed_at_every_change() {
    let points = at_every_change(ChangeFault::Kill);
    assert!(points > 60, "{points}");
}

#[test]
pub(crate) fn every_change_fails_once() {
    for errno in [libc::EIO, libc::ENOSPC] {
        let points = at_every_change(ChangeFault::Fail(errno));
        assert!(points > 60, "{points}");
    }
}

#[test]
pub(crate) fn a_new_tree_killed_at_every_change() {
    let mut points = 0;
    for number in 0.. {
        let place = TempTree::new();
        make(&place);
        fs::remove_dir_all(place.join("to")).expect("removed");
        fs::create_dir(place.join("to")).expect("made");
        let before = Snapshot::of(place.join("to"));
        let ended = run_child(place.path(), number, ChangeFault::Kill);
        all_are_whole(&place, &before, &ended.account);
        run(place.join("from"), place.join("to"), &deleting());
        assert_alike(place.join("from"), place.join("to"));
        no_temporary_names_are_left(&place.join("to"));
        points = number;
        if ended.done.is_some() {
            break;
        }
    }
    assert!(points > 50, "{points}");
}
