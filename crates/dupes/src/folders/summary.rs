//! Summarizes what related directories have in common.

use std::cmp::Ordering;

use super::index::{FolderIndex, IndexedFile, NONE};
use super::{Folder, Related, Relation};

/// Describes a set of equal directories.
pub(super) fn set(index: &FolderIndex, dir_numbers: &[u32]) -> Related {
    let folders: Vec<Folder> = dir_numbers
        .iter()
        .map(|&dir_number| {
            let plain = folder(index, dir_number);
            Folder { shared_files: plain.files, shared_bytes: plain.bytes, ..plain }
        })
        .collect();
    let redundant = dir_numbers[1..].iter().flat_map(|&dir_number| index.below(dir_number));
    Related {
        relation: Relation::Equal,
        files: folders[0].files,
        bytes: folders[0].bytes,
        reclaimable: frees(index, redundant),
        folders,
    }
}

/// Describes a directory that is contained in another one.
pub(super) fn contained(index: &FolderIndex, dir_number: u32, container: u32) -> Related {
    pair(index, Relation::Contained, dir_number, container)
}

/// Describes two overlapping directories. The directory that shares the larger part of its bytes
/// comes first.
pub(super) fn overlapping(index: &FolderIndex, one: u32, other: u32) -> Related {
    let (a, b) = (sharing(index, one, other), sharing(index, other, one));
    let part = |of: &Folder, all: &Folder| u128::from(of.shared_bytes) * u128::from(all.bytes);
    let in_order = match part(&a, &b).cmp(&part(&b, &a)) {
        Ordering::Equal => (a.bytes, one) <= (b.bytes, other),
        larger => larger.is_gt(),
    };
    let (one, other) = if in_order { (one, other) } else { (other, one) };
    pair(index, Relation::Overlapping, one, other)
}

fn pair(index: &FolderIndex, relation: Relation, one: u32, other: u32) -> Related {
    let first = sharing(index, one, other);
    Related {
        relation,
        folders: vec![first, sharing(index, other, one)],
        files: first.shared_files,
        bytes: first.shared_bytes,
        reclaimable: frees(index, shared(index, one, other)),
    }
}

/// Returns the disk space in bytes that deleting all of `files` frees.
pub(super) fn frees<'h>(index: &FolderIndex, files: impl Iterator<Item = &'h IndexedFile>) -> u64 {
    let mut inodes: Vec<u32> = files.map(|file| file.inode).collect();
    inodes.sort_unstable();
    let bytes = inodes.chunk_by(|a, b| a == b).map(|names| {
        let inode = &index.inodes[names[0] as usize];
        if names.len() == inode.names as usize { inode.frees } else { 0 }
    });
    bytes.fold(0, u64::saturating_add)
}

/// Returns the files below one directory that are identical to a file below another one.
pub(super) fn shared(
    index: &FolderIndex,
    dir_number: u32,
    other: u32,
) -> impl Iterator<Item = &IndexedFile> {
    let there = &index.dirs[other as usize].files;
    let is_there =
        move |file: &&IndexedFile| file.content != NONE && index.has(file.content, there);
    index.below(dir_number).iter().filter(is_there)
}

fn sharing(index: &FolderIndex, dir_number: u32, other: u32) -> Folder {
    let mut folder = folder(index, dir_number);
    for file in shared(index, dir_number, other) {
        folder.shared_files += 1;
        folder.shared_bytes = folder.shared_bytes.saturating_add(file.size);
    }
    folder
}

fn folder(index: &FolderIndex, dir_number: u32) -> Folder {
    let dir = &index.dirs[dir_number as usize];
    Folder {
        dir: dir.id,
        files: dir.count().into(),
        bytes: dir.bytes,
        shared_files: 0,
        shared_bytes: 0,
        changed: dir.changed.into(),
        unknown: dir.unknown.into(),
    }
}
