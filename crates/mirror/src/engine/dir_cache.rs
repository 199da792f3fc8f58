//! The directories that a worker holds open: those it used last.

use std::rc::Rc;
use std::sync::Arc;

use fsops::Dir;

use crate::model::dir_node::Node;

/// Which tree a directory is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Source,
    Destination,
    /// The tree whose files may be linked to.
    Base,
}

#[derive(Debug)]
pub(crate) struct Held {
    open: Vec<Open>,
    most: usize,
    turn: u64,
}

#[derive(Debug)]
struct Open {
    side: Side,
    node: Arc<Node>,
    turn: u64,
    dir: Rc<Dir>,
}

impl Held {
    /// Returns one that holds `most` directories open, or some if that is fewer.
    pub(crate) fn new(most: usize) -> Held {
        Held { open: Vec::new(), most: most.max(4), turn: 0 }
    }

    pub(crate) fn get(&mut self, side: Side, node: &Arc<Node>) -> Option<Rc<Dir>> {
        self.turn += 1;
        let is_it = |open: &&mut Open| open.side == side && Arc::ptr_eq(&open.node, node);
        let open = self.open.iter_mut().rev().find(is_it)?;
        open.turn = self.turn;
        Some(Rc::clone(&open.dir))
    }

    /// Holds a directory open, instead of the one that was used least recently if there are too many.
    pub(crate) fn put(&mut self, side: Side, node: &Arc<Node>, dir: Dir) -> Rc<Dir> {
        self.turn += 1;
        let dir = Rc::new(dir);
        let (node, turn) = (Arc::clone(node), self.turn);
        let entry = Open { side, node, turn, dir: Rc::clone(&dir) };
        if self.open.len() < self.most {
            self.open.push(entry);
        } else if let Some(oldest) = self.open.iter_mut().min_by_key(|open| open.turn) {
            *oldest = entry;
        }
        dir
    }

    /// Closes a directory that is not needed any more, on all sides.
    pub(crate) fn close(&mut self, node: &Arc<Node>) {
        self.open.retain(|open| !Arc::ptr_eq(&open.node, node));
    }

    /// Closes all.
    pub(crate) fn clear(&mut self) {
        self.open.clear();
    }
}
