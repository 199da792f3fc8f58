//! The simplest possible engine: it reads and compares all files.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use catalog::CopyCount;
use content::{Digest, Fingerprints, head_length, head_of};
use fsops::{FileKey, Stat};
use walk::{FileId, Tree};

use crate::disk::ids;

/// Determines the contents of all files that share their size with another inode, and drops files
/// that have changed.
///
/// Counts 1000 reclaimable bytes for every copy but one, so that tests can distinguish this number
/// from one derived from sizes.
pub(crate) fn compare(tree: &Tree, fingerprints: &Fingerprints) -> Vec<CopyCount> {
    let mut inodes: HashMap<u64, Vec<FileKey>> = HashMap::new();
    for id in ids(tree) {
        add(inodes.entry(tree.file(id).size).or_default(), tree.key(id));
    }
    let mut same: HashMap<Digest, Vec<FileId>> = HashMap::new();
    for id in ids(tree).filter(|id| inodes[&tree.file(*id).size].len() > 1) {
        let Some(bytes) = read(tree, id) else {
            fingerprints.drop_file(id.0);
            continue;
        };
        read_head(tree, fingerprints, id);
        same.entry(Digest::of(&bytes)).or_default().push(id);
    }
    same.into_iter().map(|(digest, members)| number(tree, fingerprints, digest, &members)).collect()
}

/// Records the head of a file, unless the file has changed.
pub(crate) fn read_head(tree: &Tree, fingerprints: &Fingerprints, id: FileId) {
    let Some(bytes) = read(tree, id) else { return };
    let head = usize::try_from(head_length(bytes.len() as u64)).expect("small");
    fingerprints.set_head(id.0, head_of(&bytes[..head]));
}

/// Reads a file. Returns `None` if the file has changed since the walk.
fn read(tree: &Tree, id: FileId) -> Option<Vec<u8>> {
    let path = PathBuf::from(OsString::from_vec(tree.absolute_path(id)));
    let now = Stat::of_path(&path).ok().filter(|now| tree.unchanged(id, now));
    now.and_then(|_| fs::read(path).ok())
}

/// Gives identical files the same content number. If one of the files already has a content number,
/// uses that number.
fn number(
    tree: &Tree,
    fingerprints: &Fingerprints,
    digest: Digest,
    members: &[FileId],
) -> CopyCount {
    let mut known = members.iter().filter_map(|id| fingerprints.content(id.0));
    let content = known.next().unwrap_or_else(|| fingerprints.new_content(Some(digest)));
    assert!(known.all(|other| other == content), "one content has two numbers");
    fingerprints.set_digest(content, digest);
    let mut keys = Vec::new();
    for id in members {
        fingerprints.set_content(id.0, content);
        add(&mut keys, tree.key(*id));
    }
    let inodes = u32::try_from(keys.len()).expect("few");
    CopyCount { content, inodes, reclaimable: 1000 * u64::from(inodes - 1) }
}

/// Records a head for every file, but no content.
pub(crate) fn heads(tree: &Tree, fingerprints: &Fingerprints) -> Vec<CopyCount> {
    for id in ids(tree) {
        fingerprints.set_head(id.0, head_of(tree.name(id).to_bytes()));
    }
    Vec::new()
}

fn add(keys: &mut Vec<FileKey>, key: FileKey) {
    if !keys.contains(&key) {
        keys.push(key);
    }
}
