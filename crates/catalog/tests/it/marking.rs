//! What is found wrong with files is marked, and counts until they were read again.

use std::fs;
use std::path::Path;

use catalog::{Doubts, FileState, Mark, Marker, Record, Rows};
use content::Digest;
use testkit::{TempTree, TreeBuilder};

use crate::disk::{bytes, ids, let_the_clock_tick, walked};
use crate::place::{Place, recall};

fn scanned() -> (Place, TempTree) {
    let tree = TreeBuilder::new()
        .hard_links("alike", &["a", "link"])
        .file("b", "alike")
        .file("c", "alike")
        .file("single", "no other has this size")
        .make_temp();
    let place = Place::new();
    place.scan(&[tree.path()]);
    (place, tree)
}

/// Marks a file as it is now.
fn mark(place: &Place, path: &Path, state: FileState) -> u64 {
    let dir = path.parent().expect("a directory");
    let tree = walked(&[dir]);
    let file = ids(&tree).find(|id| tree.absolute_path(*id) == bytes(path)).expect("is there");
    let marker = Marker::open(&place.path()).expect("opens");
    marker.mark(&[Mark::of(&tree, file, state)]).expect("marks")
}

fn state(place: &Place, path: &Path) -> (FileState, u32) {
    let entry = place.entry(path).expect("is there");
    (entry.state, entry.copies)
}

#[test]
fn a_marked_file_is_no_copy_of_anything() {
    let (place, tree) = scanned();
    assert_eq!(mark(&place, &tree.join("b"), FileState::Damaged), 1);
    assert_eq!(state(&place, &tree.join("b")), (FileState::Damaged, 2));
    assert_eq!(state(&place, &tree.join("c")), (FileState::Known, 2));
    let duplicates = place.query("SELECT path FROM duplicates ORDER BY path");
    assert_eq!(duplicates.len(), 3, "{duplicates:?}");
    let sql = "SELECT duplicates IS NULL FROM files WHERE state = 'damaged'";
    assert_eq!(place.query(sql), ["1"]);
    let known = place.catalog().known(&walked(&[tree.path()])).expect("asks");
    assert_eq!(
        known.iter().filter_map(Record::known).filter(|k| k.state == FileState::Damaged).count(),
        1
    );
    let doubts = Doubts { damaged: 1, ..Doubts::default() };
    assert_eq!(place.catalog().doubts().expect("asks"), doubts);
}

#[test]
fn a_marked_file_is_loaded_with_what_was_known_of_it() {
    let (place, tree) = scanned();
    mark(&place, &tree.join("b"), FileState::Unreadable);
    let loaded = place.catalog().load(Rows::Grouped).expect("loads");
    let b = ids(&loaded.tree).find(|id| loaded.tree.name(*id) == c"b").expect("is there");
    assert_eq!((loaded.facts.head(b.0), loaded.facts.content(b.0)), (None, None));
    let doubt = loaded.doubt(b).expect("in doubt");
    let digest = doubt.content.and_then(|content| loaded.content(content).0);
    assert_eq!((doubt.state, digest), (FileState::Unreadable, Some(Digest::of(b"alike"))));
    assert!(doubt.head.is_some());
    assert_eq!(ids(&loaded.tree).filter(|id| loaded.doubt(*id).is_none()).count(), 3);
}

#[test]
fn all_names_of_a_file_are_marked() {
    let (place, tree) = scanned();
    assert_eq!(mark(&place, &tree.join("a"), FileState::Damaged), 2);
    assert_eq!(state(&place, &tree.join("link")), (FileState::Damaged, 2));
}

#[test]
fn a_file_that_changed_since_is_not_marked() {
    let (place, tree) = scanned();
    let_the_clock_tick(&tree.join("b"));
    fs::write(tree.join("b"), "Alike").expect("written");
    assert_eq!(mark(&place, &tree.join("b"), FileState::Damaged), 0);
    assert_eq!(state(&place, &tree.join("b")), (FileState::Known, 3));
}

#[test]
fn a_file_that_is_well_again_is_a_copy_again() {
    let (place, tree) = scanned();
    mark(&place, &tree.join("b"), FileState::Damaged);
    assert_eq!(mark(&place, &tree.join("b"), FileState::Known), 1);
    assert_eq!(state(&place, &tree.join("b")), (FileState::Known, 3));
    assert_eq!(place.catalog().doubts().expect("asks"), Doubts::default());
}

#[test]
fn the_digest_of_a_file_that_was_alone_is_kept() {
    let (place, tree) = scanned();
    place.run(
        "INSERT INTO content VALUES (9, 22, zeroblob(32), 1, 0);
         UPDATE file SET content = 9, head = 1 WHERE name = CAST('single' AS BLOB)",
    );
    mark(&place, &tree.join("single"), FileState::Damaged);
    assert_eq!(place.query("SELECT inodes FROM content WHERE id = 9"), ["0"]);
    let entry = place.entry(&tree.join("single")).expect("is there");
    assert_eq!(entry.digest, Some(Digest([0; 32])));
    place.scan(&[tree.path()]);
    assert_eq!(place.query("SELECT count(*) FROM content WHERE id = 9"), ["0"]);
}

#[test]
fn a_marked_file_is_read_again_by_the_next_scan_of_its_directory() {
    let (place, tree) = scanned();
    mark(&place, &tree.join("b"), FileState::Damaged);
    let (writer, mut now) = (place.writer(), walked(&[tree.path()]));
    let recall = recall(&writer, &mut now);
    let [suspect] = recall.suspects() else { panic!("{:?}", recall.suspects()) };
    assert_eq!(now.name(suspect.file), c"b");
    assert_eq!(suspect.digest, Some(Digest::of(b"alike")));
    assert_eq!(recall.facts.head(suspect.file.0), None);
    drop(writer);
    place.scan(&[tree.path()]);
    assert_eq!(state(&place, &tree.join("b")), (FileState::Known, 3));
}

#[test]
fn a_scan_elsewhere_does_not_ask_a_marked_file() {
    let (place, tree) = scanned();
    mark(&place, &tree.join("b"), FileState::Damaged);
    let other = TreeBuilder::new().file("x", "alike").make_temp();
    let scan = place.scan(&[other.path()]);
    assert!(!scan.added().contains(&bytes(&tree.join("b"))));
    assert_eq!(state(&place, &tree.join("b")), (FileState::Damaged, 3));
}

#[test]
fn a_marked_file_in_a_moved_directory_is_still_read_again() {
    let tree = TreeBuilder::new().file("d/a", "alike").file("b", "alike").make_temp();
    let place = Place::new();
    place.scan(&[tree.path()]);
    mark(&place, &tree.join("d/a"), FileState::Damaged);
    fs::rename(tree.join("d"), tree.join("moved")).expect("renamed");
    let (writer, mut now) = (place.writer(), walked(&[tree.path()]));
    let recall = recall(&writer, &mut now);
    assert_eq!(recall.suspects().len(), 1);
    assert_eq!(recall.facts.head(recall.suspects()[0].file.0), None);
}
