//! The directories that are being emptied: who is in whom, under which name, and what is left to do
//! in each.
//!
//! A directory has a record from when its parent's listing names it until it is gone, so there are as
//! many as a depth-first way through the tree leaves open: never its whole breadth. A record takes 32
//! bytes and its name. Both are kept in pieces of a mebibyte, which is what the bound on memory can put
//! into files ([`runtime::memory`]), and used as a stack mostly, which is what that is fast for. So a chain
//! of a million directories needs neither memory nor stack.

use std::ffi::CString;
use std::num::NonZeroU64;

use walk::Names;

/// A directory that is being emptied. A number is used again, a number and generation are not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct NodeId {
    index: u32,
    generation: u32,
}

/// Where the emptying begins.
pub(crate) const TOP: NodeId = NodeId { index: 0, generation: 0 };

/// Records in a piece of a mebibyte.
const PIECE: usize = 1 << 15;

#[derive(Clone, Copy, Debug, Default)]
struct Node {
    /// Tells whether a directory that is opened again is the one; 0 if that was not looked at.
    identity: u64,
    parent: u32,
    generation: u32,
    /// What has to be done before the directory itself can be removed: its listing, directories in it,
    /// names somebody is at.
    pending: u32,
    page: u32,
    at: u16,
    length: u16,
    /// [`STAYS`], [`CHOSEN`], and in the upper bits how often it was listed.
    state: u8,
}

const STAYS: u8 = 1;
const CHOSEN: u8 = 2;
const PASS: u8 = 4;

/// So often a directory is listed again that is not empty although all that was listed is gone. Somebody
/// may be adding names, for ever; or the file system passes names over while others go.
const PASSES: u8 = 16;

#[derive(Debug, Default)]
pub(crate) struct Nodes {
    /// Of [`PIECE`] records each, of which no more are touched than there are.
    pieces: Vec<Vec<Node>>,
    /// Records ever used, and those of them that are free.
    used: u32,
    free: Vec<u32>,
    names: Names,
}

/// What is to become of a directory that nothing is left to do in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finished {
    pub(crate) parent: Option<NodeId>,
    /// Something in it stays, so that it does.
    pub(crate) stays: bool,
}

impl Nodes {
    /// Returns a table with the top directory alone; `chosen` tells whether all in it is to go.
    pub(crate) fn new(chosen: bool) -> Nodes {
        let mut nodes = Nodes::default();
        nodes.insert(Node { pending: 1, state: state(chosen), ..Node::default() });
        nodes
    }

    /// Adds a directory in `parent`, which is not finished before this one.
    pub(crate) fn add(&mut self, parent: NodeId, name: &[u8], chosen: bool) -> NodeId {
        self.hold(parent);
        let (page, at) = self.names.put(name);
        let length = u16::try_from(name.len()).unwrap_or(u16::MAX);
        let (parent, state) = (parent.index, state(chosen));
        self.insert(Node { parent, pending: 1, page, at, length, state, ..Node::default() })
    }

    fn insert(&mut self, node: Node) -> NodeId {
        let index = self.free.pop().unwrap_or_else(|| {
            let index = self.used;
            self.used += 1;
            if index as usize / PIECE == self.pieces.len() {
                self.pieces.push(Vec::with_capacity(PIECE));
            }
            self.pieces[index as usize / PIECE].push(Node::default());
            index
        });
        let place = self.at(index);
        let generation = place.generation;
        *place = Node { generation, ..node };
        NodeId { index, generation }
    }

    fn at(&mut self, index: u32) -> &mut Node {
        &mut self.pieces[index as usize / PIECE][index as usize % PIECE]
    }

    fn get(&self, index: u32) -> &Node {
        &self.pieces[index as usize / PIECE][index as usize % PIECE]
    }

    /// Forgets a directory that is finished.
    pub(crate) fn remove(&mut self, id: NodeId) {
        let Node { page, .. } = *self.get(id.index);
        self.names.remove(page);
        let node = self.at(id.index);
        node.generation = node.generation.wrapping_add(1);
        self.free.push(id.index);
    }

    /// Notes one thing more to be done in a directory.
    pub(crate) fn hold(&mut self, id: NodeId) {
        self.at(id.index).pending += 1;
    }

    /// Notes that one thing is done in a directory; if it was the last, returns what is to become of it.
    pub(crate) fn release(&mut self, id: NodeId) -> Option<Finished> {
        let node = self.at(id.index);
        node.pending -= 1;
        if node.pending > 0 {
            return None;
        }
        let stays = node.state & STAYS != 0;
        Some(Finished { parent: self.parent(id), stays })
    }

    /// Notes that something in a directory stays.
    pub(crate) fn stay(&mut self, id: NodeId) {
        self.at(id.index).state |= STAYS;
    }

    /// Returns whether anything in a directory stays.
    pub(crate) fn stays(&self, id: NodeId) -> bool {
        self.get(id.index).state & STAYS != 0
    }

    /// Returns whether a directory was listed to its end before.
    pub(crate) fn was_listed(&self, id: NodeId) -> bool {
        self.get(id.index).state >= PASS
    }

    /// Counts one more listing of a finished directory, unless there were too many.
    pub(crate) fn again(&mut self, id: NodeId) -> bool {
        let node = self.at(id.index);
        let more = node.state / PASS < PASSES;
        if more {
            node.state += PASS;
            node.pending += 1;
        }
        more
    }

    /// Returns whether everything in a directory is to go, whatever it is called.
    pub(crate) fn is_chosen(&self, id: NodeId) -> bool {
        self.get(id.index).state & CHOSEN != 0
    }

    /// Returns what [`Nodes::identify`] was told of a directory.
    pub(crate) fn identity(&self, id: NodeId) -> Option<NonZeroU64> {
        NonZeroU64::new(self.get(id.index).identity)
    }

    /// Notes which directory it is, unless it is done with.
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

    /// Returns whether a directory is more than so many below the top.
    pub(crate) fn is_deeper(&self, id: NodeId, depth: usize) -> bool {
        std::iter::successors(Some(id), |&id| self.parent(id)).nth(depth + 1).is_some()
    }

    pub(crate) fn name(&self, id: NodeId) -> CString {
        // A name from a listing has no NUL in it.
        CString::new(self.name_bytes(id.index)).unwrap_or_default()
    }

    fn name_bytes(&self, index: u32) -> &[u8] {
        let node = self.get(index);
        self.names.get(node.page, node.at, node.length)
    }

    /// Returns the path of a directory below the top one, which itself has an empty one.
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
