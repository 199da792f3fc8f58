//! Scans of changes that touch a content with many copies, of which they read only a few.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use testkit::{TempTree, TreeBuilder};
use walk::Changes;

use crate::disk::{bytes, let_the_clock_tick};
use crate::sandbox::{Sandbox, later};

/// More copies of one content than a scan of changes counts.
const MANY: usize = 20;

/// More copies than a scan of changes searches for representatives.
const MORE_THAN_SEARCHED: usize = 1030;

/// Creates the directories `a` and `b` with `copies` of one content, and scans first `a` and then `b`.
fn two_roots(copies: [usize; 2]) -> (TempTree, Sandbox) {
    let mut tree = TreeBuilder::new().dir("a").dir("b");
    for (dir, copies) in ["a", "b"].into_iter().zip(copies) {
        for number in 0..copies {
            tree = tree.file(format!("{dir}/{number:04}"), "alike");
        }
    }
    let tree = tree.make_temp();
    let catalog = Sandbox::new();
    catalog.scan(&[&tree.join("a")]);
    catalog.scan(&[&tree.join("b")]);
    // One of these directories contains the file that was created last.
    for dir in ["a", "b"] {
        let_the_clock_tick(&tree.join(dir));
    }
    (tree, catalog)
}

/// Writes files with the common content, and scans only them.
fn add_copies(catalog: &Sandbox, tree: &TempTree, names: &[&str], saves: bool) {
    let mut notes = Changes::default();
    for name in names {
        fs::write(tree.join(name), "alike").expect("written");
        notes.add_entry(&bytes(&tree.join(name)));
    }
    catalog.scan_changes(&[&tree.join("b")], notes, later(), saves);
}

/// Checks that all compared files have one content, and that it has this number of copies.
#[track_caller]
fn assert_one_content(catalog: &Sandbox, inodes: usize) {
    let contents = catalog.query("SELECT count(DISTINCT content) FROM file WHERE state = 0");
    let without = "SELECT count(*) FROM file WHERE content IS NULL AND state = 0";
    assert_eq!((contents[0].as_str(), catalog.query(without)[0].as_str()), ("1", "0"));
    assert_counted(catalog, inodes);
}

/// Checks the number of copies of the content of `b/0001`, also against the rows.
#[track_caller]
fn assert_counted(catalog: &Sandbox, inodes: usize) {
    let common = "content.id = (SELECT content FROM file WHERE name = CAST('0001' AS BLOB) \
                  ORDER BY dir DESC LIMIT 1)";
    let stored = catalog.query(&format!("SELECT inodes FROM content WHERE {common}"));
    let counted = catalog.query(&format!(
        "SELECT count(DISTINCT inode) FROM file JOIN content ON content.id = content \
         WHERE {common} AND state = 0"
    ));
    assert_eq!((stored, counted), (vec![inodes.to_string()], vec![inodes.to_string()]));
}

#[test]
fn a_deleted_tree_does_not_hide_the_other_copies() {
    let (tree, catalog) = two_roots([MANY, MANY]);
    fs::remove_dir_all(tree.join("a")).expect("removed");
    add_copies(&catalog, &tree, &["b/new"], false);
    // The new file may have the inode number of a removed one.
    let rows = catalog.query("SELECT count(DISTINCT inode) FROM file");
    assert_one_content(&catalog, rows[0].parse().expect("a number"));
}

/// The file system gives the inode number of a removed file to a new file, and the row of the removed file stays.
#[test]
fn a_copy_with_the_inode_number_of_a_file_that_was_removed_elsewhere_is_counted_once() {
    for saves in [false, true] {
        let (tree, catalog) = two_roots([MANY, MANY]);
        fs::write(tree.join("b/new"), "alike").expect("written");
        fs::remove_file(tree.join("a/0003")).expect("removed");
        let inode = fs::metadata(tree.join("b/new")).expect("exists").ino();
        catalog.run(&format!(
            "UPDATE file SET inode = {inode} WHERE name = CAST('0003' AS BLOB) \
             AND dir = (SELECT id FROM dir WHERE name = CAST('a' AS BLOB))"
        ));
        add_copies(&catalog, &tree, &["b/new"], saves);
        assert_one_content(&catalog, 2 * MANY);
    }
}

#[test]
fn a_tree_on_an_offline_disk_does_not_hide_the_other_copies() {
    let (tree, catalog) = two_roots([MORE_THAN_SEARCHED, MANY]);
    catalog.run(
        "INSERT INTO volume (id, magic, fsid, device) VALUES (99, 99, 99, 99);
        UPDATE file SET volume = 99 WHERE dir = (SELECT id FROM dir WHERE name = CAST('a' AS BLOB))",
    );
    add_copies(&catalog, &tree, &["b/new"], false);
    assert_one_content(&catalog, MORE_THAN_SEARCHED + MANY + 1);
}

#[test]
fn many_changed_copies_keep_their_content() {
    let (tree, catalog) = two_roots([0, MORE_THAN_SEARCHED]);
    let further = tree.join("b/further");
    fs::create_dir(&further).expect("made");
    fs::write(further.join("0001"), "alike").expect("written");
    catalog.scan(&[&tree.join("b")]);
    let_the_clock_tick(tree.path());
    let mut notes = Changes::default();
    for number in 0..MORE_THAN_SEARCHED {
        let path = tree.join(format!("b/{number:04}"));
        fs::set_permissions(&path, Permissions::from_mode(0o640)).expect("set");
        notes.add_entry(&bytes(&path));
    }
    catalog.scan_changes(&[&tree.join("b")], notes, later(), false);
    assert_one_content(&catalog, MORE_THAN_SEARCHED + 1);
}

/// All files that represent the content have changed without a note. The new copies have the same digest as the other
/// files.
#[test]
fn new_copies_without_a_file_to_compare_with_get_the_known_content() {
    let (tree, catalog) = two_roots([MANY, 0]);
    for number in 0..8 {
        fs::write(tree.join(format!("a/{number:04}")), "changed").expect("written");
    }
    add_copies(&catalog, &tree, &["b/0001", "b/0002"], false);
    assert_one_content(&catalog, MANY - 8 + 2);
}

/// An interrupted scan has left a file uncompared, and the scan of changes finds out that it is one more copy.
#[test]
fn a_copy_that_was_pending_is_counted() {
    for saves in [false, true] {
        let (tree, catalog) = two_roots([MANY, MANY]);
        catalog.run(
            "UPDATE file SET head = NULL, content = NULL, state = 1 WHERE dir = \
             (SELECT id FROM dir WHERE name = CAST('a' AS BLOB)) AND name = CAST('0003' AS BLOB);
             UPDATE content SET inodes = inodes - 1",
        );
        add_copies(&catalog, &tree, &["b/new"], saves);
        assert_one_content(&catalog, 2 * MANY + 1);
    }
}

#[test]
fn a_copy_that_has_changed_without_a_note_is_not_counted() {
    for saves in [false, true] {
        let (tree, catalog) = two_roots([MANY, MANY]);
        fs::write(tree.join("a/0003"), "changed").expect("written");
        add_copies(&catalog, &tree, &["b/new"], saves);
        assert_counted(&catalog, 2 * MANY);
    }
}

/// A file changed shortly before it was scanned, and again without a trace in its times.
#[test]
fn a_copy_whose_content_was_not_trusted_is_counted_with_its_new_content() {
    for saves in [false, true] {
        let (tree, catalog) = two_roots([MANY, MANY]);
        let other = tree.join("a/0003");
        fs::write(&other, "other").expect("written");
        catalog.scan(&[&tree.join("a")]);
        catalog.run(
            "UPDATE file SET head = NULL, content = 1 WHERE name = CAST('0003' AS BLOB) \
             AND dir = (SELECT id FROM dir WHERE name = CAST('a' AS BLOB));
             UPDATE content SET inodes = inodes + 1 WHERE id = 1",
        );
        let_the_clock_tick(tree.path());
        add_copies(&catalog, &tree, &["b/new"], saves);
        assert_counted(&catalog, 2 * MANY);
        assert_ne!(content_of(&catalog, &other), content_of(&catalog, &tree.join("b/new")));
    }
}

/// Another process finds a damaged file while the scan runs.
#[test]
fn a_copy_that_is_marked_during_the_scan_is_not_counted() {
    for saves in [false, true] {
        let (tree, catalog) = two_roots([MANY, MANY]);
        let mut notes = Changes::default();
        fs::write(tree.join("b/new"), "alike").expect("written");
        notes.add_entry(&bytes(&tree.join("b/new")));
        catalog.scan_changes_while(&[&tree.join("b")], notes, later(), saves, || {
            catalog.run(
                "UPDATE file SET state = 2 WHERE name = CAST('0003' AS BLOB) \
                 AND dir = (SELECT id FROM dir WHERE name = CAST('a' AS BLOB));
                 UPDATE content SET inodes = inodes - 1",
            );
        });
        assert_counted(&catalog, 2 * MANY);
    }
}

/// A file changes after it was examined, and no change of its other name was noted.
#[test]
fn a_copy_that_changes_during_the_scan_is_counted_under_its_other_name() {
    for saves in [false, true] {
        let (tree, catalog) = two_roots([MANY, MANY]);
        fs::hard_link(tree.join("b/0003"), tree.join("b/other")).expect("linked");
        catalog.scan(&[&tree.join("b")]);
        let_the_clock_tick(tree.path());
        fs::write(tree.join("b/new"), "alike").expect("written");
        let mut notes = Changes::default();
        for name in ["b/0003", "b/new"] {
            notes.add_entry(&bytes(&tree.join(name)));
        }
        catalog.scan_changes_while(&[&tree.join("b")], notes, later(), saves, || {
            fs::write(tree.join("b/0003"), "other").expect("written");
        });
        assert_counted(&catalog, 2 * MANY + 1);
    }
}

fn content_of(catalog: &Sandbox, path: &Path) -> Option<i64> {
    catalog.entry(path).expect("exists").content
}
