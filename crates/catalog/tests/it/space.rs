//! Reading all rows for sums over the whole catalog.

use std::path::Path;

use catalog::{Catalog, FileState, Mark, Marker, SpaceRow};
use testkit::{TempTree, TreeBuilder};

use crate::disk::{bytes, ids, stat};
use crate::sandbox::Sandbox;

fn tree() -> TempTree {
    TreeBuilder::new()
        .file("a", "alike")
        .file("d/copy", "alike")
        .file("d/sub/other", "not alike, and longer")
        .make_temp()
}

fn space_rows(catalog: &Catalog) -> Vec<(i64, SpaceRow)> {
    let add = |rows: &mut Vec<_>, dir, row: &SpaceRow| rows.push((dir, *row));
    catalog.sum_space_rows(0..i64::MAX, Vec::new(), add).expect("reads")
}

fn dir_rows(catalog: &Catalog) -> Vec<(i64, i64, Vec<u8>)> {
    let mut rows = Vec::new();
    let each = |id, parent, name: &[u8]| rows.push((id, parent, name.to_vec()));
    catalog.each_dir_row(each).expect("reads");
    rows
}

/// Returns the id of the directory at a path.
fn dir_at(catalog: &Catalog, path: &Path) -> i64 {
    let dirs = dir_rows(catalog);
    let names = bytes(path);
    names.split(|&byte| byte == b'/').filter(|name| !name.is_empty()).fold(1, |above, name| {
        let found = dirs.iter().find(|(_, parent, n)| (*parent, &n[..]) == (above, name));
        found.expect("the directory is in the catalog").0
    })
}

#[test]
fn every_file_is_read_with_its_directory() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    sandbox.scan(&[tree.path()]);
    let catalog = sandbox.catalog();
    let rows = space_rows(&catalog);
    assert!(rows.is_sorted_by_key(|(dir, _)| *dir));
    for (path, content) in [("a", Some(1)), ("d/copy", Some(1)), ("d/sub/other", None)] {
        let now = stat(&tree.join(path));
        let dir = dir_at(&catalog, tree.join(path).parent().expect("a directory"));
        let (_, row) = rows.iter().find(|(_, row)| row.inode == now.inode).expect("is read");
        let expected = SpaceRow {
            volume: 1,
            inode: now.inode,
            size: now.size,
            allocated: row.allocated,
            mtime_ns: now.mtime_ns(),
            content,
        };
        assert_eq!(*row, expected);
        assert!(rows.contains(&(dir, expected)));
    }
    assert_eq!(rows.len(), 3);
}

#[test]
fn a_range_of_directories_has_only_the_files_in_them() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    sandbox.scan(&[tree.path()]);
    let catalog = sandbox.catalog();
    let dir = dir_at(&catalog, &tree.join("d"));
    let add = |inodes: &mut Vec<_>, _, row: &SpaceRow| inodes.push(row.inode);
    let inodes = catalog.sum_space_rows(dir..dir + 1, Vec::new(), add).expect("reads");
    assert_eq!(inodes, [stat(&tree.join("d/copy")).inode]);
}

#[test]
fn disk_space_is_the_size_in_whole_blocks_unless_the_catalog_says_otherwise() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    sandbox.scan(&[tree.path()]);
    sandbox.run("UPDATE file SET size = 4097, allocated = NULL");
    let allocated = || -> Vec<u64> {
        space_rows(&sandbox.catalog()).into_iter().map(|(_, row)| row.allocated).collect()
    };
    assert_eq!(allocated(), [8192; 3]);
    sandbox.run("UPDATE file SET allocated = 512");
    assert_eq!(allocated(), [512; 3]);
}

#[test]
fn directories_are_read_with_their_parents_first() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    sandbox.scan(&[tree.path()]);
    let rows = dir_rows(&sandbox.catalog());
    assert!(rows.is_sorted_by_key(|(id, ..)| *id));
    assert!(rows.iter().all(|(id, parent, _)| parent < id));
    let (d, sub) = (&rows[rows.len() - 2], &rows[rows.len() - 1]);
    assert_eq!((&d.2[..], &sub.2[..], sub.1), (&b"d"[..], &b"sub"[..], d.0));
}

#[test]
fn a_directory_before_its_parent_is_an_error() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    sandbox.scan(&[tree.path()]);
    sandbox.run(
        "PRAGMA foreign_keys = OFF; UPDATE dir SET parent = 1000 WHERE name = CAST('d' AS BLOB)",
    );
    sandbox.catalog().each_dir_row(|_, _, _| ()).expect_err("the catalog is damaged");
}

#[test]
fn contents_are_read_with_the_bytes_that_their_copies_take() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    sandbox.scan(&[tree.path()]);
    let mut rows = Vec::new();
    sandbox.catalog().each_reclaimable_content(|id, bytes| rows.push((id, bytes))).expect("reads");
    assert_eq!(rows, [(1, 1000)]);
}

#[test]
fn a_damaged_file_is_not_a_copy() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    let scan = sandbox.scan(&[tree.path()]);
    let mut files = ids(&scan.tree);
    let copy = files.find(|&file| scan.tree.name(file) == c"copy").expect("is there");
    let mark = Mark::of(&scan.tree, copy, FileState::Damaged);
    Marker::open(&sandbox.path()).expect("opens").mark(&[mark]).expect("marks");
    let inode = stat(&tree.join("d/copy")).inode;
    for (_, row) in space_rows(&sandbox.catalog()).into_iter().filter(|(_, row)| row.size == 5) {
        assert_eq!(row.content.is_none(), row.inode == inode);
    }
}

#[test]
fn snapshots_see_the_same_state_until_they_are_dropped() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    sandbox.scan(&[tree.path()]);
    let catalog = sandbox.catalog();
    let snapshots = catalog.snapshots(2).expect("opens");
    assert_eq!(snapshots.len(), 2);
    std::thread::scope(|scope| {
        let writer = scope.spawn(|| sandbox.run("PRAGMA busy_timeout = 60000; DELETE FROM file"));
        for snapshot in snapshots {
            assert_eq!(space_rows(&snapshot).len(), 3);
        }
        writer.join().expect("the writer waits until the snapshots are dropped");
    });
    assert_eq!(space_rows(&catalog), []);
}
