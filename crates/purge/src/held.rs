//! A worker's cache of open directories.

use std::rc::Rc;

use fsops::Dir;

use crate::nodes::NodeId;

#[derive(Debug)]
pub(crate) struct Held {
    open: Vec<(NodeId, u64, Rc<Dir>)>,
    most: usize,
    turn: u64,
}

impl Held {
    /// Returns a cache for `most` directories, at least one.
    pub(crate) fn new(most: usize) -> Held {
        Held { open: Vec::new(), most: most.max(1), turn: 0 }
    }

    pub(crate) fn get(&mut self, id: NodeId) -> Option<Rc<Dir>> {
        self.turn += 1;
        let (_, turn, dir) = self.open.iter_mut().rev().find(|(open, _, _)| *open == id)?;
        *turn = self.turn;
        Some(Rc::clone(dir))
    }

    /// Adds an open directory. If the cache is full, closes the least recently used one and calls
    /// `leave` for it.
    pub(crate) fn put(
        &mut self,
        id: NodeId,
        dir: Dir,
        leave: impl FnOnce(NodeId, &Dir),
    ) -> Rc<Dir> {
        self.turn += 1;
        let dir = Rc::new(dir);
        let entry = (id, self.turn, Rc::clone(&dir));
        if self.open.len() < self.most {
            self.open.push(entry);
        } else if let Some(oldest) = self.open.iter_mut().min_by_key(|(_, turn, _)| *turn) {
            leave(oldest.0, &oldest.2);
            *oldest = entry;
        }
        dir
    }

    /// Closes all directories and calls `leave` for each.
    pub(crate) fn clear(&mut self, leave: impl Fn(NodeId, &Dir)) {
        for (id, _, dir) in self.open.drain(..) {
            leave(id, &dir);
        }
    }

    /// Closes a directory that is no longer needed.
    pub(crate) fn close(&mut self, id: NodeId) {
        if let Some(at) = self.open.iter().rposition(|(open, _, _)| *open == id) {
            let (_, _, dir) = self.open.swap_remove(at);
            debug_assert_eq!(Rc::strong_count(&dir), 1, "somebody keeps it open");
        }
    }
}
