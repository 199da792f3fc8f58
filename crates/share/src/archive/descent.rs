//! The open directories between the root and the directory in use.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use fsops::Dir;

use super::table::{Index, Table};

/// Maximum number of directories that stay open. An archive is read by many clients at once, and a process may have
/// few descriptors. In deeper trees, directories are opened again on the way up.
const MAX_OPEN: usize = 8;

/// Opens the directories of a table, each relative to its parent and without following links.
#[derive(Debug)]
pub(super) struct Descent {
    root: Arc<Dir>,
    /// Each directory is the parent of the next one.
    open: VecDeque<(Index, Dir)>,
}

impl Descent {
    pub(super) fn new(root: Arc<Dir>) -> Descent {
        Descent { root, open: VecDeque::with_capacity(MAX_OPEN) }
    }

    /// Returns the directory `index`. Neighbours are cheap: their parents are open.
    ///
    /// # Errors
    ///
    /// Returns the error of `openat(2)`.
    pub(super) fn open(&mut self, table: &Table, index: Index) -> io::Result<&Dir> {
        let mut missing = Vec::new();
        let mut at = index;
        let kept = loop {
            if at == 0 {
                break 0;
            }
            if let Some(found) = self.open.iter().rposition(|(open, _)| *open == at) {
                break found + 1;
            }
            missing.push(at);
            at = table.get(at).parent;
        };
        self.open.truncate(kept);
        for &next in missing.iter().rev() {
            let parent = self.open.back().map_or(&*self.root, |(_, dir)| dir);
            let dir = parent.open_child(&table.c_name(next)?)?;
            if self.open.len() == MAX_OPEN {
                self.open.pop_front();
            }
            self.open.push_back((next, dir));
        }
        Ok(self.open.back().map_or(&*self.root, |(_, dir)| dir))
    }
}
