//! Finds remembered files by inode, even under another name or in a directory that was moved.

use walk::{FileId, FileRecord, Tree};

use super::TreeMatch;
use super::stored::{Orphans, Stored};
use crate::tables::versions::version;

impl TreeMatch {
    /// For each file without a row, uses what is known about the same inode under a name that is
    /// gone.
    pub(super) fn match_moved_inodes(&mut self, tree: &Tree, orphans: &Orphans) {
        if orphans.is_empty() {
            return;
        }
        let TreeMatch { fingerprints, rows } = self;
        for id in (0u32..).take(rows.stored.len()) {
            if rows.stored[id as usize] != Stored::Nothing {
                continue;
            }
            let now = version(tree, FileId(id), &mut rows.volumes);
            let row = orphans.get(&(now.volume, now.inode));
            if let Some(row) = row.filter(|row| row.same_version(&now)) {
                rows.attach(fingerprints, FileId(id), row);
            }
        }
    }

    /// For each file without a row, uses what is known about the same inode under another name.
    /// Either all names of an inode have a known content, or none of them has.
    pub(super) fn share_among_names(&mut self, tree: &Tree) {
        let TreeMatch { fingerprints, rows } = self;
        let files = || (0u32..).zip(tree.files());
        let inode = |file: &FileRecord| (file.inode, tree.device_index(file.dir));
        let version = |file: &FileRecord| (file.size, file.mtime_ns, file.ctime_ns);
        let unknown = |&(id, _): &(u32, &FileRecord)| {
            rows.stored[id as usize] == Stored::Nothing && fingerprints.head(id).is_none()
        };
        let mut wanted: Vec<_> = files().filter(unknown).map(|(id, f)| (inode(f), id)).collect();
        if wanted.is_empty() {
            return;
        }
        wanted.sort_unstable();
        for (id, file) in files() {
            let Some(head) = fingerprints.head(id) else { continue };
            let start = wanted.partition_point(|(key, _)| *key < inode(file));
            for &(_, name) in wanted[start..].iter().take_while(|(key, _)| *key == inode(file)) {
                if version(tree.file(FileId(name))) != version(file) {
                    continue;
                }
                fingerprints.set_head(name, head);
                if let Some(content) = fingerprints.content(id) {
                    fingerprints.set_content(name, content);
                }
            }
        }
    }
}
