//! Commits that fail, panic or are killed: the old catalog stays whole.

use std::ffi::OsStr;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::SystemTime;

use catalog::{Catalog, Error};
use testkit::{TempTree, TreeBuilder};

use crate::disk::walked;
use crate::engine::heads;
use crate::imagined::{Dir, NOWHERE, file, imagined};
use crate::place::{Place, probing, recall, record, refusal};

fn tree() -> TempTree {
    TreeBuilder::new().file("a", "alike").file("d/b", "alike").make_temp()
}

/// Returns a catalog, what is in it, and a tree that has changed since in every way.
fn scanned() -> (Place, TempTree, Vec<String>) {
    let (place, tree) = (Place::new(), tree());
    place.scan(&[tree.path()]);
    fs::remove_dir_all(tree.join("d")).expect("removed");
    fs::write(tree.join("a"), "changed").expect("written");
    fs::write(tree.join("c"), "changed").expect("written");
    let before = place.rows();
    (place, tree, before)
}

/// Returns a place with the files of another as they are now, as after the death of a process.
fn as_after_a_kill(place: &Place) -> Place {
    let copy = Place::new();
    copy.make_dir();
    for file in Catalog::files(&place.path()).iter().filter(|file| file.exists()) {
        let name = file.file_name().and_then(OsStr::to_str).expect("UTF-8");
        let suffix = name.strip_prefix("lop.db").expect("the catalog's name");
        fs::copy(file, copy.beside(suffix)).expect("copied");
    }
    copy
}

#[track_caller]
fn assert_whole(place: &Place, rows: &[String]) {
    assert_eq!(place.query("PRAGMA integrity_check"), ["ok"]);
    assert_eq!(place.rows(), rows);
}

#[test]
fn a_catalog_has_its_name_only_once_it_is_committed() {
    let (place, tree) = (Place::new(), tree());
    let probe = || assert!(!place.path().exists() && place.beside(".new").exists());
    place.try_scan(&[tree.path()], &[], probe).expect("commits");
    assert!(place.path().exists() && !place.beside(".new").exists());
}

#[test]
fn a_new_catalog_that_is_never_committed_leaves_nothing() {
    let place = Place::new();
    drop(place.writer());
    assert!(!place.path().exists() && !place.beside(".new").exists());
}

#[test]
fn a_commit_that_fails_leaves_the_old_catalog() {
    let (place, tree, _) = scanned();
    place.run(
        "CREATE TRIGGER no AFTER INSERT ON scan BEGIN SELECT RAISE(FAIL, 'no more scans'); END",
    );
    let before = place.rows();
    let error = place.try_scan(&[tree.path()], &[], || ()).expect_err("fails");
    assert!(matches!(&error, Error::Database { path, .. } if *path == place.path()), "{error:?}");
    assert_whole(&place, &before);
    place.run("DROP TRIGGER no");
    place.scan(&[tree.path()]);
    assert_ne!(place.rows(), before, "the lock is free and the catalog can be written");
}

#[test]
fn a_commit_that_panics_leaves_the_old_catalog() {
    let (place, tree, before) = scanned();
    let scan = || place.try_scan(&[tree.path()], &[], || panic!("in the middle"));
    catch_unwind(AssertUnwindSafe(scan)).expect_err("panics");
    assert_whole(&place, &before);
}

#[test]
fn a_first_commit_that_panics_leaves_nothing() {
    let (place, tree) = (Place::new(), tree());
    let scan = || place.try_scan(&[tree.path()], &[], || panic!("in the middle"));
    catch_unwind(AssertUnwindSafe(scan)).expect_err("panics");
    assert!(!place.path().exists() && !place.beside(".new").exists());
}

/// So many rows are written that they do not fit in memory, and are in the log when the process
/// is killed.
#[test]
fn a_process_killed_in_the_middle_of_a_commit_leaves_the_old_catalog() {
    let (place, _tree, before) = scanned();
    let names: Vec<String> = (0..60_000).map(|n| format!("{n:0200}")).collect();
    let files = (1..).zip(&names).map(|(inode, name)| (name.as_str(), file(inode))).collect();
    let mut many = imagined(&[Dir { name: "d", device: NOWHERE, files }]);
    let writer = place.writer();
    let recall = recall(&writer, &mut many);
    heads(&many, &recall.facts);
    let mut killed = None;
    let copies = probing(|| killed = Some(as_after_a_kill(&place)), Vec::new());
    writer.commit(&many, recall, copies, &[], &record(SystemTime::now())).expect("commits");
    let killed = killed.expect("copies are asked for");
    let logged = fs::metadata(killed.beside("-wal")).expect("a log").len();
    assert!(logged > 1 << 20, "only {logged} bytes were written by then");
    assert_whole(&killed, &before);
    assert_eq!(place.query("SELECT count(*) > 60000 FROM file"), ["1"]);
}

#[test]
fn a_process_killed_while_it_makes_a_catalog_is_cleared_up_after() {
    let (place, tree) = (Place::new(), tree());
    let mut killed = None;
    let probe = || killed = Some(as_after_a_kill(&place));
    place.try_scan(&[tree.path()], &[], probe).expect("commits");
    let killed = killed.expect("copies are asked for");
    assert!(killed.beside(".new").exists());
    assert!(matches!(refusal(&killed.path()), Error::Missing(_)));
    killed.scan(&[tree.path()]);
    assert!(!killed.beside(".new").exists());
    assert_eq!(killed.scan(&[tree.path()]).known(), ["a", "b"]);
}

#[test]
fn what_took_the_name_of_a_new_catalog_meanwhile_is_not_written_over() {
    let (place, tree) = (Place::new(), tree());
    let (writer, tree) = (place.writer(), walked(&[tree.path()]));
    fs::write(place.path(), "mine").expect("written");
    let recall = catalog::Recall::nothing(&tree);
    let record = record(SystemTime::now());
    let error = writer.commit(&tree, recall, std::iter::empty(), &[], &record);
    let error = error.expect_err("the name is taken");
    let Error::File(error) = error else { panic!("{error:?}") };
    assert_eq!(error.source.kind(), std::io::ErrorKind::AlreadyExists);
    assert_eq!(fs::read(place.path()).expect("readable"), b"mine");
    assert!(!place.beside(".new").exists());
}
