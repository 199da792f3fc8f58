//! What related directories have in common, counted.

use std::cmp::Ordering;

use super::holdings::{Held, Holdings, NONE};
use super::{Folder, Related, Relation};

/// Returns what is to be said of a set of equal directories.
pub(super) fn set(holdings: &Holdings, places: &[u32]) -> Related {
    let folders: Vec<Folder> = places
        .iter()
        .map(|&place| {
            let plain = folder(holdings, place);
            Folder { shared_files: plain.files, shared_bytes: plain.bytes, ..plain }
        })
        .collect();
    let spare = places[1..].iter().flat_map(|&place| holdings.below(place));
    Related {
        relation: Relation::Equal,
        files: folders[0].files,
        bytes: folders[0].bytes,
        reclaimable: frees(holdings, spare),
        folders,
    }
}

/// Returns what is to be said of a directory that is contained in another.
pub(super) fn contained(holdings: &Holdings, place: u32, container: u32) -> Related {
    pair(holdings, Relation::Contained, place, container)
}

/// Returns what is to be said of two directories that overlap, the one first of which a larger part is
/// shared.
pub(super) fn overlapping(holdings: &Holdings, one: u32, other: u32) -> Related {
    let (a, b) = (sharing(holdings, one, other), sharing(holdings, other, one));
    let part = |of: &Folder, all: &Folder| u128::from(of.shared_bytes) * u128::from(all.bytes);
    let in_order = match part(&a, &b).cmp(&part(&b, &a)) {
        Ordering::Equal => (a.bytes, one) <= (b.bytes, other),
        larger => larger.is_gt(),
    };
    let (one, other) = if in_order { (one, other) } else { (other, one) };
    pair(holdings, Relation::Overlapping, one, other)
}

fn pair(holdings: &Holdings, relation: Relation, one: u32, other: u32) -> Related {
    let first = sharing(holdings, one, other);
    Related {
        relation,
        folders: vec![first, sharing(holdings, other, one)],
        files: first.shared_files,
        bytes: first.shared_bytes,
        reclaimable: frees(holdings, shared(holdings, one, other)),
    }
}

/// Returns the bytes that are free once all of some files are gone.
pub(super) fn frees<'h>(holdings: &Holdings, files: impl Iterator<Item = &'h Held>) -> u64 {
    let mut inodes: Vec<u32> = files.map(|file| file.inode).collect();
    inodes.sort_unstable();
    let bytes = inodes.chunk_by(|a, b| a == b).map(|names| {
        let inode = &holdings.inodes[names[0] as usize];
        if names.len() == inode.names as usize { inode.frees } else { 0 }
    });
    bytes.fold(0, u64::saturating_add)
}

/// Returns the files below a place that have a like one below another.
pub(super) fn shared(holdings: &Holdings, place: u32, other: u32) -> impl Iterator<Item = &Held> {
    let there = &holdings.dirs[other as usize].files;
    let is_there = move |file: &&Held| file.item != NONE && holdings.has(file.item, there);
    holdings.below(place).iter().filter(is_there)
}

fn sharing(holdings: &Holdings, place: u32, other: u32) -> Folder {
    let mut folder = folder(holdings, place);
    for file in shared(holdings, place, other) {
        folder.shared_files += 1;
        folder.shared_bytes = folder.shared_bytes.saturating_add(file.size);
    }
    folder
}

fn folder(holdings: &Holdings, place: u32) -> Folder {
    let dir = &holdings.dirs[place as usize];
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
