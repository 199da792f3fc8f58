//! A direct-mapped cache of open directories, indexed by directory number.
//!
//! The slot of a directory is its number modulo the number of slots. This works because directories
//! that are close in the tree have similar numbers, and files are opened roughly in tree order.

use fsops::Dir;

use crate::tree::records::DirId;

#[derive(Debug)]
pub(crate) struct DirSlots(Vec<Option<(DirId, Dir)>>);

impl DirSlots {
    /// Returns a cache for `count` directories, or for one directory if `count` is 0.
    pub(crate) fn new(count: usize) -> DirSlots {
        DirSlots(std::iter::repeat_with(|| None).take(count.max(1)).collect())
    }

    /// Returns a directory if it is open.
    pub(crate) fn get(&self, id: DirId) -> Option<&Dir> {
        self.0[self.slot(id)].as_ref().filter(|(open, _)| *open == id).map(|(_, dir)| dir)
    }

    /// Stores an open directory, and closes the previous one in its slot.
    pub(crate) fn put(&mut self, id: DirId, dir: Dir) -> &Dir {
        let slot = self.slot(id);
        &self.0[slot].insert((id, dir)).1
    }

    /// Closes all directories.
    pub(crate) fn clear(&mut self) {
        self.0.iter_mut().for_each(|slot| *slot = None);
    }

    fn slot(&self, id: DirId) -> usize {
        id.0 as usize % self.0.len()
    }
}
