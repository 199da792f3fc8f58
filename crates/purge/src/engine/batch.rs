//! A batch of names to remove from one directory, sorted by inode number.
//!
//! Files with neighbouring inode numbers share an inode block, so each block is read, changed and
//! written once. The kernel locks a directory while it unlinks a name, but not while it releases
//! the inode. Both steps take about the same time. Two workers can therefore share a directory. On
//! a flat directory of 200,000 names on ext4, two threads took 68 % of the time that one thread
//! took. A third thread did not make the removal faster.

use std::ffi::CStr;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use crate::engine::nodes::NodeId;

/// Number of names that a worker takes at once. The inodes of this many neighbouring names are in
/// one or a few inode blocks.
pub(crate) const CHUNK_NAMES: usize = 64;

/// Names to remove from one directory.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    pub(crate) dir: NodeId,
    /// Inode number and name offset of each name.
    items: Vec<(u64, u32)>,
    names: Vec<u8>,
    next: AtomicUsize,
    left: AtomicUsize,
}

impl Batch {
    pub(crate) fn new(dir: NodeId) -> Batch {
        Batch { dir, ..Batch::default() }
    }

    /// Returns the inode numbers of the names.
    pub(crate) fn inodes(&self) -> impl Iterator<Item = u64> {
        self.items.iter().map(|&(inode, _)| inode)
    }

    pub(crate) fn push(&mut self, inode: u64, name: &CStr) {
        let at = u32::try_from(self.names.len()).expect("a batch has less than 4 GiB of names");
        self.items.push((inode, at));
        self.names.extend_from_slice(name.to_bytes_with_nul());
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.names.len() + self.items.len() * size_of::<(u64, u32)>()
    }

    pub(crate) fn clear(&mut self) {
        self.items.clear();
        self.names.clear();
    }

    /// Sorts the names by inode number. Required before [`Batch::take`].
    pub(crate) fn sort(&mut self) {
        self.items.sort_unstable();
        *self.next.get_mut() = 0;
        *self.left.get_mut() = self.items.len();
    }

    /// Takes a chunk of names to remove. Returns the indices of the names, or `None` if no names
    /// are left.
    pub(crate) fn take(&self) -> Option<Range<usize>> {
        let start = self.next.fetch_add(CHUNK_NAMES, Relaxed);
        (start < self.items.len()).then(|| start..self.items.len().min(start + CHUNK_NAMES))
    }

    /// Marks taken names as done. Returns whether all names of the batch are done.
    pub(crate) fn is_done(&self, taken: &Range<usize>) -> bool {
        self.left.fetch_sub(taken.len(), Relaxed) == taken.len()
    }

    pub(crate) fn name(&self, index: usize) -> &CStr {
        let from = self.items[index].1 as usize;
        CStr::from_bytes_until_nul(&self.names[from..]).unwrap_or_default()
    }
}
