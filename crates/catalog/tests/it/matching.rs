//! A second scan recognizes the files of the first, except those that may have changed.

use std::fs;
use std::time::{Duration, SystemTime};

use testkit::TempTree;
use walk::{Remembered, Tree};

use crate::disk::{let_the_clock_tick, pairs, stat, walked};
use crate::engine::heads;
use crate::sandbox::{Sandbox, match_tree};
use crate::synthetic::{Dir, NOWHERE, file, one, synthetic_tree};

/// Returns the names of those files of [`pairs`] that a scan still knows after a change.
fn known_after(change: impl FnOnce(&TempTree)) -> Vec<String> {
    let (sandbox, tree) = (Sandbox::new(), pairs());
    sandbox.scan(&[tree.path()]);
    change(&tree);
    sandbox.scan(&[tree.path()]).known()
}

#[test]
fn the_first_scan_knows_nothing() {
    assert_eq!(Sandbox::new().scan(&[pairs().path()]).known(), [""; 0]);
}

#[test]
fn unchanged_files_are_known() {
    // The scan did not read `single`, because no other file has its size.
    assert_eq!(known_after(|_| ()), ["a", "b", "c"]);
}

#[test]
fn a_scan_of_a_subdirectory_knows_its_files() {
    let (sandbox, tree) = (Sandbox::new(), pairs());
    sandbox.scan(&[tree.path()]);
    assert_eq!(sandbox.scan(&[&tree.join("d")]).known(), ["b", "c"]);
}

#[test]
fn a_scan_of_nothing_forgets_nothing() {
    let (sandbox, tree) = (Sandbox::new(), pairs());
    sandbox.scan(&[tree.path()]);
    sandbox.scan(&[]);
    assert_eq!(sandbox.scan(&[tree.path()]).known(), ["a", "b", "c"]);
}

#[test]
fn a_file_that_grew_is_not_known() {
    let known = known_after(|tree| fs::write(tree.join("a"), "alike and more").expect("written"));
    assert_eq!(known, ["b", "c"]);
}

#[test]
fn a_file_with_another_mtime_is_not_known() {
    let known = known_after(|tree| {
        let file = fs::File::options().write(true).open(tree.join("a")).expect("opens");
        file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(1)).expect("set");
    });
    assert_eq!(known, ["b", "c"]);
}

#[test]
fn a_change_with_a_restored_mtime_is_detected_by_the_ctime() {
    let known = known_after(|tree| {
        let path = tree.join("a");
        let before = stat(&path);
        let_the_clock_tick(&path);
        let time = fs::metadata(&path).and_then(|m| m.modified()).expect("a time");
        fs::write(&path, "Alike").expect("written");
        let file = fs::File::options().write(true).open(&path).expect("opens");
        file.set_modified(time).expect("set");
        let after = stat(&path);
        assert_eq!((before.size, before.mtime_ns()), (after.size, after.mtime_ns()));
    });
    assert_eq!(known, ["b", "c"]);
}

#[test]
fn a_file_replaced_by_its_copy_is_not_known() {
    let known = known_after(|tree| {
        let (path, copy) = (tree.join("a"), tree.join("copy"));
        let time = fs::metadata(&path).and_then(|m| m.modified()).expect("a time");
        fs::copy(&path, &copy).expect("copied");
        fs::File::open(&copy).and_then(|copy| copy.set_modified(time)).expect("set");
        fs::rename(copy, path).expect("renamed");
    });
    assert_eq!(known, ["b", "c"]);
}

/// On disk, these values rarely change one at a time, so the tree exists only in memory.
#[test]
fn a_file_is_known_by_inode_size_mtime_and_ctime_together() {
    let sandbox = Sandbox::new();
    let file = file(3);
    sandbox.learn(one(NOWHERE, file), SystemTime::now(), heads);
    let known = |now: Remembered| {
        let writer = sandbox.writer();
        match_tree(&writer, &mut one(NOWHERE, now)).fingerprints.head(0).is_some()
    };
    assert!(known(file));
    assert!(!known(Remembered { inode: 4, ..file }), "another inode");
    assert!(!known(Remembered { size: file.size + 1, ..file }), "another size");
    for step in [-1, 1] {
        assert!(!known(Remembered { mtime_ns: file.mtime_ns + step, ..file }), "another mtime");
        assert!(!known(Remembered { ctime_ns: file.ctime_ns + step, ..file }), "another ctime");
    }
}

#[test]
fn extreme_metadata_is_stored_exactly() {
    let odd = [
        Remembered { size: 0, inode: u64::MAX, mtime_ns: i64::MIN, ctime_ns: i64::MIN },
        Remembered { size: u64::MAX, inode: 1 << 63, mtime_ns: -1, ctime_ns: 0 },
    ];
    for file in odd {
        let sandbox = Sandbox::new();
        sandbox.learn(one(NOWHERE, file), SystemTime::now(), heads);
        let entry = sandbox.entry("/no such directory/d/one".as_ref()).expect("exists");
        let Remembered { size, inode, mtime_ns, ctime_ns } = file;
        let stored = (entry.size, entry.inode, entry.mtime_ns, entry.ctime_ns);
        assert_eq!(stored, (size, inode, mtime_ns, ctime_ns));
        let again = sandbox.learn(one(NOWHERE, file), SystemTime::now(), heads);
        assert_eq!(again.known(), ["one"]);
    }
}

/// Files and rows are matched in name order, but a walk finds files in any order.
#[test]
fn files_are_known_in_any_order() {
    let sandbox = Sandbox::new();
    let dir = |files| synthetic_tree(&[Dir { name: "d", device: NOWHERE, files }]);
    let up = vec![("a", file(1)), ("b", file(2)), ("c", file(3)), ("d", file(4))];
    let down = up.iter().rev().copied().collect();
    sandbox.learn(dir(up), SystemTime::now(), heads);
    let again = sandbox.learn(dir(down), SystemTime::now(), heads);
    assert_eq!(again.known(), ["a", "b", "c", "d"]);
}

#[test]
fn files_are_known_in_directories_with_distant_rows() {
    let sandbox = Sandbox::new();
    let names: Vec<String> = (0..100).map(|n| format!("{n:02}")).collect();
    let tree = |wanted: &[usize]| {
        let dirs = wanted.iter().map(|&n| Dir {
            name: &names[n],
            device: NOWHERE,
            files: vec![(&names[n], file(n as u64 + 1)), ("same", file(n as u64 + 1000))],
        });
        synthetic_tree(&dirs.collect::<Vec<_>>())
    };
    let all: Vec<usize> = (0..100).collect();
    sandbox.learn(tree(&all), SystemTime::now(), heads);
    // Directories with adjacent rows, with rows some distance apart, and with the first and last
    // row.
    let again = sandbox.learn(tree(&[99, 0, 6, 5, 50]), SystemTime::now(), heads);
    let mut expected = vec!["00", "05", "06", "50", "99"];
    expected.extend(["same"; 5]);
    assert_eq!(again.known(), expected);
}

/// The names of the directories and files of a tree that is large enough for a second connection. One
/// directory has more files than fit into one message between threads.
fn many_names() -> Vec<(String, Vec<String>)> {
    let files = |dir: u32| if dir == 20 { 7000 } else { 300 };
    let names = |dir: u32| (0..files(dir)).map(move |n| format!("{dir:02} {n:04}")).collect();
    (0..40).map(|dir| (format!("{dir:02}"), names(dir))).collect()
}

/// Returns a tree with the files of [`many_names`], which are numbered from 1. `metadata` returns the
/// metadata of a file, or `None` if the tree shall not contain the file.
fn large_tree(metadata: impl Fn(u64) -> Option<Remembered>) -> Tree {
    let (names, mut number) = (many_names(), 0);
    let mut files = |name| {
        number += 1;
        Some((name, metadata(number)?))
    };
    let dirs = names.iter().map(|(name, names)| Dir {
        name,
        device: NOWHERE,
        files: names.iter().filter_map(|name| files(name.as_str())).collect(),
    });
    synthetic_tree(&dirs.collect::<Vec<_>>())
}

#[test]
fn the_unchanged_files_of_a_large_tree_are_known() {
    let sandbox = Sandbox::new();
    let whole = large_tree(|number| Some(file(number)));
    assert!(whole.files().len() > 16 * 1024, "too few files for a second connection");
    sandbox.learn(whole, SystemTime::now(), heads);
    let changed = |number| match number {
        number if number % 7 == 0 => None,
        number if number % 5 == 0 => Some(Remembered { size: 6, ..file(number) }),
        number => Some(file(number)),
    };
    let again = sandbox.learn(large_tree(changed), SystemTime::now(), heads);
    let names = many_names().into_iter().flat_map(|(_, names)| names);
    let unchanged = (1..).zip(names).filter(|&(number, _)| changed(number) == Some(file(number)));
    assert_eq!(again.known(), unchanged.map(|(_, name)| name).collect::<Vec<_>>());
}

/// Whichever thread reads the damaged row, the others end as well.
#[test]
fn a_damaged_row_of_a_large_tree_is_an_error() {
    for name in ["00 0000", "07 0000", "20 3000", "39 0299"] {
        let sandbox = Sandbox::new();
        sandbox.learn(large_tree(|number| Some(file(number))), SystemTime::now(), heads);
        sandbox.run(&format!(
            "UPDATE file SET name = CAST('a/b' AS BLOB) WHERE name = CAST('{name}' AS BLOB)"
        ));
        let mut tree = large_tree(|number| Some(file(number)));
        let matched = sandbox.writer().catalog().match_tree(&mut tree, true);
        assert!(matched.is_err(), "{name}");
    }
}

#[test]
fn files_of_an_incomplete_listing_are_kept() {
    let sandbox = Sandbox::new();
    let dir = |files| synthetic_tree(&[Dir { name: "d", device: NOWHERE, files }]);
    sandbox.learn(dir(vec![("a", file(1)), ("b", file(2))]), SystemTime::now(), heads);
    sandbox.learn(dir(vec![("b", file(2))]), SystemTime::now(), heads);
    let again = sandbox.learn(dir(vec![("a", file(1))]), SystemTime::now(), heads);
    assert_eq!(again.known(), ["a"]);
}

/// Returns the time this many milliseconds after the first change to the files of [`pairs`].
fn after(tree: &TempTree, milliseconds: u64) -> SystemTime {
    let files = ["a", "d/b", "d/sub/c"].map(|name| stat(&tree.join(name)).ctime_ns);
    let first = files.into_iter().min().expect("files").cast_unsigned();
    SystemTime::UNIX_EPOCH + Duration::from_nanos(first) + Duration::from_millis(milliseconds)
}

#[test]
fn files_changed_just_before_a_scan_are_known_two_scans_later() {
    let (sandbox, tree) = (Sandbox::new(), pairs());
    sandbox.scan_at(&[tree.path()], after(&tree, 1));
    assert_eq!(sandbox.scan_at(&[tree.path()], after(&tree, 5000)).known(), [""; 0]);
    assert_eq!(sandbox.scan_at(&[tree.path()], after(&tree, 9000)).known(), ["a", "b", "c"]);
}

#[test]
fn files_changed_just_before_a_scan_are_in_their_groups() {
    let (sandbox, tree) = (Sandbox::new(), pairs());
    sandbox.scan_at(&[tree.path()], after(&tree, 1));
    let a = sandbox.entry(&tree.join("a")).expect("exists");
    let same = sandbox.catalog().files_with(a.content.expect("compared")).expect("query succeeds");
    assert_eq!((same.len(), a.copies), (2, 2));
}

#[test]
fn files_from_the_future_are_never_trusted() {
    let (sandbox, tree) = (Sandbox::new(), pairs());
    let behind = after(&tree, 0) - Duration::from_secs(3600);
    for _ in 0..3 {
        assert_eq!(sandbox.scan_at(&[tree.path()], behind).known(), [""; 0]);
    }
}

/// On a file system that stores whole or even seconds, two changes may get the same time.
#[test]
fn times_in_whole_seconds_are_trusted_later() {
    const SECOND: i64 = 1_000_000_000;
    let started = SystemTime::UNIX_EPOCH + Duration::from_millis(100_500);
    let known = |mtime_ns, ctime_ns| {
        let (sandbox, file) = (Sandbox::new(), Remembered { mtime_ns, ctime_ns, ..file(3) });
        sandbox.learn(one(NOWHERE, file), started, heads);
        !sandbox.learn(one(NOWHERE, file), started, heads).known().is_empty()
    };
    assert!(!known(99 * SECOND, 99 * SECOND));
    assert!(known(98 * SECOND, 98 * SECOND));
    assert!(known(99 * SECOND, 99 * SECOND + 1), "finer times than seconds");
}

#[test]
fn a_file_with_a_unique_size_is_remembered_without_a_head() {
    let (sandbox, tree) = (Sandbox::new(), pairs());
    sandbox.scan(&[tree.path()]);
    let heads = sandbox.query("SELECT head IS NULL FROM file ORDER BY name");
    assert_eq!(heads, ["0", "0", "0", "1"]);
    let now = walked(&[tree.path()]);
    let known = sandbox.catalog().match_files(&now).expect("query succeeds");
    assert!(
        known.iter().all(|record| record.known().is_some()),
        "a file without a head is known to be unchanged too"
    );
}
