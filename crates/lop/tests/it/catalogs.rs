//! Catalogs that are damaged, foreign, too new, read-only, incomplete, or at an unsuitable path.

use std::ffi::OsString;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use rusqlite::Connection;
use testkit::{NOBODY, Output, TreeBuilder, assert_groups, groups_of, is_root, skipped};

use crate::lop::{Lop, assert_whole, settle};

const QUESTIONS: [&[&str]; 6] =
    [&["report"], &["file", "a"], &["ls"], &["dups"], &["uniques"], &["validate"]];

fn tree() -> TreeBuilder {
    TreeBuilder::new().file("a", "alike").file("b", "alike").file("c", "single")
}

fn scanned() -> Lop {
    let lop = Lop::with(&tree());
    lop.remember(["."]);
    lop
}

/// Asserts exit code 5, the path of the catalog in the message, and a hint.
#[track_caller]
fn assert_refused(output: &Output, path: &Path, reason: &str) {
    output.code(5);
    let said = output.stderr_str();
    let named = said.starts_with("lop: ") && said.contains(path.to_str().expect("UTF-8"));
    assert!(named && said.contains(reason) && said.contains("\nhint: "), "{said}");
    assert_eq!(output.stdout_str(), "");
}

/// Asserts that every command refuses the catalog for the given reason and does not change it.
#[track_caller]
fn assert_all_refuse(lop: &Lop, path: &Path, reason: &str) {
    let bytes = || path.is_file().then(|| fs::read(path).expect("readable"));
    let (before, beside) = (bytes(), names_beside(path));
    for command in QUESTIONS.iter().chain(&[&["scan", "."][..], &["refresh"]]) {
        let output = lop.command().args(*command).arg("--catalog").arg(path).run();
        assert_refused(&output, path, reason);
    }
    assert!(bytes() == before, "{} was changed", path.display());
    assert_eq!(names_beside(path), beside, "nothing was made beside {}", path.display());
}

/// Returns the names in the directory of a file, sorted.
fn names_beside(path: &Path) -> Vec<OsString> {
    let entries = fs::read_dir(path.parent().expect("a directory")).expect("a directory");
    let mut names: Vec<_> = entries.map(|entry| entry.expect("an entry").file_name()).collect();
    names.sort();
    names
}

#[test]
fn a_file_that_is_not_a_database_is_refused_and_not_touched() {
    let lop = Lop::with(
        &tree().file("notes.txt", "My notes, which are not a catalog.".repeat(99).as_str()),
    );
    assert_all_refuse(&lop, &lop.path("notes.txt"), "is not a lop catalog, or is damaged");
}

#[test]
fn a_database_of_somebody_else_is_refused_and_not_touched() {
    let lop = Lop::with(&tree());
    let path = lop.path("browser.db");
    let foreign = Connection::open(&path).expect("a database");
    foreign
        .execute_batch("CREATE TABLE file (a, b); INSERT INTO file VALUES (1, 2)")
        .expect("made");
    drop(foreign);
    assert_all_refuse(&lop, &path, "is not a lop catalog, or is damaged");
    let foreign = Connection::open(&path).expect("a database");
    foreign.execute_batch("DROP TABLE file; PRAGMA application_id = 7").expect("changed");
    drop(foreign);
    assert_all_refuse(&lop, &path, "is not a lop catalog, or is damaged");
    let foreign = Connection::open(&path).expect("a database");
    foreign.execute_batch("PRAGMA journal_mode = WAL; PRAGMA application_id = 8").expect("changed");
    drop(foreign);
    assert_all_refuse(&lop, &path, "is not a lop catalog, or is damaged");
}

/// lop must not create a lock file beside a file that was named by mistake, because other programs may respect that
/// lock. If a file /etc/passwd.lock exists, for example, nobody can add users.
#[test]
fn a_catalog_named_by_mistake_costs_nothing() {
    let lop =
        Lop::with(&tree().file("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n".repeat(9).as_str()));
    assert_all_refuse(&lop, &lop.path("etc/passwd"), "is not a lop catalog, or is damaged");
    assert_eq!(names_beside(&lop.path("etc/passwd")), ["passwd"]);
}

#[test]
fn a_catalog_at_rest_is_one_private_file() {
    let lop = scanned();
    for command in QUESTIONS.iter().chain(&[&["scan", "."][..], &["refresh"]]) {
        lop.run(*command).code(if command[0] == "uniques" { 6 } else { 0 });
        assert_eq!(names_beside(&lop.catalog()), ["catalog.db"], "{command:?}");
    }
    assert_eq!(fs::metadata(lop.catalog()).expect("metadata").mode() & 0o777, 0o600);
}

#[test]
fn a_catalog_of_a_newer_version_is_refused_and_not_touched() {
    let lop = scanned();
    lop.database().execute_batch("PRAGMA user_version = 1000").expect("set");
    let before = fs::read(lop.catalog()).expect("readable");
    for command in QUESTIONS.iter().chain(&[&["scan", "."][..], &["refresh"]]) {
        let output = lop.run(*command);
        assert_refused(&output, &lop.catalog(), "has format 1000; this lop knows formats up to");
        assert!(output.stderr_str().contains("newer lop"), "{}", output.stderr_str());
    }
    assert!(fs::read(lop.catalog()).expect("readable") == before);
}

#[test]
fn a_directory_or_fifo_in_its_place_is_refused_at_once() {
    let lop = Lop::with(&tree().dir("dir").fifo("fifo"));
    assert_all_refuse(&lop, &lop.path("dir"), "s a directory");
    assert_all_refuse(&lop, &lop.path("fifo"), "not a regular file");
    assert_all_refuse(&lop, Path::new("/dev/null"), "not a regular file");
}

#[test]
fn a_parent_that_is_not_a_directory_is_refused() {
    let lop = Lop::with(&tree());
    let path = lop.path("a/catalog.db");
    let output = lop.command().args(["scan", "."]).arg("--catalog").arg(&path).run();
    output.code(5);
    assert!(output.stderr_str().contains("\nhint: "), "{}", output.stderr_str());
}

#[test]
fn an_empty_file_becomes_a_catalog() {
    let lop = Lop::with(&tree().file("empty.db", ""));
    lop.remember(["--catalog", "empty.db", "."]);
    let output = lop.run(["report", "--catalog", "empty.db", "--format", "fdupes"]);
    output.success();
    assert_eq!(output.stdout_str().lines().count(), 2);
    assert_whole(&lop.path("empty.db"));
}

#[test]
fn its_directories_are_made_for_the_owner_alone() {
    let lop = Lop::with(&tree());
    lop.remember(["--catalog", "deep/down/my.db", "."]);
    for dir in ["deep", "deep/down"] {
        let mode = fs::metadata(lop.path(dir)).expect("made").mode();
        assert_eq!(mode & 0o777, 0o700, "{dir}");
    }
    lop.run(["report", "--catalog", "deep/down/my.db"]).success();
}

#[test]
fn a_catalog_among_the_scanned_files_is_skipped() {
    let lop = Lop::with(&tree());
    for _ in 0..2 {
        let output = lop.run(["scan", "--catalog", "lop.db", "--json", "."]);
        output.success();
        assert_eq!(crate::lop::document(&output)["summary"]["files"], 3);
    }
}

#[test]
fn files_with_names_like_the_catalog_are_not_skipped() {
    let lop = Lop::with(
        &TreeBuilder::new().file("cat", "alike").file("cow", "alike").file("c.old", "alike"),
    );
    let output = lop.run(["scan", "--catalog", "c", "--format", "fdupes", "."]);
    output.success();
    assert_eq!(output.stdout_str(), "./c.old\n./cat\n./cow\n");
}

#[test]
fn a_name_that_sqlite_might_take_for_an_address_is_a_name() {
    let lop = Lop::with(&tree());
    for name in ["file:odd?mode=memory#x%20y.db", "sp ace's \"db\"", ":memory:", "100%41.db"] {
        lop.remember(["--catalog", name, "a", "b"]);
        assert!(lop.path(name).exists(), "{name}");
        let output = lop.run(["report", "--catalog", name, "--format", "fdupes"]);
        assert_eq!(output.stdout_str().lines().count(), 2, "{name}");
    }
}

#[test]
fn a_catalog_behind_a_link_is_used_where_it_is() {
    let lop = Lop::with(&tree().dir("real").symlink("link.db", "real/lop.db"));
    lop.remember(["--catalog", "real/lop.db", "a", "b"]);
    lop.remember(["--catalog", "link.db", "c"]);
    assert!(fs::symlink_metadata(lop.path("link.db")).expect("there").is_symlink());
    assert_whole(&lop.path("real/lop.db"));
    let output = lop.run(["refresh", "--json", "--catalog", "real/lop.db"]);
    assert_eq!(crate::lop::document(&output)["summary"]["files"], 3);
}

#[test]
fn journals_of_a_removed_catalog_do_not_spoil_the_next() {
    let lop = scanned();
    // Creates a catalog with an unfinished transaction in its journal, as if a process had been killed.
    let keep = lop.home().join("journal");
    let database = lop.database();
    let change = "PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN; DELETE FROM file;
                  DELETE FROM content; CREATE TABLE t (n); INSERT INTO t VALUES (zeroblob(1 << 20))";
    database.execute_batch(change).expect("changed");
    fs::copy(lop.state().join("lop/catalog.db-journal"), &keep).expect("copied");
    drop(database);
    fs::remove_file(lop.catalog()).expect("removed");
    fs::copy(&keep, lop.state().join("lop/catalog.db-journal")).expect("put back");
    lop.remember(["."]);
    assert_groups(&groups_of([["a", "b"]]), &lop.report());
    lop.assert_whole_catalog();
}

#[test]
fn leftovers_of_a_killed_first_scan_are_removed() {
    let lop = Lop::with(&tree());
    let aside = lop.state().join("lop/catalog.db.new");
    fs::create_dir(lop.state().join("lop")).expect("made");
    fs::write(&aside, "half a catalog").expect("written");
    let lock = lop.state().join("lop/catalog.db.lop-lock");
    fs::write(&lock, "999999999\n").expect("written");
    lop.remember(["."]);
    assert!(!aside.exists() && !lock.exists());
    assert_groups(&groups_of([["a", "b"]]), &lop.report());
}

#[test]
fn a_read_only_catalog_answers_and_refuses_to_be_changed() {
    if !is_root() {
        return skipped("only root can run the rest as a user without permissions");
    }
    let lop = scanned();
    let dir = lop.home().join("shared");
    fs::create_dir(&dir).expect("made");
    let path = dir.join("lop.db");
    fs::copy(lop.catalog(), &path).expect("copied");
    fs::set_permissions(&path, Permissions::from_mode(0o444)).expect("set");
    let as_nobody = |args: &[&str]| {
        lop.command().args(args).arg("--catalog").arg(&path).as_user(NOBODY, NOBODY).run()
    };
    for command in QUESTIONS {
        let output = as_nobody(command);
        output.code(if command[0] == "uniques" { 6 } else { 0 });
        assert!(!output.stderr_str().contains("cannot"), "{}", output.stderr_str());
    }
    for command in [&["scan", "."][..], &["refresh"]] {
        assert_refused(&as_nobody(command), &path, "ermission denied");
    }
    // The directory is writable, but the file is still not writable.
    fs::set_permissions(&dir, Permissions::from_mode(0o777)).expect("set");
    for command in [&["scan", "."][..], &["refresh"]] {
        assert_refused(&as_nobody(command), &path, "ermission denied");
    }
    as_nobody(&["report"]).success();
    fs::set_permissions(&path, Permissions::from_mode(0o000)).expect("set");
    assert_refused(&as_nobody(&["report"]), &path, "");
}

#[test]
fn an_interrupted_commit_is_reverted_by_a_user_who_may_write() {
    if !is_root() {
        return skipped("only root can run the rest as a user without permissions");
    }
    let lop = scanned();
    let dir = lop.home().join("shared");
    fs::create_dir(&dir).expect("made");
    let path = dir.join("lop.db");
    let change = "PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN; UPDATE file SET size = 1;
                  CREATE TABLE t (n); INSERT INTO t VALUES (zeroblob(1 << 20))";
    let database = lop.database();
    database.execute_batch(change).expect("changed");
    for suffix in ["", "-journal"] {
        let (from, to) =
            (lop.state().join(format!("lop/catalog.db{suffix}")), format!("lop.db{suffix}"));
        fs::copy(from, dir.join(&to)).expect("copied");
        fs::set_permissions(dir.join(&to), Permissions::from_mode(0o444)).expect("set");
    }
    drop(database);
    let report = || lop.command().args(["report", "--catalog"]).arg(&path);
    assert_refused(
        &report().as_user(NOBODY, NOBODY).run(),
        &path,
        "a change to it was interrupted",
    );
    report().run().success();
    report().as_user(NOBODY, NOBODY).run().success();
    assert_eq!(names_beside(&path), ["lop.db"]);
}

#[test]
fn a_catalog_on_a_read_only_file_system_answers() {
    use testkit::{FileSystem, Mount};
    let mount = match Mount::new(FileSystem::Ext4, 16 << 20) {
        Ok(mount) => mount,
        Err(reason) => return skipped(reason),
    };
    let lop = scanned();
    let path = mount.path().join("lop?%41#.db");
    fs::copy(lop.catalog(), &path).expect("copied");
    mount.remount("ro").expect("read-only");
    for command in QUESTIONS {
        let output = lop.command().args(command).arg("--catalog").arg(&path).run();
        output.code(if command[0] == "uniques" { 6 } else { 0 });
    }
    let output = lop.command().args(["scan", "."]).arg("--catalog").arg(&path).run();
    assert_refused(&output, mount.path(), "Read-only file system");
}

#[test]
fn a_damaged_catalog_can_be_moved_away() {
    let lop = scanned();
    let mut bytes = fs::read(lop.catalog()).expect("readable");
    let half = bytes.len() / 2;
    bytes[100..half].fill(0xa5);
    fs::write(lop.catalog(), &bytes).expect("written");
    for command in [&["report"][..], &["scan", "."]] {
        assert_refused(&lop.run(command), &lop.catalog(), "damaged");
    }
    fs::rename(lop.catalog(), lop.home().join("moved away")).expect("moved");
    settle();
    lop.remember(["."]);
    assert_groups(&groups_of([["a", "b"]]), &lop.report());
}

/// A user who can write to a catalog must not be able to make lop change files outside the named
/// directories.
#[test]
fn names_that_lead_out_of_their_directory_are_refused() {
    for name in ["../b", "d/b", "..", ".", "", "b\0"] {
        for table in ["file", "dir"] {
            let lop = scanned();
            lop.lay(&TreeBuilder::new().file("d/x", "alike"));
            lop.remember(["."]);
            let last =
                if table == "dir" { "id = (SELECT max(id) FROM dir)" } else { "name = x'62'" };
            let sql = format!("UPDATE {table} SET name = ?1 WHERE {last}");
            let changed = lop.database().execute(&sql, [name.as_bytes()]).expect("changed");
            assert_eq!(changed, 1, "{table}");
            for command in [&["report"][..], &["dedupe", "--by", "delete", "--apply", "."]] {
                let output = lop.run(command);
                output.code(5);
                assert!(output.stderr_str().contains("damaged"), "{}", output.stderr_str());
            }
            assert!(lop.path("a").is_file() && lop.path("b").is_file());
        }
    }
}
