//! Compares versions of files in rows of the catalog, in trees, and on disk.

use std::collections::HashSet;

use walk::{DirId, FileId, Tree};

use crate::state::FileState;
use crate::tables::rows::FileRow;
use crate::tables::volumes::Volumes;

/// Returns whether a live file has this inode number, size, mtime and ctime.
pub(crate) fn is_version(now: &fsops::Stat, version: (u64, u64, i64, i64)) -> bool {
    let is = (now.inode, now.size, now.mtime_ns(), now.ctime_ns);
    now.kind == fsops::Kind::File && is == version
}

/// Returns whether a file was inspected so soon after its last change that another change might
/// leave its times the same.
///
/// The kernel stamps files with the time of its last tick, which is at most 10 ms ago (HZ = 100).
/// Some file systems store times in whole seconds, or even in steps of two seconds (FAT).
pub(crate) fn is_recent(mtime_ns: i64, ctime_ns: i64, inspected_ns: i64) -> bool {
    const SECOND: i64 = 1_000_000_000;
    let coarse = ctime_ns % SECOND == 0 && mtime_ns % SECOND == 0;
    let margin = if coarse { 2 * SECOND } else { SECOND / 100 };
    ctime_ns >= inspected_ns - margin
}

/// Returns the row of a file of the tree, without head and content.
pub(crate) fn version(tree: &Tree, file: FileId, volumes: &mut Volumes) -> FileRow {
    let record = tree.file(file);
    FileRow {
        volume: volumes.id(tree.device_of(record.dir)),
        inode: record.inode,
        size: record.size,
        mtime_ns: record.mtime_ns,
        ctime_ns: record.ctime_ns,
        allocated: tree.allocated(file),
        head: None,
        content: None,
        state: FileState::Known,
    }
}

/// Returns the sizes of the files of a tree.
pub(crate) fn sizes(tree: &Tree) -> HashSet<u64> {
    tree.files().iter().map(|file| file.size).collect()
}

/// Returns the files of some directories, sorted by name.
pub(crate) fn files_by_name(
    tree: &Tree,
    dirs: impl Iterator<Item = DirId>,
) -> Vec<(&[u8], FileId)> {
    let mut files: Vec<_> = dirs
        .flat_map(|dir| tree.files_in(dir))
        .map(|file| (tree.name(FileId(file)).to_bytes(), FileId(file)))
        .collect();
    files.sort_unstable();
    files
}
