//! Encodes random trees and decodes them again, and decodes damaged records.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;

use proptest::prelude::*;
use walk::{DirId, Remembered, Tree};

use super::{Malformed, Record, decode, encode};

/// The path, the inode number and the size of a file.
type Row<'p> = (&'p str, u64, u64);

/// Returns a tree with files at these paths below the root, each with its inode number and size.
/// Directories have the order in which the paths mention them.
pub(crate) fn tree(files: &[Row<'_>]) -> Tree {
    let mut tree = Tree::default();
    let root = tree.remember_root();
    let mut dirs: BTreeMap<String, DirId> = BTreeMap::from([(String::new(), root)]);
    let mut inside: Vec<(DirId, Vec<Row<'_>>)> = vec![(root, Vec::new())];
    for &(path, inode, size) in files {
        let mut above = String::new();
        let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
        for folder in folders.split('/').filter(|folder| !folder.is_empty()) {
            let parent = dirs[&above];
            above = format!("{above}/{folder}");
            dirs.entry(above.clone()).or_insert_with(|| {
                let dir = tree.remember_dir(parent, &CString::new(folder).expect("no NUL"));
                inside.push((dir, Vec::new()));
                dir
            });
        }
        let dir = dirs[&above];
        let place = inside.iter_mut().find(|place| place.0 == dir).expect("was added");
        place.1.push((name, inode, size));
    }
    for (dir, files) in inside {
        tree.place_offline(dir);
        for (name, inode, size) in files {
            let file = Remembered { size, inode, mtime_ns: 0, ctime_ns: 0 };
            tree.remember_file(dir, &CString::new(name).expect("no NUL"), file);
        }
    }
    tree
}

/// Returns the record of a tree.
pub(crate) fn record(files: &[Row<'_>]) -> Record {
    decode(&encoded(files)).expect("a record")
}

fn encoded(files: &[Row<'_>]) -> Vec<u8> {
    let tree = tree(files);
    encode(&tree, &tree.roots()[0])
}

/// Returns each directory of a record as its path, the number of files and their size.
fn shown(record: &Record) -> Vec<(String, u32, u64)> {
    let mut path: Vec<String> = Vec::new();
    let each = record.dirs.iter().map(|dir| {
        path.truncate(dir.depth as usize);
        path.push(String::from_utf8_lossy(record.name(dir)).into_owned());
        (path.join("/"), dir.files, dir.bytes)
    });
    each.collect()
}

fn expected(dirs: &[(&str, u32, u64)]) -> Vec<(String, u32, u64)> {
    dirs.iter().map(|&(path, files, bytes)| (path.to_string(), files, bytes)).collect()
}

#[test]
fn a_record_has_the_own_files_of_each_directory_sorted_by_path() {
    let record = record(&[("b/x", 1, 10), ("a/c/y", 2, 20), ("top", 3, 30), ("b/z", 4, 40)]);
    let dirs = [("", 1, 30), ("/a", 0, 0), ("/a/c", 1, 20), ("/b", 2, 50)];
    assert_eq!(shown(&record), expected(&dirs));
    assert_eq!(record.dirs[3].allocated, 8192);
}

#[test]
fn hard_links_count_in_the_lowest_directory_with_all_names() {
    let record = record(&[("a/x/1", 7, 10), ("a/y/2", 7, 10)]);
    let dirs = [("", 0, 0), ("/a", 1, 10), ("/a/x", 0, 0), ("/a/y", 0, 0)];
    assert_eq!(shown(&record), expected(&dirs));
}

#[test]
fn the_order_of_the_walk_does_not_change_the_record() {
    let files = [("b/1", 1, 10), ("a/2", 2, 20), ("a/c/3", 3, 30)];
    let mut other = files;
    other.reverse();
    assert_eq!(encoded(&files), encoded(&other));
}

#[test]
fn an_empty_root_has_a_record() {
    assert_eq!(shown(&record(&[])), expected(&[("", 0, 0)]));
}

#[test]
fn a_large_record_takes_few_bytes_per_directory() {
    let mut paths = Vec::new();
    for number in 0..2000u64 {
        let size = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 44;
        paths.push((format!("backup/{:03}/photos-{number:04}/f", number % 50), number, size));
    }
    let files: Vec<Row<'_>> =
        paths.iter().map(|(path, inode, size)| (path.as_str(), *inode, *size)).collect();
    let dirs = record(&files).dirs.len();
    let bytes = encoded(&files).len();
    assert!(bytes <= dirs * 12, "{bytes} bytes for {dirs} directories");
}

#[test]
fn a_damaged_record_is_refused() {
    let data = encoded(&[("a/x", 1, 5000), ("a/y/z", 2, 70_000), ("b/x", 3, 1)]);
    assert!(decode(&data).is_ok());
    for length in 0..data.len() {
        assert_eq!(decode(&data[..length]), Err(Malformed), "{length} bytes");
    }
    let mut other_version = data;
    other_version[0] += 1;
    assert_eq!(decode(&other_version), Err(Malformed));
}

#[test]
fn forged_columns_are_refused() {
    for columns in [
        &[][..],
        &[0, 12],
        // More directories than bytes, an unknown unit, and a missing column.
        &[200, 1, 12, 0, 0, 0],
        &[1, 13, 0, 0, 0],
        &[1, 12, 0, 0],
        // A parent above the root, and a name that shares bytes with no sibling.
        &[2, 12, 2, 0, 1, b'a', 0, 0, 0, 0, 0, 0],
        &[2, 12, 0, 1, 1, b'a', 0, 0, 0, 0, 0, 0],
        // A number of more than 64 bits, and trailing bytes.
        &[1, 12, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 2, 0, 0],
        &[1, 12, 0, 0, 0, 0],
    ] {
        let mut data = vec![1, u8::try_from(columns.len()).expect("short")];
        data.extend(zstd::bulk::compress(columns, 1).expect("compress"));
        assert_eq!(decode(&data), Err(Malformed), "{columns:?}");
    }
}

#[test]
fn a_record_that_expands_too_much_is_refused() {
    let bomb = zstd::bulk::compress(&vec![0; 64 << 20], 1).expect("compress");
    assert_eq!(decode(&[&[1, 100], &bomb[..]].concat()), Err(Malformed));
    let huge = [1, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f];
    assert_eq!(decode(&[&huge[..], &bomb].concat()), Err(Malformed));
}

proptest! {
    #[test]
    fn every_tree_survives_the_round_trip(
        files in prop::collection::btree_map("[ab]{1,2}(/[abc]{1,3}){0,4}/f", (0..9u64, 0..1u64 << 40), 0..40)
    ) {
        let list: Vec<Row<'_>> =
            files.iter().map(|(path, (inode, size))| (path.as_str(), *inode, *size)).collect();
        let record = record(&list);
        let mut dirs = BTreeSet::from([String::new()]);
        for path in files.keys() {
            let path = format!("/{path}");
            dirs.extend(path.match_indices('/').skip(1).map(|(at, _)| path[..at].to_string()));
        }
        let mut found: Vec<String> = shown(&record).into_iter().map(|dir| dir.0).collect();
        // Preorder differs from the order of paths if a name contains a character below `/`.
        found.sort();
        prop_assert_eq!(found, dirs.into_iter().collect::<Vec<_>>());
        let unique: BTreeSet<(u64, u64)> = files.values().copied().collect();
        let bytes: u64 = record.dirs.iter().map(|dir| dir.bytes).sum();
        prop_assert_eq!(bytes, unique.iter().map(|(_, size)| size).sum::<u64>());
        let files: u32 = record.dirs.iter().map(|dir| dir.files).sum();
        prop_assert_eq!(files as usize, unique.len());
        let blocks = |size: u64| size.next_multiple_of(4096);
        let allocated: u64 = record.dirs.iter().map(|dir| dir.allocated).sum();
        prop_assert_eq!(allocated, unique.iter().map(|(_, size)| blocks(*size)).sum::<u64>());
    }

    #[test]
    fn random_bytes_never_panic(mut data in prop::collection::vec(any::<u8>(), 0..200), packed in any::<bool>()) {
        if packed {
            let length = u8::try_from(data.len().min(127)).expect("short");
            data.truncate(length.into());
            data = [&[1, length][..], &zstd::bulk::compress(&data, 1).expect("compress")].concat();
        }
        let _either = decode(&data);
    }
}
