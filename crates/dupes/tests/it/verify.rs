//! Checks whether files still match what is known about them.

use std::fs;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use content::{Digest, head_of};
use dupes::{Expected, Finding, State, Validated, Work, states, validate};
use fsops::Op;
use runtime::{Interrupted, Progress};
use testkit::{PathBytes, TempTree, TreeBuilder};
use walk::FileId;

use crate::injected::Rules;
use crate::scan::{Scan, ids, setup};

fn tree() -> TempTree {
    TreeBuilder::new()
        .seeded("small 1", 1, 900)
        .seeded("small 2", 1, 900)
        .seeded("large 1", 2, 700_000)
        .seeded("large 2", 2, 700_000)
        .hard_link("large 2", "large 3")
        .seeded("head only 1", 3, 50_000)
        .seeded("head only 2", 4, 50_000)
        .seeded("head only 3", 5, 50_000)
        .seeded("head only 4", 6, 50_000)
        .seeded("of a lone size", 5, 12_345)
        .file("empty 1", "")
        .file("empty 2", "")
        .make_temp()
}

fn with_work<T>(scan: &Scan, progress: &Progress, answer: impl FnOnce(&Work<'_>) -> T) -> T {
    let options = setup().find;
    answer(&Work::new(&scan.tree, &scan.fingerprints, &options, progress))
}

/// Reads every file again. Also returns the finding for each inode, keyed by the first name of the
/// inode.
fn examined(
    scan: &Scan,
    progress: &Progress,
) -> Result<(Validated, Vec<(String, Finding)>), Interrupted> {
    let found = Mutex::new(Vec::new());
    let validated = with_work(scan, progress, |work| {
        validate(work, &|file| Expected::of(&scan.fingerprints, file), &|file, finding| {
            let name = scan.tree.name(file).to_string_lossy().into_owned();
            found.lock().expect("no panic").push((name, finding));
        })
    })?;
    let load = |counter: &AtomicU64| counter.load(Relaxed);
    assert_eq!(load(&progress.files_done), load(&progress.files_total), "whatever came of them");
    assert_eq!(load(&progress.bytes_done), load(&progress.bytes_total), "whatever came of them");
    let mut found = found.into_inner().expect("no panic");
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok((validated, found))
}

fn validated(scan: &Scan) -> Validated {
    examined(scan, &Progress::default()).expect("not stopped").0
}

fn names(scan: &Scan, files: &[FileId]) -> Vec<String> {
    files.iter().map(|&f| scan.tree.name(f).to_string_lossy().into_owned()).collect()
}

fn find(scan: &Scan, path: &Path) -> FileId {
    ids(&scan.tree).find(|&id| scan.tree.path(id) == path.path_bytes()).expect("a known file")
}

#[test]
fn an_unchanged_tree_matches_its_fingerprints() {
    let tree = tree();
    let scan = setup().empty(true).scan(&[&tree]);
    let answer = validated(&scan);
    assert_eq!((answer.matching, answer.unchecked), (7, 5));
    assert!(answer.changed.is_empty() && answer.gone.is_empty() && answer.differing.is_empty());
    assert!(answer.problems.is_empty());
    let all: Vec<_> = ids(&scan.tree).collect();
    let same = with_work(&scan, &Progress::default(), |work| states(work, &all));
    assert!(same.expect("not stopped").iter().all(|&state| state == State::Same));
}

#[test]
fn changed_and_gone_files_are_distinguished_from_unchanged_ones() {
    let tree = tree();
    let scan = setup().scan(&[&tree]);
    fs::write(tree.join("small 1"), "short").expect("writable");
    fs::remove_file(tree.join("large 1")).expect("removable");
    fs::remove_file(tree.join("head only 1")).expect("removable");
    TreeBuilder::new().fifo("head only 1").make(&tree);
    fs::remove_file(tree.join("head only 2")).expect("removable");
    std::os::unix::fs::symlink("head only 3", tree.join("head only 2")).expect("a free name");
    fs::rename(tree.join("small 2"), tree.join("moved")).expect("same directory");
    let answer = validated(&scan);
    let changed = ["head only 1", "head only 2", "small 1"];
    assert_eq!(names(&scan, &answer.changed), changed);
    assert_eq!(names(&scan, &answer.gone), ["large 1", "small 2"]);
    assert_eq!((answer.matching, answer.unchecked, answer.differing.len()), (2, 3, 0));
    let wanted = ["small 1", "large 1", "large 2"].map(|name| find(&scan, &tree.join(name)));
    let answer = with_work(&scan, &Progress::default(), |work| states(work, &wanted));
    assert_eq!(answer, Ok(vec![State::Changed, State::Gone, State::Same]));
}

#[test]
fn files_with_different_bytes_are_found() {
    let tree = tree();
    let scan = setup().scan(&[&tree]);
    // This simulates a disk that returned different bytes the first time.
    let small = find(&scan, &tree.join("small 1"));
    let content = scan.fingerprints.content(small.0).expect("it was compared");
    scan.fingerprints.set_digest(content, Digest::of(b"other bytes"));
    scan.fingerprints.set_head(find(&scan, &tree.join("head only 1")).0, head_of(b"other bytes"));
    let (answer, found) = examined(&scan, &Progress::default()).expect("not stopped");
    assert_eq!(names(&scan, &answer.differing), ["head only 1", "small 1", "small 2"]);
    assert_eq!((answer.matching, answer.unchecked), (3, 4));
    let expected = [
        ("head only 1", Finding::Differing),
        ("large 1", Finding::Sound),
        // One of the two names of that inode.
        ("large 2", Finding::Sound),
        ("small 1", Finding::Differing),
        ("small 2", Finding::Differing),
    ];
    let found: Vec<_> = found.iter().map(|(name, f)| (name.replace('3', "2"), *f)).collect();
    assert_eq!(found, expected.map(|(name, finding)| (name.to_string(), finding)));
}

#[test]
fn files_that_cannot_be_read_are_problems_and_not_changes() {
    let tree = tree();
    TreeBuilder::new().seeded("large with a bad spot", 2, 700_000).make(&tree);
    let scan = setup().scan(&[&tree]);
    for (op, errno) in [(Op::Read, libc::EIO), (Op::Open, libc::EACCES)] {
        let rules = Rules::new(op, "with a bad spot", errno);
        let (answer, found) = examined(&scan, &Progress::default()).expect("not stopped");
        drop(rules);
        assert_eq!((answer.problems.len(), answer.matching), (1, 5));
        assert!(found.contains(&("large with a bad spot".to_string(), Finding::Unreadable)));
        assert!(answer.problems[0].path.ends_with(b"bad spot"));
        assert!(answer.changed.is_empty() && answer.differing.is_empty());
    }
}

#[test]
fn a_stopped_validation_is_interrupted() {
    let tree = tree();
    let scan = setup().scan(&[&tree]);
    let progress = Progress::default();
    progress.stop();
    assert!(matches!(examined(&scan, &progress), Err(Interrupted)));
    let all: Vec<_> = ids(&scan.tree).collect();
    assert_eq!(with_work(&scan, &progress, |work| states(work, &all)), Err(Interrupted));
}
