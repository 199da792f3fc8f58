//! A commit writes only the rows that differ.

use std::fs;
use std::time::SystemTime;

use catalog::{CopyCount, Entry, FileState};
use testkit::TempTree;

use crate::disk::{ids, let_the_clock_tick, pairs, stat, walked};
use crate::engine::{compare, heads};
use crate::sandbox::{Sandbox, later, match_tree, record};
use crate::synthetic::{Dir, NOWHERE, file, synthetic_tree};

/// Makes the database record every row that is written or deleted.
const NOTE: &str = "
    CREATE TABLE noted (what TEXT);
    CREATE TRIGGER t1 AFTER INSERT ON file BEGIN
        INSERT INTO noted VALUES ('+file ' || CAST(NEW.name AS TEXT)); END;
    CREATE TRIGGER t2 AFTER UPDATE ON file BEGIN
        INSERT INTO noted VALUES ('=file ' || CAST(NEW.name AS TEXT)); END;
    CREATE TRIGGER t3 AFTER DELETE ON file BEGIN
        INSERT INTO noted VALUES ('-file ' || CAST(OLD.name AS TEXT)); END;
    CREATE TRIGGER t4 AFTER INSERT ON dir BEGIN
        INSERT INTO noted VALUES ('+dir ' || CAST(NEW.name AS TEXT)); END;
    CREATE TRIGGER t5 AFTER UPDATE ON dir BEGIN
        INSERT INTO noted VALUES ('=dir ' || CAST(NEW.name AS TEXT)); END;
    CREATE TRIGGER t6 AFTER DELETE ON dir BEGIN
        INSERT INTO noted VALUES ('-dir ' || CAST(OLD.name AS TEXT)); END;
    CREATE TRIGGER t7 AFTER INSERT ON content BEGIN
        INSERT INTO noted VALUES ('+content ' || NEW.id || ': ' || NEW.inodes || ' of ' || NEW.size); END;
    CREATE TRIGGER t8 AFTER UPDATE ON content BEGIN
        INSERT INTO noted VALUES ('=content ' || NEW.id || ': ' || NEW.inodes); END;
    CREATE TRIGGER t9 AFTER DELETE ON content BEGIN
        INSERT INTO noted VALUES ('-content ' || OLD.id); END;
    CREATE TRIGGER t0 AFTER INSERT ON volume BEGIN
        INSERT INTO noted VALUES ('+volume ' || NEW.id); END;";

/// Returns the rows that a scan of [`pairs`] writes after a change.
fn written_after(change: impl FnOnce(&TempTree)) -> Vec<String> {
    let (sandbox, tree) = (Sandbox::new(), pairs());
    sandbox.scan(&[tree.path()]);
    sandbox.run(NOTE);
    change(&tree);
    sandbox.scan(&[tree.path()]);
    noted(&sandbox)
}

fn noted(sandbox: &Sandbox) -> Vec<String> {
    sandbox.query("SELECT what FROM noted ORDER BY what")
}

#[test]
fn an_unchanged_tree_writes_no_row() {
    assert_eq!(written_after(|_| ()), [""; 0]);
}

#[test]
fn a_new_file_writes_only_its_row() {
    let written = written_after(|tree| fs::write(tree.join("d/new"), "new").expect("written"));
    assert_eq!(written, ["+file new"]);
}

#[test]
fn a_changed_file_writes_only_its_row() {
    let written = written_after(|tree| {
        fs::write(tree.join("single"), "alone with another size").expect("written");
    });
    assert_eq!(written, ["+file single"]);
}

#[test]
fn a_file_with_other_disk_space_writes_only_its_row() {
    let (sandbox, tree) = (Sandbox::new(), pairs());
    sandbox.scan(&[tree.path()]);
    sandbox.run("UPDATE content SET reclaimable = 77");
    let before = sandbox.rows();
    sandbox.run("UPDATE file SET allocated = 1536 WHERE name = CAST('a' AS BLOB)");
    sandbox.run(NOTE);
    let scan = sandbox.learn(walked(&[tree.path()]), later(), |_, _| Vec::new());
    assert_eq!(scan.known(), ["a", "b", "c"], "is not read again");
    assert_eq!(noted(&sandbox), ["+file a"]);
    sandbox.run("DROP TABLE noted");
    let is_scan = |row: &String| row.starts_with("scan ") || row.starts_with("root ");
    let without_scans = |rows: Vec<String>| rows.into_iter().filter(|row| !is_scan(row)).collect();
    let after: Vec<String> = without_scans(sandbox.rows());
    assert_eq!(after, without_scans(before));
}

#[test]
fn a_new_content_is_written_once_and_copies_are_recounted() {
    let written = written_after(|tree| {
        let_the_clock_tick(&tree.join("a"));
        fs::write(tree.join("a"), "Alike").expect("written");
    });
    assert_eq!(written, ["+content 3: 1 of 5", "+file a", "=content 1: 1"]);
}

#[test]
fn a_file_with_a_known_content_joins_its_copies() {
    let written = written_after(|tree| fs::write(tree.join("new"), "other").expect("written"));
    assert_eq!(written, ["+file new", "=content 2: 2"]);
}

#[test]
fn a_file_compared_for_the_first_time_is_written_again() {
    let written = written_after(|tree| {
        fs::write(tree.join("twin"), "alone with its size").expect("written");
    });
    assert_eq!(written, ["+content 3: 2 of 19", "+file single", "+file twin"]);
}

#[test]
fn the_row_of_a_missing_file_is_deleted() {
    let written = written_after(|tree| fs::remove_file(tree.join("d/b")).expect("removed"));
    assert_eq!(written, ["-file b", "=content 1: 1"]);
}

#[test]
fn a_content_without_files_is_deleted() {
    let written = written_after(|tree| fs::remove_file(tree.join("d/sub/c")).expect("removed"));
    assert_eq!(written, ["-content 2", "-file c"]);
}

#[test]
fn a_missing_directory_is_deleted_with_everything_in_it() {
    let written = written_after(|tree| fs::remove_dir_all(tree.join("d")).expect("removed"));
    let expected = ["-content 2", "-dir d", "-dir sub", "-file b", "-file c", "=content 1: 1"];
    assert_eq!(written, expected);
}

#[test]
fn a_directory_replaced_by_a_file_is_deleted() {
    let written = written_after(|tree| {
        fs::remove_dir_all(tree.join("d/sub")).expect("removed");
        fs::write(tree.join("d/sub"), "now a file").expect("written");
    });
    assert_eq!(written, ["+file sub", "-content 2", "-dir sub", "-file c"]);
}

#[test]
fn a_moved_directory_is_written_again() {
    let written =
        written_after(|tree| fs::rename(tree.join("d/sub"), tree.join("up")).expect("renamed"));
    assert_eq!(written, ["+dir up", "+file c", "-dir sub", "-file c", "=content 2: 1"]);
}

#[test]
fn a_file_too_recent_to_be_trusted_is_written_each_time() {
    let (sandbox, tree) = (Sandbox::new(), pairs());
    let now = SystemTime::UNIX_EPOCH;
    sandbox.scan_at(&[tree.path()], now);
    sandbox.run(NOTE);
    for _ in 0..2 {
        sandbox.scan_at(&[tree.path()], now);
        let files = sandbox.query("SELECT what FROM noted WHERE what LIKE '%file%' ORDER BY what");
        assert_eq!(files, ["+file a", "+file b", "+file c"], "the fourth row stays");
        sandbox.run("DELETE FROM noted");
    }
}

#[test]
fn a_dropped_file_is_no_longer_a_copy() {
    let (sandbox, tree) = (Sandbox::new(), pairs());
    sandbox.scan(&[tree.path()]);
    sandbox.learn(walked(&[tree.path()]), later(), |found, fingerprints| {
        let copies = compare(found, fingerprints);
        let a = ids(found).find(|id| found.name(*id).to_bytes() == b"a");
        fingerprints.drop_file(a.expect("exists").0);
        copies
    });
    let [a, b] = ["a", "d/b"].map(|name| sandbox.entry(&tree.join(name)).expect("exists"));
    assert_eq!((a.state, b.state), (FileState::Unreadable, FileState::Known));
    assert_eq!((b.content, b.copies), (Some(1), 1), "b has no other copy");
    assert_eq!(a.content, Some(1), "its last known content is kept");
    assert_eq!(sandbox.query("SELECT count(*) FROM duplicates"), ["0"]);
    let scan = sandbox.scan(&[tree.path()]);
    assert_eq!(scan.known(), ["b", "c"], "the next scan reads it again");
    let a = sandbox.entry(&tree.join("a")).expect("exists");
    assert_eq!((a.state, a.content, a.copies), (FileState::Known, Some(1), 2));
}

/// A file that was changed or removed before it was read does not count as unreadable.
#[test]
fn a_file_that_changed_before_it_was_read_is_pending() {
    let (sandbox, tree) = (Sandbox::new(), pairs());
    sandbox.scan(&[tree.path()]);
    sandbox.learn(walked(&[tree.path()]), later(), |found, fingerprints| {
        let a = ids(found).find(|id| found.name(*id).to_bytes() == b"a");
        fingerprints.drop_changed(a.expect("exists").0);
        Vec::new()
    });
    let a = sandbox.entry(&tree.join("a")).expect("exists");
    assert_eq!(a.state, FileState::Pending);
}

#[test]
fn a_digest_found_later_is_added() {
    let (sandbox, tree) = (Sandbox::new(), pairs());
    sandbox.scan(&[tree.path()]);
    sandbox.run(NOTE);
    sandbox.run("UPDATE content SET digest = NULL; DELETE FROM noted");
    sandbox.scan(&[tree.path()]);
    assert_eq!(noted(&sandbox), ["=content 1: 2", "=content 2: 1"]);
    assert_eq!(sandbox.query("SELECT count(digest) FROM content"), ["2"]);
}

#[test]
fn reclaimable_bytes_are_the_counted_ones() {
    let (sandbox, tree) = (Sandbox::new(), pairs());
    sandbox.scan(&[tree.path()]);
    assert_eq!(sandbox.query("SELECT reclaimable FROM content ORDER BY id"), ["1000", "0"]);
    fs::write(tree.join("third"), "alike").expect("written");
    sandbox.scan(&[tree.path()]);
    assert_eq!(sandbox.query("SELECT reclaimable FROM content ORDER BY id"), ["2000", "0"]);
}

/// If the copies were not counted, or if their number has changed since, the disk space of all copies but one is the
/// best estimate.
#[test]
fn uncounted_reclaimable_bytes_are_the_disk_space_of_all_copies_but_one() {
    let miscounted = |copies: CopyCount| CopyCount { inodes: copies.inodes + 7, ..copies };
    for counted in [0, 9] {
        let (sandbox, tree) = (Sandbox::new(), pairs());
        sandbox.learn(walked(&[tree.path()]), later(), |tree, fingerprints| {
            compare(tree, fingerprints).into_iter().take(counted).map(miscounted).collect()
        });
        assert_eq!(sandbox.query("SELECT reclaimable FROM content ORDER BY id"), ["4096", "0"]);
    }
}

#[test]
fn copies_in_directories_that_were_scanned_one_after_the_other_take_their_disk_space() {
    let (sandbox, tree) = (Sandbox::new(), pairs());
    sandbox.scan(&[&tree.join("d")]);
    fs::create_dir(tree.join("e")).expect("made");
    for (name, copies) in [("first", "4096"), ("second", "8192")] {
        fs::write(tree.join("e").join(name), "alike").expect("written");
        sandbox.learn(walked(&[&tree.join("e")]), later(), |tree, fingerprints| {
            drop(compare(tree, fingerprints));
            Vec::new()
        });
        assert_eq!(sandbox.query("SELECT max(reclaimable) FROM content"), [copies]);
    }
}

#[test]
fn copies_of_recent_files_are_recounted() {
    let (sandbox, tree) = (Sandbox::new(), pairs());
    let behind = SystemTime::UNIX_EPOCH;
    for _ in 0..3 {
        sandbox.scan_at(&[tree.path()], behind);
        assert_eq!(sandbox.query("SELECT inodes FROM content ORDER BY size, inodes"), ["1", "2"]);
    }
}

/// Enough rows for several batches, and for a last statement with fewer rows than the others.
#[test]
fn thousands_of_files_are_stored() {
    let names: Vec<String> = (0..3003).map(|n| format!("file number {n}")).collect();
    let files = (1..).zip(&names).map(|(n, name)| (name.as_str(), file(n))).collect();
    let tree = || synthetic_tree(&[Dir { name: "d", device: NOWHERE, files: Vec::clone(&files) }]);
    let sandbox = Sandbox::new();
    sandbox.learn(tree(), SystemTime::now(), heads);
    assert_eq!(sandbox.learn(tree(), SystemTime::now(), heads).known().len(), names.len());
    let stored = sandbox.catalog().files_in(b"/no such directory/d").expect("query succeeds");
    let mut expected: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
    expected.sort_unstable();
    let stored = stored.expect("exists");
    assert_eq!(stored.iter().map(Entry::name).collect::<Vec<_>>(), expected);
}

#[test]
fn every_file_is_stored_with_its_metadata() {
    let (sandbox, tree) = (Sandbox::new(), pairs());
    sandbox.scan(&[tree.path()]);
    for name in ["a", "d/b", "d/sub/c", "single"] {
        let (entry, live) =
            (sandbox.entry(&tree.join(name)).expect("exists"), stat(&tree.join(name)));
        assert!(entry.is_unchanged(&live), "{name}: {entry:?} {live:?}");
    }
}

#[test]
fn a_scan_is_recorded() {
    let (sandbox, tree) = (Sandbox::new(), pairs());
    let started = SystemTime::now();
    let expected = record(started);
    sandbox.scan_at(&[tree.path()], started);
    sandbox.scan(&[tree.path()]);
    let sql = "SELECT started_ms || ' ' || finished_ms || options || ' ' || files || ' ' || bytes \
               FROM scan WHERE id = 1";
    let (from, to) = (expected.started_ms, expected.finished_ms);
    assert_eq!(sandbox.query(sql), [format!("{from} {to}--empty 7 70")]);
    assert_eq!(sandbox.query("SELECT id FROM scan"), ["1", "2"]);
}

#[test]
fn a_writer_without_a_commit_leaves_the_catalog_unchanged() {
    let (sandbox, tree) = (Sandbox::new(), pairs());
    sandbox.scan(&[tree.path()]);
    let before = fs::read(sandbox.path()).expect("readable");
    let writer = sandbox.writer();
    match_tree(&writer, &mut walked(&[tree.path()]));
    drop(writer);
    assert!(fs::read(sandbox.path()).expect("readable") == before);
}
