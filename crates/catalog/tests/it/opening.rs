//! Opening catalogs, and files that are not catalogs.

use std::fs::{self, Permissions};
use std::io::ErrorKind;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use catalog::{Catalog, Error, Rows, Writer};
use testkit::{TempTree, TreeBuilder};

use crate::sandbox::{Sandbox, refusal, refusals};

fn tree() -> TempTree {
    TreeBuilder::new().file("a", "alike").file("b", "alike").make_temp()
}

fn scanned() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.scan(&[tree().path()]);
    sandbox
}

/// Asserts that a file is rejected as damaged, that the error names the file's path, and that
/// nothing changes.
#[track_caller]
fn assert_damaged(path: &Path) {
    let dir = path.parent().expect("a directory");
    let (before, beside) = (fs::read(path).expect("readable"), names_in(dir));
    for error in refusals(path) {
        assert!(matches!(&error, Error::Damaged { path: p, .. } if p == path), "{error:?}");
        assert!(error.to_string().contains(path.to_str().expect("UTF-8")), "{error}");
        assert!(!error.is_full());
    }
    assert!(fs::read(path).expect("readable") == before, "{} was changed", path.display());
    assert_eq!(names_in(dir), beside, "no other file is left");
}

/// Returns the names in a directory, sorted.
fn names_in(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("a directory");
    let name = |entry: std::io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
    let mut names: Vec<String> =
        entries.map(|entry| name(entry).into_string().expect("UTF-8")).collect();
    names.sort();
    names
}

#[test]
fn opening_a_missing_catalog_creates_nothing() {
    let sandbox = Sandbox::new();
    let error = refusal(&sandbox.path());
    assert!(matches!(&error, Error::Missing(path) if *path == sandbox.path()), "{error:?}");
    assert!(!sandbox.path().parent().expect("a directory").exists());
}

#[test]
fn a_name_without_a_directory_is_a_valid_path() {
    let error = refusal(Path::new("no such catalog.db"));
    assert!(matches!(error, Error::Missing(_)), "{error:?}");
}

#[test]
fn a_catalog_and_its_directories_are_private() {
    let sandbox = scanned();
    let mode = |path: &Path| fs::metadata(path).expect("made").permissions().mode() & 0o777;
    assert_eq!(mode(sandbox.path().parent().expect("a directory")), 0o700);
    assert_eq!(mode(&sandbox.path()), 0o600);
}

/// All files are private, including the journals and the files of a catalog that is being built.
#[test]
fn all_files_of_a_catalog_are_always_private() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    for _ in 0..2 {
        let probe = || {
            let files = Catalog::files(&sandbox.path());
            for file in files.iter().filter(|file| file.exists()) {
                let mode = fs::metadata(file).expect("metadata").permissions().mode();
                assert_eq!(mode & 0o777, 0o600, "{}", file.display());
            }
        };
        sandbox.try_scan(&[tree.path()], &[], probe).expect("commits");
    }
}

/// Owners can share a catalog with others, and a scan must preserve that.
#[test]
fn a_catalog_keeps_the_permissions_set_by_its_owner() {
    let (sandbox, tree) = (scanned(), tree());
    fs::set_permissions(sandbox.path(), Permissions::from_mode(0o640)).expect("set");
    sandbox.scan(&[tree.path()]);
    let mode = fs::metadata(sandbox.path()).expect("metadata").permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
}

#[test]
fn a_foreign_database_with_a_log_is_refused_without_new_files() {
    let sandbox = Sandbox::new();
    sandbox.make_dir();
    sandbox.run("PRAGMA journal_mode = WAL; CREATE TABLE bookmarks (url TEXT)");
    assert_damaged(&sandbox.path());
    fs::remove_file(sandbox.path()).expect("removed");
    // At this point, the tables are only in the write-ahead log.
    let database = rusqlite::Connection::open(sandbox.path()).expect("opens");
    database.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (url TEXT)").expect("made");
    assert_damaged(&sandbox.path());
}

#[test]
fn a_directory_is_refused() {
    let dir = TempTree::new();
    for error in refusals(dir.path()) {
        let Error::File(error) = error else { panic!("{error:?}") };
        assert_eq!((error.source.kind(), &*error.path), (ErrorKind::IsADirectory, dir.path()));
    }
}

/// Opening a FIFO would block until a writer opens it too.
#[test]
fn a_fifo_is_refused() {
    let tree = TreeBuilder::new().fifo("fifo").make_temp();
    for error in refusals(&tree.join("fifo")) {
        assert!(matches!(error, Error::File(_)), "{error:?}");
    }
    assert_eq!(names_in(tree.path()), ["fifo"]);
}

#[test]
fn a_dangling_link_is_refused_before_the_scan() {
    let tree = TreeBuilder::new().dangling_symlink("catalog.db").make_temp();
    let path = tree.join("catalog.db");
    let error =
        Writer::open(&path, |_| {}).expect_err("a catalog could never be renamed to that path");
    assert!(matches!(&error, Error::File(error) if *error.path == path), "{error:?}");
    assert_eq!(names_in(tree.path()), ["catalog.db"]);
}

#[test]
fn a_file_that_is_not_a_database_is_refused_and_kept() {
    let long = "My notes, which are not a catalog. ".repeat(1000);
    for notes in ["M", "My", "My notes.", &long] {
        let tree = TreeBuilder::new().file("notes", notes).make_temp();
        assert_damaged(&tree.join("notes"));
    }
}

#[test]
fn a_foreign_database_is_refused_and_kept() {
    let sandbox = Sandbox::new();
    sandbox.make_dir();
    for sql in [
        "CREATE TABLE bookmarks (url TEXT)",
        "PRAGMA user_version = 1",
        "PRAGMA application_id = 42",
    ] {
        sandbox.run(sql);
        assert_damaged(&sandbox.path());
    }
}

#[test]
fn an_empty_file_is_not_a_catalog() {
    let tree = TreeBuilder::new().file("empty", "").make_temp();
    let error = refusal(&tree.join("empty"));
    assert!(matches!(error, Error::Damaged { .. }), "{error:?}");
    assert_eq!(fs::metadata(tree.join("empty")).expect("metadata").len(), 0);
}

#[test]
fn an_empty_file_becomes_a_catalog() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    sandbox.make_dir();
    fs::write(sandbox.path(), "").expect("written");
    sandbox.scan(&[tree.path()]);
    assert_eq!(sandbox.scan(&[tree.path()]).known(), ["a", "b"]);
}

/// The size of the pages of a new catalog.
const PAGE: usize = 8 * 1024;

#[test]
fn a_truncated_catalog_is_refused() {
    let sandbox = scanned();
    let whole = fs::read(sandbox.path()).expect("readable");
    assert!(whole.len() > 3 * PAGE && whole.len().is_multiple_of(PAGE), "{}", whole.len());
    for length in [2, 100, 4096, PAGE, PAGE + 1, whole.len() / 2, whole.len() - PAGE] {
        fs::write(sandbox.path(), &whole[..length]).expect("written");
        assert_damaged(&sandbox.path());
    }
}

#[test]
fn damage_after_the_first_page_is_found_when_it_is_read() {
    let sandbox = scanned();
    let mut bytes = fs::read(sandbox.path()).expect("readable");
    bytes[PAGE..].fill(0xa5);
    fs::write(sandbox.path(), bytes).expect("written");
    let error = sandbox.catalog().load(Rows::All).expect_err("damaged");
    assert!(matches!(error, Error::Damaged { source: Some(_), .. }), "{error:?}");
}

#[test]
fn a_newer_format_is_reported_with_both_numbers() {
    let sandbox = scanned();
    sandbox.run("PRAGMA user_version = 77");
    let before = fs::read(sandbox.path()).expect("readable");
    for error in refusals(&sandbox.path()) {
        assert!(matches!(error, Error::TooNew { found: 77, known: 4, .. }), "{error:?}");
        let said = "has format 77; this lop knows formats up to 4";
        assert!(error.to_string().ends_with(said), "{error}");
    }
    assert!(fs::read(sandbox.path()).expect("readable") == before);
}

#[test]
fn an_older_format_is_reported_and_migrated_by_a_scan() {
    let sandbox = Sandbox::new();
    sandbox.make_dir();
    sandbox.run(include_str!("../data/v1.sql"));
    let error = refusal(&sandbox.path());
    assert!(matches!(error, Error::TooOld { found: 1, known: 4, .. }), "{error:?}");
    sandbox.scan(&[tree().path()]);
    assert_eq!(sandbox.query("PRAGMA user_version"), ["4"]);
    assert_eq!(sandbox.catalog().load(Rows::All).expect("loads").tree.files().len(), 6);
}

#[test]
fn journals_of_a_removed_catalog_are_deleted() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    sandbox.make_dir();
    let left = [".new", "-wal", "-shm", "-journal"];
    for suffix in left {
        fs::write(sandbox.beside(suffix), "left behind").expect("written");
    }
    sandbox.scan(&[tree.path()]);
    assert_eq!(left.map(|suffix| sandbox.beside(suffix).exists()), [false; 4]);
    assert_eq!(sandbox.query("PRAGMA integrity_check"), ["ok"]);
}

/// There is no write-ahead log, because its index is shared memory backed by a disk that may be
/// full.
#[test]
fn a_catalog_is_a_single_file_between_commits() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    let beside = || names_in(sandbox.path().parent().expect("a directory"));
    for _ in 0..2 {
        sandbox.scan(&[tree.path()]);
        assert_eq!(sandbox.query("PRAGMA journal_mode"), ["delete"]);
        sandbox.catalog().load(Rows::All).expect("loads");
        assert_eq!(beside(), ["lop.db"]);
    }
}

#[test]
fn the_next_commit_removes_a_write_ahead_log() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    sandbox.scan(&[tree.path()]);
    sandbox.run("PRAGMA journal_mode = WAL");
    sandbox.scan(&[tree.path()]);
    assert_eq!(sandbox.query("PRAGMA journal_mode"), ["delete"]);
    assert_eq!(names_in(sandbox.path().parent().expect("a directory")), ["lop.db"]);
}
