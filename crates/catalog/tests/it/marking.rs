//! Files that were found damaged or unreadable are marked. A mark stays until the file is read
//! again.

use std::fs;
use std::path::Path;

use catalog::{FileMatch, FileState, Mark, Marker, Rows, UnreliableCounts};
use content::Digest;
use testkit::{TempTree, TreeBuilder};

use crate::disk::{bytes, ids, let_the_clock_tick, walked};
use crate::sandbox::{Sandbox, match_tree};

fn scanned() -> (Sandbox, TempTree) {
    let tree = TreeBuilder::new()
        .hard_links("alike", &["a", "link"])
        .file("b", "alike")
        .file("c", "alike")
        .file("single", "no other has this size")
        .make_temp();
    let sandbox = Sandbox::new();
    sandbox.scan(&[tree.path()]);
    (sandbox, tree)
}

/// Marks a file in its current version.
fn mark(sandbox: &Sandbox, path: &Path, state: FileState) -> u64 {
    let dir = path.parent().expect("a directory");
    let tree = walked(&[dir]);
    let file = ids(&tree).find(|id| tree.absolute_path(*id) == bytes(path)).expect("exists");
    let marker = Marker::open(&sandbox.path()).expect("opens");
    marker.mark(&[Mark::of(&tree, file, state)]).expect("marks")
}

fn state(sandbox: &Sandbox, path: &Path) -> (FileState, u32) {
    let entry = sandbox.entry(path).expect("exists");
    (entry.state, entry.copies)
}

#[test]
fn a_marked_file_is_not_a_copy() {
    let (sandbox, tree) = scanned();
    assert_eq!(mark(&sandbox, &tree.join("b"), FileState::Damaged), 1);
    assert_eq!(state(&sandbox, &tree.join("b")), (FileState::Damaged, 2));
    assert_eq!(state(&sandbox, &tree.join("c")), (FileState::Known, 2));
    let duplicates = sandbox.query("SELECT path FROM duplicates ORDER BY path");
    assert_eq!(duplicates.len(), 3, "{duplicates:?}");
    let sql = "SELECT duplicates IS NULL FROM files WHERE state = 'damaged'";
    assert_eq!(sandbox.query(sql), ["1"]);
    let known = sandbox.catalog().match_files(&walked(&[tree.path()])).expect("query succeeds");
    assert_eq!(
        known.iter().filter_map(FileMatch::known).filter(|k| k.state == FileState::Damaged).count(),
        1
    );
    let unreliable_counts = UnreliableCounts { damaged: 1, ..UnreliableCounts::default() };
    assert_eq!(sandbox.catalog().unreliable_counts().expect("query succeeds"), unreliable_counts);
}

#[test]
fn a_marked_file_is_loaded_with_its_previous_content() {
    let (sandbox, tree) = scanned();
    mark(&sandbox, &tree.join("b"), FileState::Unreadable);
    let loaded = sandbox.catalog().load(Rows::Grouped).expect("loads");
    let b = ids(&loaded.tree).find(|id| loaded.tree.name(*id) == c"b").expect("exists");
    assert_eq!((loaded.fingerprints.head(b.0), loaded.fingerprints.content(b.0)), (None, None));
    let doubt = loaded.unreliable(b).expect("in doubt");
    let digest = doubt.content.and_then(|content| loaded.content(content).0);
    assert_eq!((doubt.state, digest), (FileState::Unreadable, Some(Digest::of(b"alike"))));
    assert!(doubt.head.is_some());
    assert_eq!(ids(&loaded.tree).filter(|id| loaded.unreliable(*id).is_none()).count(), 3);
}

#[test]
fn all_names_of_a_file_are_marked() {
    let (sandbox, tree) = scanned();
    assert_eq!(mark(&sandbox, &tree.join("a"), FileState::Damaged), 2);
    assert_eq!(state(&sandbox, &tree.join("link")), (FileState::Damaged, 2));
}

#[test]
fn a_file_that_has_changed_is_not_marked() {
    let (sandbox, tree) = scanned();
    let_the_clock_tick(&tree.join("b"));
    fs::write(tree.join("b"), "Alike").expect("written");
    assert_eq!(mark(&sandbox, &tree.join("b"), FileState::Damaged), 0);
    assert_eq!(state(&sandbox, &tree.join("b")), (FileState::Known, 3));
}

#[test]
fn a_file_marked_as_known_is_a_copy_again() {
    let (sandbox, tree) = scanned();
    mark(&sandbox, &tree.join("b"), FileState::Damaged);
    assert_eq!(mark(&sandbox, &tree.join("b"), FileState::Known), 1);
    assert_eq!(state(&sandbox, &tree.join("b")), (FileState::Known, 3));
    assert_eq!(
        sandbox.catalog().unreliable_counts().expect("query succeeds"),
        UnreliableCounts::default()
    );
}

#[test]
fn the_digest_of_a_unique_file_is_kept() {
    let (sandbox, tree) = scanned();
    sandbox.run(
        "INSERT INTO content VALUES (9, 22, zeroblob(32), 1, 0);
         UPDATE file SET content = 9, head = 1 WHERE name = CAST('single' AS BLOB)",
    );
    mark(&sandbox, &tree.join("single"), FileState::Damaged);
    assert_eq!(sandbox.query("SELECT inodes FROM content WHERE id = 9"), ["0"]);
    let entry = sandbox.entry(&tree.join("single")).expect("exists");
    assert_eq!(entry.digest, Some(Digest([0; 32])));
    sandbox.scan(&[tree.path()]);
    assert_eq!(sandbox.query("SELECT count(*) FROM content WHERE id = 9"), ["0"]);
}

#[test]
fn a_marked_file_is_read_again_by_the_next_scan_of_its_directory() {
    let (sandbox, tree) = scanned();
    mark(&sandbox, &tree.join("b"), FileState::Damaged);
    let (writer, mut now) = (sandbox.writer(), walked(&[tree.path()]));
    let match_tree = match_tree(&writer, &mut now);
    let [suspect] = match_tree.suspects() else { panic!("{:?}", match_tree.suspects()) };
    assert_eq!(now.name(suspect.file), c"b");
    assert_eq!(suspect.digest, Some(Digest::of(b"alike")));
    assert_eq!(match_tree.fingerprints.head(suspect.file.0), None);
    drop(writer);
    sandbox.scan(&[tree.path()]);
    assert_eq!(state(&sandbox, &tree.join("b")), (FileState::Known, 3));
}

#[test]
fn a_scan_elsewhere_does_not_read_a_marked_file() {
    let (sandbox, tree) = scanned();
    mark(&sandbox, &tree.join("b"), FileState::Damaged);
    let other = TreeBuilder::new().file("x", "alike").make_temp();
    let scan = sandbox.scan(&[other.path()]);
    assert!(!scan.added().contains(&bytes(&tree.join("b"))));
    assert_eq!(state(&sandbox, &tree.join("b")), (FileState::Damaged, 3));
}

#[test]
fn a_marked_file_in_a_moved_directory_is_still_read_again() {
    let tree = TreeBuilder::new().file("d/a", "alike").file("b", "alike").make_temp();
    let sandbox = Sandbox::new();
    sandbox.scan(&[tree.path()]);
    mark(&sandbox, &tree.join("d/a"), FileState::Damaged);
    fs::rename(tree.join("d"), tree.join("moved")).expect("renamed");
    let (writer, mut now) = (sandbox.writer(), walked(&[tree.path()]));
    let match_tree = match_tree(&writer, &mut now);
    assert_eq!(match_tree.suspects().len(), 1);
    assert_eq!(match_tree.fingerprints.head(match_tree.suspects()[0].file.0), None);
}
