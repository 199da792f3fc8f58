//! The directories that a worker holds open: those it used last.

use std::rc::Rc;
use std::sync::Arc;

use fsops::Dir;

use crate::model::dir_node::DirNode;

/// Which tree a directory is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Source,
    Destination,
    /// The tree whose files may be linked to.
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
    /// Returns one that holds `most` directories open, or some if that is fewer.
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

    /// Holds a directory open, instead of the one that was used least recently if there are too many.
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

    /// Closes a directory that is not needed any more, on all sides.
    pub(crate) fn close(&mut self, node: &Arc<DirNode>) {
        self.open.retain(|open| !Arc::ptr_eq(&open.node, node));
    }

    /// Closes all.
    pub(crate) fn clear(&mut self) {
        self.open.clear();
    }
}
