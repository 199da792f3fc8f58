//! A cache of open directories: those that a worker used last. One worker owns it, so it has no lock.

use std::rc::Rc;
use std::sync::Arc;

use fsops::Dir;

use crate::model::dir_node::DirNode;

/// The tree that a directory belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Source,
    Destination,
    /// The tree of `--link-dest`, whose files may be linked to.
    Base,
}

#[derive(Debug)]
pub(crate) struct DirCache {
    open: Vec<CachedDir>,
    capacity: usize,
    tick: u64,
}

#[derive(Debug)]
struct CachedDir {
    side: Side,
    node: Arc<DirNode>,
    tick: u64,
    dir: Rc<Dir>,
}

impl DirCache {
    /// Returns a cache of `capacity` directories, but at least 4.
    pub(crate) fn new(capacity: usize) -> DirCache {
        DirCache { open: Vec::new(), capacity: capacity.max(4), tick: 0 }
    }

    pub(crate) fn get(&mut self, side: Side, node: &Arc<DirNode>) -> Option<Rc<Dir>> {
        self.tick += 1;
        let is_it = |open: &&mut CachedDir| open.side == side && Arc::ptr_eq(&open.node, node);
        let open = self.open.iter_mut().rev().find(is_it)?;
        open.tick = self.tick;
        Some(Rc::clone(&open.dir))
    }

    /// Puts an open directory into the cache. If the cache is full, the directory replaces the least recently used one.
    pub(crate) fn put(&mut self, side: Side, node: &Arc<DirNode>, dir: Dir) -> Rc<Dir> {
        self.tick += 1;
        let dir = Rc::new(dir);
        let (node, tick) = (Arc::clone(node), self.tick);
        let entry = CachedDir { side, node, tick, dir: Rc::clone(&dir) };
        if self.open.len() < self.capacity {
            self.open.push(entry);
        } else if let Some(oldest) = self.open.iter_mut().min_by_key(|open| open.tick) {
            *oldest = entry;
        }
        dir
    }

    /// Closes a directory of all trees that is no longer needed.
    pub(crate) fn close(&mut self, node: &Arc<DirNode>) {
        self.open.retain(|open| !Arc::ptr_eq(&open.node, node));
    }

    /// Closes all directories.
    pub(crate) fn clear(&mut self) {
        self.open.clear();
    }
}
