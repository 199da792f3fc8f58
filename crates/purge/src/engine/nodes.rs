//! The table of directories that are being emptied, with their parents, names, and pending items.
//!
//! The table has a record for each directory from the time its parent is listed until it is
//! removed. It therefore contains only directories that a depth-first traversal has found and not
//! yet removed.
//!
//! A record takes 32 bytes, plus the bytes of the name. Records and names are stored in pieces of 1
//! MiB that can be spilled ([`runtime::memory`]). Spilling is fast because the pieces are used
//! mostly as a stack. A chain of a million directories thus needs little memory and no recursion.

use std::ffi::CString;
use std::num::NonZeroU64;

use walk::Names;

/// Identifies a directory in the table. When an index is reused, it gets a new generation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeId {
    index: u32,
    generation: u32,
}

/// The top directory.
pub(crate) const TOP: NodeId = NodeId { index: 0, generation: 0 };

/// Number of records per piece of 1 MiB.
const PIECE_RECORDS: usize = 1 << 15;

#[derive(Clone, Copy, Debug, Default)]
struct Node {
    /// Hash by which the directory is recognised when it is opened again, or 0 if unknown.
    identity: u64,
    parent: u32,
    generation: u32,
    /// Number of pending items. The directory can be removed when all of them are complete. An item
    /// is the listing, a subdirectory, or a batch of names.
    pending: u32,
    page: u32,
    at: u16,
    length: u16,
    /// Flags [`STAYS`] and [`CHOSEN`]. The upper bits contain the number of repeated listings.
    state: u8,
}

const STAYS: u8 = 1;
const CHOSEN: u8 = 2;
const PASS: u8 = 4;

/// Maximum number of times to list a directory again if it is not empty after all listed entries
/// were removed. Another process may keep adding names. Some file systems skip names in a listing
/// while other names are being removed.
const MAX_LISTINGS: u8 = 16;

#[derive(Debug, Default)]
pub(crate) struct Nodes {
    /// Pieces of [`PIECE_RECORDS`] records. Unused parts of a piece take no memory.
    pieces: Vec<Vec<Node>>,
    /// Number of records, including free ones.
    used: u32,
    /// Indices of the free records.
    free: Vec<u32>,
    names: Names,
}

/// A directory without pending items.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finished {
    pub(crate) parent: Option<NodeId>,
    /// True if the directory must be kept, for example because an entry in it is kept.
    pub(crate) stays: bool,
}

impl Nodes {
    /// Returns a table that contains only the top directory. `chosen` is true if all entries of the
    /// top directory are selected.
    pub(crate) fn new(chosen: bool) -> Nodes {
        let mut nodes = Nodes::default();
        nodes.insert(Node { pending: 1, state: state(chosen), ..Node::default() });
        nodes
    }

    /// Adds a subdirectory, which is a pending item of `parent`.
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

    /// Removes a directory without pending items from the table.
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

    /// Completes a pending item of a directory. Returns [`Finished`] if no pending items are left.
    pub(crate) fn release(&mut self, id: NodeId) -> Option<Finished> {
        let node = self.at(id.index);
        node.pending -= 1;
        if node.pending > 0 {
            return None;
        }
        let stays = node.state & STAYS != 0;
        Some(Finished { parent: self.parent(id), stays })
    }

    /// Marks a directory as kept.
    pub(crate) fn stay(&mut self, id: NodeId) {
        self.at(id.index).state |= STAYS;
    }

    /// Returns whether a directory is marked as kept.
    pub(crate) fn stays(&self, id: NodeId) -> bool {
        self.get(id.index).state & STAYS != 0
    }

    /// Returns whether a directory is being listed again.
    pub(crate) fn was_listed(&self, id: NodeId) -> bool {
        self.get(id.index).state >= PASS
    }

    /// Starts another listing of a directory. Returns false if the maximum number of listings is
    /// reached.
    pub(crate) fn again(&mut self, id: NodeId) -> bool {
        let node = self.at(id.index);
        let more = node.state / PASS < MAX_LISTINGS;
        if more {
            node.state += PASS;
            node.pending += 1;
        }
        more
    }

    /// Returns whether all entries of a directory are selected, regardless of their names.
    pub(crate) fn is_chosen(&self, id: NodeId) -> bool {
        self.get(id.index).state & CHOSEN != 0
    }

    /// Returns the identity set by [`Nodes::identify`].
    pub(crate) fn identity(&self, id: NodeId) -> Option<NonZeroU64> {
        NonZeroU64::new(self.get(id.index).identity)
    }

    /// Sets the identity of a directory, unless it has been removed from the table.
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

    /// Returns the path of a directory relative to the top directory.
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
    fn directories_finish_after_their_subdirectories() {
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
    fn reused_indices_identify_another_directory() {
        let mut nodes = Nodes::new(true);
        let a = nodes.add(TOP, b"a", true);
        nodes.remove(a);
        let b = nodes.add(TOP, b"b", true);
        assert_ne!(a, b);
        assert_eq!(nodes.name(b).as_bytes(), b"b");
    }

    #[test]
    fn memory_of_removed_directories_is_reused() {
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
