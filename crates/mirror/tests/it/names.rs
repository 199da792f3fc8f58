//! Temporary names, which other programs must not use, and names that the destination treats as equal.

use std::fs;
use std::num::NonZeroU64;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use fsops::{Dir, DirMark};
use mirror::{Options, Reason, Refusal, Roots};
use runtime::Throttle;
use testkit::{FileSystem, Mount, Snapshot, TempTree, TreeBuilder, skipped};
use walk::Globs;

use crate::world::{
    Ends, assert_alike, deleting, run, temp_name_of, temp_names_in, try_mirror, usual, with,
};

/// Two names with the same 64-bit FNV-1a hash.
const COLLIDING: [&str; 2] = ["8yn0iYCKYHlIj4-BwPqk", "GReLUrM4wMqfg9yzV3KQ"];

#[test]
pub(crate) fn names_chosen_to_collide_are_kept_apart() {
    let mut tree = TreeBuilder::new().dir("to");
    for (at, name) in COLLIDING.into_iter().enumerate() {
        for number in 0..50 {
            tree = tree.file(format!("from/{name}/{at}-{number}"), ["a", "b"][at]);
        }
    }
    for round in 0..6 {
        let place = tree.make_temp();
        run(place.join("from"), place.join("to"), &with(2 + round % 3));
        assert_alike(place.join("from"), place.join("to"));
    }
    // Files with the same size and modification time, each of which replaces an existing file.
    let mut tree = TreeBuilder::new();
    for (at, name) in COLLIDING.into_iter().enumerate() {
        tree =
            tree.seeded(format!("from/{name}"), at as u64, 300_000).file(format!("to/{name}"), "");
        tree = tree.mtime(format!("from/{name}"), 1_000, 0);
    }
    for _ in 0..6 {
        let place = tree.make_temp();
        run(place.join("from"), place.join("to"), &usual());
        assert_alike(place.join("from"), place.join("to"));
    }
}

fn nested() -> TempTree {
    TreeBuilder::new()
        .file("from/a", "a")
        .file("other/a", "another")
        .dir("to/5/deep")
        .dir("to/6")
        .make_temp()
}

#[test]
fn nested_destinations_are_not_mirrored_to_at_the_same_time() {
    let place = nested();
    let at = |to: &str| Roots::check(&place.join("from"), &place.join(to), None, false);
    let outer = at("to").expect("no other run uses the destination");
    for inner in ["to/5", "to/5/deep", "to/new"] {
        let refused = at(inner);
        let is_right = matches!(&refused, Err(Refusal::LockedAbove(path)) if path.ends_with("to"));
        assert!(is_right, "{inner}: {refused:?}");
    }
    assert!(!place.join("to/new").exists());
    assert!(matches!(at("to"), Err(Refusal::Locked)));
    drop(outer);
    let inner = at("to/5/deep").expect("no other run uses the destination");
    let beside = at("to/6").expect("beside is not in");
    for outer in ["to/5", "to"] {
        let refused = at(outer);
        assert!(matches!(refused, Err(Refusal::LockedBelow)), "{outer}: {refused:?}");
    }
    drop((inner, beside));
    assert!(at("to").is_ok());
    // A dry run changes nothing, so it may run at the same time as another run.
    let _outer = at("to").expect("no other run uses the destination");
    assert!(Roots::check(&place.join("from"), &place.join("to/5"), None, true).is_ok());
}

/// A run does not notice a second run whose destination is inside the first destination, below an unreadable directory.
#[test]
pub(crate) fn temporary_names_of_an_unseen_run_are_left_alone() {
    let place = TreeBuilder::new()
        .seeded("from/5/new/big", 1, 3 << 20)
        .seeded("from/5/big", 2, 3 << 20)
        .dir("to/5")
        .make_temp();
    let (new, big) = (place.join("to/5").join(temp_name_of("new")), temp_name_of("big"));
    TreeBuilder::new().file("in", "somebody's").make(&new);
    let half = fs::read(place.join("from/5/big")).expect("read")[..2 << 20].to_vec();
    fs::write(place.join("to/5").join(&big), half).expect("written");
    let parts = || temp_names_in(place.join("to/5")).len();
    let other = Dir::open(&place.join("to/5")).expect("there");
    other.mark(DirMark::Destination).expect("marked");
    run(place.join("from"), place.join("to"), &usual());
    assert!(parts() == 2 && new.join("in").exists() && !place.join("to/5/new/in").exists());
    other.unmark(DirMark::Destination);
    run(place.join("from"), place.join("to"), &usual());
    assert_eq!(parts(), 0);
    assert_alike(place.join("from"), place.join("to"));
}

/// In a directory where anyone can create entries, another user could prepare an unfinished directory and make lop copy
/// files into it.
#[test]
pub(crate) fn an_unfinished_directory_of_another_user_is_not_adopted() {
    if !testkit::is_root() {
        return skipped("only root can change the owner of a directory");
    }
    let tree = TreeBuilder::new().file("from/new/a", "a").dir("to").mode("to", 0o1777);
    let place = tree.make_temp();
    let theirs = place.join("to").join(temp_name_of("new"));
    TreeBuilder::new().file("planted", "p").make(&theirs);
    std::os::unix::fs::chown(&theirs, Some(4711), Some(4711)).expect("given away");
    run(place.join("from"), place.join("to"), &usual());
    assert!(!theirs.exists());
    assert_alike(place.join("from"), place.join("to"));
}

#[test]
pub(crate) fn an_entry_put_in_place_of_a_temporary_file_does_not_get_its_name() {
    let place = TreeBuilder::new()
        .seeded("from/a", 1, 2 << 20)
        .file("to/a", "old")
        .file("theirs", "t")
        .make_temp();
    let rate = Arc::new(Throttle::new(NonZeroU64::new(8 << 20)));
    let done = AtomicBool::new(false);
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Relaxed) {
                if let Some(part) = temp_names_in(place.join("to")).first() {
                    let _moved = fs::rename(place.join("theirs"), part);
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let _ends = Ends(&done);
        try_mirror(place.join("from"), place.join("to"), &Options { bandwidth: rate, ..usual() })
    });
    assert_eq!(outcome.counts.failed, 1, "{:?}", outcome.problems);
    assert!(matches!(outcome.problems[0].reason, Reason::Displaced), "{:?}", outcome.problems);
    assert_eq!(fs::read_to_string(place.join("to/a")).expect("there"), "old");
    run(place.join("from"), place.join("to"), &usual());
    assert_alike(place.join("from"), place.join("to"));
}

fn contents(root: &Path) -> Vec<Vec<u8>> {
    let all = Snapshot::without_names(root, &[".fuse_hidden"]);
    let files = all.entries.into_iter().filter(|(_, entry)| entry.sha256.is_some());
    files.map(|(path, _)| fs::read(root.join(path_of(&path))).expect("read")).collect()
}

fn path_of(bytes: &[u8]) -> &Path {
    Path::new(<std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(bytes))
}

/// Returns the options of [`deleting`], but excludes the names that FUSE gives to files that are removed while open.
/// Such names can appear and disappear at any time.
fn deleting_but_hidden() -> Options {
    let exclude = Globs::new(&[".fuse_hidden*".into()]).expect("a pattern");
    Options { exclude, ..deleting() }
}

/// If two names differ only in case, each run keeps one of them and reports the other as failed.
#[test]
pub(crate) fn where_case_is_ignored_no_name_replaces_another() {
    let there = match Mount::new(FileSystem::ExFat, 0) {
        Ok(there) => there,
        Err(reason) => return skipped(&reason),
    };
    let place = TreeBuilder::new()
        .file("Readme", "small")
        .file("README", "SMALL")
        .seeded("Large", 1, 100_000)
        .seeded("LARGE", 2, 100_000)
        .file("Dir/a", "in one")
        .file("DIR/b", "in the other")
        .file("new/Deep", "deep")
        .file("new/DEEP", "DEEP")
        .make_temp();
    let to = there.path().join("to");
    let mut before = Vec::new();
    for round in 0..3 {
        let outcome = try_mirror(place.path(), &to, &deleting_but_hidden());
        assert_eq!(outcome.counts.failed, 4, "{round}: {:?}", outcome.problems);
        let clashes = |problem: &&mirror::Problem| match &problem.reason {
            Reason::Spelling { .. } => true,
            Reason::Remote { text, .. } => text.contains("does not distinguish this name from"),
            _ => false,
        };
        let reported = outcome.problems.iter().filter(clashes).count();
        assert_eq!(reported, 4, "{round}: {:?}", outcome.problems);
        assert!(
            outcome.counts.removed == 0 && !outcome.counts.source_failed,
            "{round}: {outcome:?}"
        );
        let now = contents(&to);
        assert_eq!(now.len(), 4, "{round}");
        if round > 0 {
            assert_eq!((outcome.counts.bytes, now == before), (0, true), "{round}: {outcome:?}");
        }
        before = now;
    }
}

/// The entry with the other spelling is neither removed nor replaced.
#[test]
pub(crate) fn a_name_in_another_spelling_is_not_removed() {
    let there = match Mount::new(FileSystem::ExFat, 0) {
        Ok(there) => there,
        Err(reason) => return skipped(&reason),
    };
    let place = TreeBuilder::new().file("Readme", "new").file("Dir/a", "a").make_temp();
    let to = there.path().join("to");
    TreeBuilder::new().file("README", "old").file("DIR/a", "old").make(&to);
    for _ in 0..2 {
        let outcome = try_mirror(place.path(), &to, &deleting_but_hidden());
        assert_eq!(
            (outcome.counts.failed, outcome.counts.removed),
            (2, 0),
            "{:?}",
            outcome.problems
        );
        assert_eq!(contents(&to), [b"old", b"old"]);
    }
}
