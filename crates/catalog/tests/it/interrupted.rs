//! A commit that fails, panics or is killed leaves the old catalog complete.

use std::ffi::OsStr;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::SystemTime;

use catalog::{Catalog, Error};
use testkit::{TempTree, TreeBuilder};

use crate::disk::{pairs, walked};
use crate::engine::compare;
use crate::sandbox::{Sandbox, later, record, refusal, save};

fn tree() -> TempTree {
    TreeBuilder::new().file("a", "alike").file("d/b", "alike").make_temp()
}

/// Returns a catalog, its rows, and its tree, which has since changed in several ways.
fn scanned() -> (Sandbox, TempTree, Vec<String>) {
    let (sandbox, tree) = (Sandbox::new(), tree());
    sandbox.scan(&[tree.path()]);
    fs::remove_dir_all(tree.join("d")).expect("removed");
    fs::write(tree.join("a"), "changed").expect("written");
    fs::write(tree.join("c"), "changed").expect("written");
    let before = sandbox.rows();
    (sandbox, tree, before)
}

/// Returns a sandbox with copies of another sandbox's current files, as if the process had been
/// killed.
fn as_after_a_kill(sandbox: &Sandbox) -> Sandbox {
    let copy = Sandbox::new();
    copy.make_dir();
    for file in Catalog::files(&sandbox.path()).iter().filter(|file| file.exists()) {
        let name = file.file_name().and_then(OsStr::to_str).expect("UTF-8");
        let suffix = name.strip_prefix("lop.db").expect("the catalog's name");
        fs::copy(file, copy.beside(suffix)).expect("copied");
    }
    copy
}

#[track_caller]
fn assert_whole(sandbox: &Sandbox, rows: &[String]) {
    assert_eq!(sandbox.query("PRAGMA integrity_check"), ["ok"]);
    assert_eq!(sandbox.rows(), rows);
}

#[test]
fn a_new_catalog_gets_its_name_when_it_is_committed() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    let probe = || assert!(!sandbox.path().exists() && sandbox.beside(".new").exists());
    sandbox.try_scan(&[tree.path()], &[], probe).expect("commits");
    assert!(sandbox.path().exists() && !sandbox.beside(".new").exists());
}

#[test]
fn a_new_catalog_that_is_never_committed_leaves_nothing() {
    let sandbox = Sandbox::new();
    drop(sandbox.writer());
    assert!(!sandbox.path().exists() && !sandbox.beside(".new").exists());
}

/// A scan of changes that is killed after a save leaves such a content.
#[test]
fn the_next_scan_deletes_a_content_without_files() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    sandbox.scan(&[tree.path()]);
    sandbox.run("INSERT INTO content (size, inodes, reclaimable) VALUES (5, 0, 0)");
    let contents = || sandbox.query("SELECT CAST(count(*) AS TEXT) FROM content");
    assert_eq!(contents(), ["2"]);
    sandbox.scan(&[tree.path()]);
    assert_eq!(contents(), ["1"]);
}

#[test]
fn a_commit_that_fails_leaves_the_old_catalog() {
    let (sandbox, tree, _) = scanned();
    sandbox.run(
        "CREATE TRIGGER no AFTER INSERT ON scan BEGIN SELECT RAISE(FAIL, 'no more scans'); END",
    );
    let before = sandbox.rows();
    let error = sandbox.try_scan(&[tree.path()], &[], || ()).expect_err("fails");
    assert!(matches!(&error, Error::Database { path, .. } if *path == sandbox.path()), "{error:?}");
    assert_whole(&sandbox, &before);
    sandbox.run("DROP TRIGGER no");
    sandbox.scan(&[tree.path()]);
    assert_ne!(sandbox.rows(), before, "the lock is free and the catalog can be written");
}

#[test]
fn a_commit_that_panics_leaves_the_old_catalog() {
    let (sandbox, tree, before) = scanned();
    let scan = || sandbox.try_scan(&[tree.path()], &[], || panic!("in the middle"));
    catch_unwind(AssertUnwindSafe(scan)).expect_err("panics");
    assert_whole(&sandbox, &before);
}

#[test]
fn a_first_commit_that_panics_leaves_nothing() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    let scan = || sandbox.try_scan(&[tree.path()], &[], || panic!("in the middle"));
    catch_unwind(AssertUnwindSafe(scan)).expect_err("panics");
    assert!(!sandbox.path().exists() && !sandbox.beside(".new").exists());
}

#[test]
fn a_process_killed_before_its_commit_leaves_the_old_catalog() {
    let (sandbox, tree, before) = scanned();
    let mut killed = None;
    let probe = || killed = Some(as_after_a_kill(&sandbox));
    sandbox.try_scan(&[tree.path()], &[], probe).expect("commits");
    let killed = killed.expect("the commit iterates over the copies");
    assert!(killed.beside("-journal").exists(), "the commit has changed pages");
    assert!(killed.entry(&tree.join("d/b")).is_some());
    assert_whole(&killed, &before);
    assert_ne!(sandbox.rows(), before);
}

/// The database has pages of the new state, and the journal has the old versions of these pages.
#[test]
fn a_process_killed_during_a_commit_leaves_the_old_catalog() {
    let (sandbox, _tree, before) = scanned();
    let database = rusqlite::Connection::open(sandbox.path()).expect("opens");
    let change = "PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN IMMEDIATE;
                  UPDATE file SET size = size + 1; UPDATE content SET size = size + 1;
                  CREATE TABLE more (n); INSERT INTO more SELECT zeroblob(1 << 20)";
    database.execute_batch(change).expect("changed");
    let killed = as_after_a_kill(&sandbox);
    drop(database);
    let (old, new) = (fs::read(sandbox.path()), fs::read(killed.path()));
    assert!(old.expect("readable") != new.expect("readable"), "some pages were already written");
    let loaded = killed.catalog().load(catalog::Rows::All).expect("loads");
    assert_eq!(loaded.tree.files().len(), 2);
    assert_whole(&killed, &before);
}

#[test]
fn files_of_a_process_killed_before_its_first_commit_are_cleaned_up() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    let mut killed = None;
    let probe = || killed = Some(as_after_a_kill(&sandbox));
    sandbox.try_scan(&[tree.path()], &[], probe).expect("commits");
    let killed = killed.expect("the commit iterates over the copies");
    assert!(killed.beside(".new").exists());
    assert!(matches!(refusal(&killed.path()), Error::Missing(_)));
    killed.scan(&[tree.path()]);
    assert!(!killed.beside(".new").exists());
    assert_eq!(killed.scan(&[tree.path()]).known(), ["a", "b"]);
}

/// The content of a moved file stays known while the file is read again.
#[test]
fn a_save_keeps_the_contents_of_files_that_are_read_again() {
    let (sandbox, tree) = (Sandbox::new(), pairs());
    sandbox.scan(&[tree.path()]);
    fs::rename(tree.join("d/sub"), tree.join("sub")).expect("renamed");
    let (mut writer, mut tree) = (sandbox.writer(), walked(&[tree.path()]));
    let mut matched = writer.catalog().match_tree_for_reread(&mut tree).expect("matches");
    let record = record(later());
    save(&mut writer, &tree, &mut matched, &record);
    let copies = compare(&tree, &matched.fingerprints);
    writer.commit(&tree, matched, copies.into_iter(), &[], &record, &[]).expect("commits");
    let content = "SELECT content.size FROM content JOIN file ON content.id = file.content \
                   WHERE file.name = CAST('c' AS BLOB)";
    assert_eq!(sandbox.query(content), ["5"]);
}

#[test]
fn an_existing_file_is_not_overwritten_by_a_new_catalog() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    let (writer, tree) = (sandbox.writer(), walked(&[tree.path()]));
    fs::write(sandbox.path(), "mine").expect("written");
    let match_tree = catalog::TreeMatch::empty(&tree);
    let record = record(SystemTime::now());
    let error = writer.commit(&tree, match_tree, std::iter::empty(), &[], &record, &[]);
    let error = error.expect_err("the name is taken");
    let Error::File(error) = error else { panic!("{error:?}") };
    assert_eq!(error.source.kind(), std::io::ErrorKind::AlreadyExists);
    assert_eq!(fs::read(sandbox.path()).expect("readable"), b"mine");
    assert!(!sandbox.beside(".new").exists());
}
