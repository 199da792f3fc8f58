//! A worker's cache of open directories. The key is the tree and the node.

use std::rc::Rc;
use std::sync::Arc;

use fsops::Dir;

use crate::model::dir_node::DirNode;

/// The tree that a directory belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Source,
    Destination,
    /// The tree of `--link-dest`. Files in the destination can be hard links to its files.
    Base,
}

/// A cache of the directories that a worker used most recently.
#[derive(Debug)]
pub(crate) struct DirCache(walk::DirCache<(Side, Arc<DirNode>)>);

impl DirCache {
    /// Returns a cache for `capacity` directories, or for 4 if `capacity` is smaller.
    pub(crate) fn new(capacity: usize) -> DirCache {
        DirCache(walk::DirCache::new(capacity.max(4)))
    }

    pub(crate) fn get(&mut self, side: Side, node: &Arc<DirNode>) -> Option<Rc<Dir>> {
        self.0.get(|(of, open)| *of == side && Arc::ptr_eq(open, node))
    }

    /// Adds an open directory. If the cache is full, it replaces the least recently used one.
    pub(crate) fn put(&mut self, side: Side, node: &Arc<DirNode>, dir: Dir) -> Rc<Dir> {
        self.0.put((side, Arc::clone(node)), dir, |_, _| ())
    }

    /// Closes a directory in all trees when it is no longer needed.
    pub(crate) fn close(&mut self, node: &Arc<DirNode>) {
        while self.0.close(|(_, open)| Arc::ptr_eq(open, node)).is_some() {}
    }

    /// Closes all directories.
    pub(crate) fn clear(&mut self) {
        self.0.clear(|_, _| ());
    }
}
