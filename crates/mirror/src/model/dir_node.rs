//! The directories that are being mirrored: who is in whom, under which name, and what is left to do in
//! each.
//!
//! A directory is kept as long as somebody refers to it: directories in it, work that waits, names that
//! others are to be linked to.

use std::ffi::CStr;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use fsops::{Stat, Xattr};

use crate::model::attributes::Attributes;
use crate::model::metadata_support::Keeps;
use crate::model::temp_name::Parts;

/// One directory of the tree, on both sides.
#[derive(Debug)]
pub(crate) struct Node {
    parent: Option<Arc<Node>>,
    name: Box<CStr>,
    /// Its own names, as one, and directories in it that are not finished.
    pending: AtomicU32,
    state: AtomicU8,
    facts: OnceLock<Box<Facts>>,
}

/// What a directory is to be, but for what is in it.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) stat: Stat,
    pub(crate) attributes: Attributes,
    /// What the destination's was, when it was found or just made.
    pub(crate) there: Option<Stat>,
    /// Its attributes then, if it had to be opened up, which changes an ACL.
    pub(crate) xattrs_there: Option<Vec<Xattr>>,
    /// What is kept of metadata where it is at the destination.
    pub(crate) keeps: Keeps,
    /// What is in it is mirrored too.
    pub(crate) is_entered: bool,
}

/// At the destination it has the name for what is not ready.
pub(crate) const ASIDE: u8 = 1;
/// Something was changed in it, so its times have to be set.
pub(crate) const TOUCHED: u8 = 2;
/// There is no such directory at the destination, and none is made: a dry run.
pub(crate) const IMAGINED: u8 = 4;
/// The destination has a directory of the name.
pub(crate) const THERE: u8 = 8;
/// It is not where it was made.
pub(crate) const GONE: u8 = 16;
/// The destination has something of the name that is no directory.
pub(crate) const INSTEAD: u8 = 64;
/// It was tried in it what is kept of metadata, or that could not be.
pub(crate) const TRIED: u8 = 32;

impl Node {
    /// Returns the top directory.
    pub(crate) fn top() -> Arc<Node> {
        Node::new(None, c"", THERE)
    }

    /// Returns a directory in `parent`, which is not finished before this one.
    pub(crate) fn child(parent: &Arc<Node>, name: &CStr, state: u8) -> Arc<Node> {
        parent.hold();
        Node::new(Some(Arc::clone(parent)), name, state)
    }

    fn new(parent: Option<Arc<Node>>, name: &CStr, state: u8) -> Arc<Node> {
        Arc::new(Node {
            parent,
            name: name.into(),
            pending: AtomicU32::new(1),
            state: AtomicU8::new(state),
            facts: OnceLock::new(),
        })
    }

    pub(crate) fn parent(&self) -> Option<&Arc<Node>> {
        self.parent.as_ref()
    }

    pub(crate) fn name(&self) -> &CStr {
        &self.name
    }

    pub(crate) fn set(&self, flag: u8) {
        self.state.fetch_or(flag, Relaxed);
    }

    pub(crate) fn unset(&self, flag: u8) {
        self.state.fetch_and(!flag, Relaxed);
    }

    pub(crate) fn is(&self, flag: u8) -> bool {
        self.state.load(Relaxed) & flag != 0
    }

    /// Returns whether it may be about to get another path at the destination: it, or one that it is in, has the name
    /// for what is not ready.
    pub(crate) fn may_move(&self) -> bool {
        let chain = || std::iter::successors(Some(self), |node| node.parent.as_deref());
        chain().any(|node| node.is(ASIDE)) && !chain().any(|node| node.is(GONE))
    }

    pub(crate) fn know(&self, facts: Facts) {
        // Said once, by who lists it.
        let _known = self.facts.set(Box::new(facts));
    }

    pub(crate) fn facts(&self) -> Option<&Facts> {
        self.facts.get().map(Box::as_ref)
    }

    /// Returns what is kept of metadata where it is at the destination.
    pub(crate) fn keeps(&self) -> Keeps {
        self.facts().map_or(Keeps::ALL, |facts| facts.keeps)
    }

    /// Returns the device of the destination that it is on; nothing as long as it is not there.
    pub(crate) fn device_there(&self) -> Option<u64> {
        self.facts()?.there.map(|there| there.device)
    }

    /// Notes one thing more to be done in the directory.
    pub(crate) fn hold(&self) {
        self.pending.fetch_add(1, Relaxed);
    }

    /// Notes that one thing is done in it; returns whether it was the last.
    pub(crate) fn release(&self) -> bool {
        self.pending.fetch_sub(1, std::sync::atomic::Ordering::AcqRel) == 1
    }

    /// Returns the path below the top directory of the source.
    pub(crate) fn path(&self) -> Vec<u8> {
        self.joined(|node| node.name.to_bytes().to_vec())
    }

    /// Returns the path below the top directory of the destination, as it is at the moment.
    pub(crate) fn path_there(&self, parts: &Parts) -> Vec<u8> {
        self.joined(|node| node.name_there(parts).to_bytes().to_vec())
    }

    /// Returns its name at the destination, as it is at the moment.
    pub(crate) fn name_there(&self, parts: &Parts) -> std::ffi::CString {
        if self.is(ASIDE) { parts.of(&self.name) } else { (*self.name).to_owned() }
    }

    /// Returns the path of something in the directory, below the top.
    pub(crate) fn child_path(&self, name: &[u8]) -> Vec<u8> {
        let mut path = self.path();
        if !name.is_empty() && !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        path
    }

    fn joined(&self, name: impl Fn(&Node) -> Vec<u8>) -> Vec<u8> {
        let above = std::iter::successors(Some(self), |node| node.parent.as_deref());
        let mut names: Vec<Vec<u8>> =
            above.filter(|node| node.parent.is_some()).map(name).collect();
        names.reverse();
        names.join(&b'/')
    }
}

/// As long a chain as a tree can be deep is let go of without recursion.
impl Drop for Node {
    fn drop(&mut self) {
        let mut above = self.parent.take();
        while let Some(mut node) = above.and_then(Arc::into_inner) {
            above = node.parent.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ASIDE, Node};
    use crate::model::temp_name::Parts;

    #[test]
    fn a_directory_that_is_not_ready_has_another_name() {
        let (top, parts, flags) = (Node::top(), Parts::new(), ASIDE);
        let a = Node::child(&top, c"a", 0);
        let b = Node::child(&a, c"b", flags);
        assert_eq!((top.path(), b.path()), (b"".to_vec(), b"a/b".to_vec()));
        assert!(b.path_there(&parts).starts_with(b"a/.lop-part-"));
        b.unset(ASIDE);
        assert_eq!(b.path_there(&parts), b"a/b");
    }

    #[test]
    fn a_directory_is_finished_after_what_is_in_it() {
        let top = Node::top();
        let a = Node::child(&top, c"a", 0);
        assert!(!top.release());
        assert!(a.release() && top.release());
    }

    #[test]
    fn a_deep_chain_needs_no_stack() {
        let mut node = Node::top();
        for _ in 0..1_000_000 {
            node = Node::child(&node, c"d", 0);
        }
        drop(node);
    }
}
