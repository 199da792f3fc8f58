//! The disk space of files. Most files take their size in whole blocks, so only the others are
//! stored.

use crate::tree::Tree;
use crate::tree::records::{FileId, FileRecord};

/// Size of the blocks that a file usually consists of, in bytes.
const BLOCK_BYTES: u64 = 4096;

/// Returns the number of bytes that a file of this size usually takes on disk: its size in whole
/// blocks.
///
/// Sparse, compressed and preallocated files take other numbers of bytes, as do small files that a
/// file system stores in their inodes.
pub fn usual_allocation(size: u64) -> u64 {
    size.checked_next_multiple_of(BLOCK_BYTES).unwrap_or(u64::MAX)
}

/// The disk space of the files with names in one block of names, without files that take the usual
/// number of bytes.
///
/// The offset of its name identifies a file. Files can therefore be moved or removed after their
/// disk space was noted.
#[derive(Debug, Default)]
pub(crate) struct Allocations(Vec<(u32, u64)>);

impl Allocations {
    /// Notes the disk space of a file, given by the offset of its name.
    pub(crate) fn note(&mut self, name: u32, size: u64, allocated: u64) {
        if allocated != usual_allocation(size) {
            self.0.push((name, allocated));
        }
    }

    /// Sorts the files by name. Required before [`Tree::allocated`] unless files were noted in the
    /// order of their names.
    pub(crate) fn sort(&mut self) {
        self.0.sort_unstable();
        self.0.shrink_to_fit();
    }

    fn of(&self, file: &FileRecord) -> u64 {
        match self.0.binary_search_by_key(&file.name, |&(name, _)| name) {
            Ok(at) => self.0[at].1,
            Err(_) => usual_allocation(file.size),
        }
    }
}

impl Tree {
    /// Returns the number of bytes that a file takes on disk.
    pub fn allocated(&self, id: FileId) -> u64 {
        let file = self.file(id);
        self.allocations[self.dir(file.dir).shard as usize].of(file)
    }

    /// Sets the number of bytes that a remembered file takes on disk. The file must be the one that
    /// was added last.
    pub fn remember_allocated(&mut self, id: FileId, allocated: u64) {
        let file = *self.file(id);
        let shard = self.dir(file.dir).shard as usize;
        self.allocations[shard].note(file.name, file.size, allocated);
    }
}
