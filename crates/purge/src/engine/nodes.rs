//! The directories being emptied: their parents, names, and pending work.
//!
//! A directory has a record from the listing of its parent until its removal, so there are only as
//! many records as a depth-first traversal leaves open, never the whole breadth of the tree. A
//! record takes 32 bytes and the name. Both are stored in pieces of 1 MiB that can be spilled
//! ([`runtime::memory`]), and used mostly as a stack, for which spilling is fast. A chain of a
//! million directories thus needs little memory and no call stack.

use std::ffi::CString;
use std::num::NonZeroU64;

use walk::Names;

/// A directory being emptied. Indices are reused, but not together with the generation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeId {
    index: u32,
    generation: u32,
}

/// The top directory.
pub(crate) const TOP: NodeId = NodeId { index: 0, generation: 0 };

/// Records per piece of 1 MiB.
const PIECE_RECORDS: usize = 1 << 15;

#[derive(Clone, Copy, Debug, Default)]
struct Node {
    /// Identity by which a reopened directory is recognised; 0 if unknown.
    identity: u64,
    parent: u32,
    generation: u32,
    /// Number of pending items before the directory itself can be removed: its listing,
    /// subdirectories, and names that workers are processing.
    pending: u32,
    page: u32,
    at: u16,
    length: u16,
    /// [`STAYS`], [`CHOSEN`], and in the upper bits the number of listings.
    state: u8,
}

const STAYS: u8 = 1;
const CHOSEN: u8 = 2;
const PASS: u8 = 4;

/// Maximum number of listings of a directory that is not empty although all listed entries are
/// removed. Another process may keep adding names, or the file system may skip names while others
/// are removed.
const MAX_LISTINGS: u8 = 16;

#[derive(Debug, Default)]
pub(crate) struct Nodes {
    /// Pieces of [`PIECE_RECORDS`] records each. Only used parts of them are touched.
    pieces: Vec<Vec<Node>>,
    /// Number of records ever used, and those of them that are free.
    used: u32,
    free: Vec<u32>,
    names: Names,
}

/// A directory without pending items.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finished {
    pub(crate) parent: Option<NodeId>,
    /// Whether it is kept because an entry in it is.
    pub(crate) stays: bool,
}

impl Nodes {
    /// Returns a table with the top directory only. `chosen` tells whether all of its entries are
    /// selected.
    pub(crate) fn new(chosen: bool) -> Nodes {
        let mut nodes = Nodes::default();
        nodes.insert(Node { pending: 1, state: state(chosen), ..Node::default() });
        nodes
    }

    /// Adds a subdirectory of `parent`, which then waits for it.
    pub(crate) fn add(&mut self, parent: NodeId, name: &[u8], chosen: bool) -> NodeId {
        self.hold(parent);
        let (page, at) = self.names.put(name);
        let length = u16::try_from(name.len()).expect("a name has at most 255 bytes");
        let (parent, state) = (parent.index, state(chosen));
        self.insert(Node { parent, pending: 1, page, at, length, state, ..Node::default() })
    }

    fn insert(&mut self, node: Node) -> NodeId {
        let index = self.free.pop().unwrap_or_else(|| {
            let index = self.used;
            self.used += 1;
            if index as usize / PIECE_RECORDS == self.pieces.len() {
                self.pieces.push(Vec::with_capacity(PIECE_RECORDS));
            }
            self.pieces[index as usize / PIECE_RECORDS].push(Node::default());
            index
        });
        let place = self.at(index);
        let generation = place.generation;
        *place = Node { generation, ..node };
        NodeId { index, generation }
    }

    fn at(&mut self, index: u32) -> &mut Node {
        &mut self.pieces[index as usize / PIECE_RECORDS][index as usize % PIECE_RECORDS]
    }

    fn get(&self, index: u32) -> &Node {
        &self.pieces[index as usize / PIECE_RECORDS][index as usize % PIECE_RECORDS]
    }

    /// Removes a finished directory from the table.
    pub(crate) fn remove(&mut self, id: NodeId) {
        let Node { page, .. } = *self.get(id.index);
        self.names.remove(page);
        let node = self.at(id.index);
        node.generation = node.generation.wrapping_add(1);
        self.free.push(id.index);
    }

    /// Adds a pending item to a directory.
    pub(crate) fn hold(&mut self, id: NodeId) {
        self.at(id.index).pending += 1;
    }

    /// Completes a pending item of a directory. Returns the directory if it was the last one.
    pub(crate) fn release(&mut self, id: NodeId) -> Option<Finished> {
        let node = self.at(id.index);
        node.pending -= 1;
        if node.pending > 0 {
            return None;
        }
        let stays = node.state & STAYS != 0;
        Some(Finished { parent: self.parent(id), stays })
    }

    /// Notes that an entry of a directory is kept.
    pub(crate) fn stay(&mut self, id: NodeId) {
        self.at(id.index).state |= STAYS;
    }

    /// Returns whether any entry of a directory is kept.
    pub(crate) fn stays(&self, id: NodeId) -> bool {
        self.get(id.index).state & STAYS != 0
    }

    /// Returns whether a directory has been listed completely before.
    pub(crate) fn was_listed(&self, id: NodeId) -> bool {
        self.get(id.index).state >= PASS
    }

    /// Starts another listing of a finished directory. Returns false if there were too many.
    pub(crate) fn again(&mut self, id: NodeId) -> bool {
        let node = self.at(id.index);
        let more = node.state / PASS < MAX_LISTINGS;
        if more {
            node.state += PASS;
            node.pending += 1;
        }
        more
    }

    /// Returns whether all entries of a directory are selected, whatever their names.
    pub(crate) fn is_chosen(&self, id: NodeId) -> bool {
        self.get(id.index).state & CHOSEN != 0
    }

    /// Returns the identity set by [`Nodes::identify`].
    pub(crate) fn identity(&self, id: NodeId) -> Option<NonZeroU64> {
        NonZeroU64::new(self.get(id.index).identity)
    }

    /// Records a directory's identity, unless the directory is finished.
    pub(crate) fn identify(&mut self, id: NodeId, identity: u64) {
        let node = self.at(id.index);
        if node.generation == id.generation {
            node.identity = identity;
        }
    }

    pub(crate) fn parent(&self, id: NodeId) -> Option<NodeId> {
        let index = (id != TOP).then(|| self.get(id.index).parent)?;
        Some(NodeId { index, generation: self.get(index).generation })
    }

    /// Returns whether a directory is more than `depth` levels below the top.
    pub(crate) fn is_deeper(&self, id: NodeId, depth: usize) -> bool {
        std::iter::successors(Some(id), |&id| self.parent(id)).nth(depth + 1).is_some()
    }

    pub(crate) fn name(&self, id: NodeId) -> CString {
        // Names from a listing contain no NUL.
        CString::new(self.name_bytes(id.index)).unwrap_or_default()
    }

    fn name_bytes(&self, index: u32) -> &[u8] {
        let node = self.get(index);
        self.names.get(node.page, node.at, node.length)
    }

    /// Returns a directory's path below the top directory; empty for the top directory.
    pub(crate) fn path(&self, id: NodeId) -> Vec<u8> {
        let above = std::iter::successors(Some(id), |&id| self.parent(id));
        let names: Vec<u32> = above.map(|id| id.index).take_while(|&index| index != 0).collect();
        let names: Vec<&[u8]> = names.iter().rev().map(|&index| self.name_bytes(index)).collect();
        names.join(&b'/')
    }
}

fn state(chosen: bool) -> u8 {
    if chosen { CHOSEN } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::{Finished, Nodes, TOP};

    #[test]
    fn a_directory_is_finished_after_what_is_in_it() {
        let mut nodes = Nodes::new(true);
        let a = nodes.add(TOP, b"a", true);
        let b = nodes.add(a, b"b", true);
        assert_eq!(nodes.path(b), b"a/b");
        assert!(nodes.is_deeper(b, 1) && !nodes.is_deeper(b, 2));
        assert_eq!(nodes.release(TOP), None);
        assert_eq!(nodes.release(a), None);
        assert_eq!(nodes.release(b), Some(Finished { parent: Some(a), stays: false }));
        nodes.remove(b);
        nodes.stay(a);
        assert_eq!(nodes.release(a), Some(Finished { parent: Some(TOP), stays: true }));
        nodes.remove(a);
        assert_eq!(nodes.release(TOP), Some(Finished { parent: None, stays: false }));
    }

    #[test]
    fn a_number_that_is_used_again_is_another_directory() {
        let mut nodes = Nodes::new(true);
        let a = nodes.add(TOP, b"a", true);
        nodes.remove(a);
        let b = nodes.add(TOP, b"b", true);
        assert_ne!(a, b);
        assert_eq!(nodes.name(b).as_bytes(), b"b");
    }

    #[test]
    fn a_deep_chain_takes_back_what_it_took() {
        let mut nodes = Nodes::new(true);
        for _ in 0..3 {
            let mut chain = vec![TOP];
            for level in 0..100_000u64 {
                let name = format!("{level:0width$}", width = 1 + (level % 255) as usize);
                chain.push(nodes.add(chain[chain.len() - 1], name.as_bytes(), true));
            }
            let name = nodes.name(chain[90_000]).into_bytes();
            assert!(name.ends_with(b"89999") && name.len() == 1 + 89_999 % 255);
            let (records, pages) = (nodes.pieces.len(), nodes.names.pages());
            assert!(records <= 4 && pages <= 100_000 / 15, "{records}, {pages}");
            while let Some(id) = chain.pop().filter(|&id| id != TOP) {
                nodes.remove(id);
            }
        }
    }
}
