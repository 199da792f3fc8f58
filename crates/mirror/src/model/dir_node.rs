//! The tree of directories being mirrored. Each node stores its parent, its name, its state, and the number of its
//! unfinished parts.
//!
//! A node lives as long as something refers to it: the node of a subdirectory, a queued task, or a name that other
//! names will be linked to. A directory is finished when its own names and all of its subdirectories are finished.
//! Calls to [`DirNode::hold`] and [`DirNode::release`] MUST be balanced, because the times of the directory are set
//! after the last release.

use std::ffi::CStr;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use fsops::{Stat, Xattr};

use crate::model::attributes::Attributes;
use crate::model::metadata_support::MetadataSupport;
use crate::model::temp_name::TempNames;

/// A directory of the source and its counterpart in the destination.
#[derive(Debug)]
pub(crate) struct DirNode {
    parent: Option<Arc<DirNode>>,
    name: Box<CStr>,
    /// Number of unfinished parts: 1 for the names in this directory, plus 1 for each unfinished subdirectory.
    pending: AtomicU32,
    state: AtomicU8,
    metadata: OnceLock<Box<DirMetadata>>,
}

/// The metadata that a directory should have.
#[derive(Debug)]
pub(crate) struct DirMetadata {
    pub(crate) stat: Stat,
    pub(crate) attributes: Attributes,
    /// The metadata that the directory had in the destination when the run found or created it.
    pub(crate) dest_stat: Option<Stat>,
    /// The extended attributes that the directory had in the destination before the run gave its owner access, which
    /// changes the ACL.
    pub(crate) dest_xattrs: Option<Vec<Xattr>>,
    /// The metadata support of the file system that this directory is on in the destination.
    pub(crate) support: MetadataSupport,
    /// True if the entries of the directory are mirrored, and not only the directory itself.
    pub(crate) is_entered: bool,
}

/// Set while the directory has its temporary name in the destination.
pub(crate) const HAS_TEMP_NAME: u8 = 1;
/// Set if something in the directory was changed, so that the times of the directory have to be restored.
pub(crate) const CHANGED: u8 = 2;
/// Set in a dry run if the destination does not have the directory.
pub(crate) const DRY_RUN_ONLY: u8 = 4;
/// Set if the destination has a directory of this name.
pub(crate) const EXISTS: u8 = 8;
/// Set if another process moved the directory away from the place where the run created it.
pub(crate) const MOVED_AWAY: u8 = 16;
/// Set if the destination has an entry of this name that is not a directory.
pub(crate) const REPLACES_OTHER: u8 = 64;
/// Set after metadata support was probed in this directory, even if the probe failed.
pub(crate) const SUPPORT_PROBED: u8 = 32;

impl DirNode {
    /// Returns a node for the top directory.
    pub(crate) fn top() -> Arc<DirNode> {
        DirNode::new(None, c"", EXISTS)
    }

    /// Returns a node for a directory in `parent`. The parent cannot be finished before its child.
    pub(crate) fn child(parent: &Arc<DirNode>, name: &CStr, state: u8) -> Arc<DirNode> {
        parent.hold();
        DirNode::new(Some(Arc::clone(parent)), name, state)
    }

    fn new(parent: Option<Arc<DirNode>>, name: &CStr, state: u8) -> Arc<DirNode> {
        Arc::new(DirNode {
            parent,
            name: name.into(),
            pending: AtomicU32::new(1),
            state: AtomicU8::new(state),
            metadata: OnceLock::new(),
        })
    }

    pub(crate) fn parent(&self) -> Option<&Arc<DirNode>> {
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

    /// Returns true if the path of this directory in the destination may change later, because this directory or one
    /// above it has a temporary name.
    pub(crate) fn may_move(&self) -> bool {
        let chain = || std::iter::successors(Some(self), |node| node.parent.as_deref());
        chain().any(|node| node.is(HAS_TEMP_NAME)) && !chain().any(|node| node.is(MOVED_AWAY))
    }

    pub(crate) fn set_metadata(&self, metadata: DirMetadata) {
        // Only the worker that starts the directory sets its metadata.
        let _known = self.metadata.set(Box::new(metadata));
    }

    pub(crate) fn metadata(&self) -> Option<&DirMetadata> {
        self.metadata.get().map(Box::as_ref)
    }

    /// Returns the metadata support of the destination in this directory.
    pub(crate) fn support(&self) -> MetadataSupport {
        self.metadata().map_or(MetadataSupport::ALL, |metadata| metadata.support)
    }

    /// Returns the device of the directory in the destination, or `None` if the destination does not have the
    /// directory yet.
    pub(crate) fn dest_device(&self) -> Option<u64> {
        self.metadata()?.dest_stat.map(|dest_stat| dest_stat.device)
    }

    /// Adds an unfinished part.
    pub(crate) fn hold(&self) {
        self.pending.fetch_add(1, Relaxed);
    }

    /// Removes an unfinished part. Returns true if it was the last one.
    pub(crate) fn release(&self) -> bool {
        self.pending.fetch_sub(1, std::sync::atomic::Ordering::AcqRel) == 1
    }

    /// Returns the path relative to the top of the source.
    pub(crate) fn path(&self) -> Vec<u8> {
        self.joined(|node| node.name.to_bytes().to_vec())
    }

    /// Returns the current path relative to the top of the destination.
    pub(crate) fn dest_path(&self, temp_names: &TempNames) -> Vec<u8> {
        self.joined(|node| node.dest_name(temp_names).to_bytes().to_vec())
    }

    /// Returns the current name in the destination.
    pub(crate) fn dest_name(&self, temp_names: &TempNames) -> std::ffi::CString {
        if self.is(HAS_TEMP_NAME) { temp_names.of(&self.name) } else { (*self.name).to_owned() }
    }

    /// Returns the path of the entry `name` of this directory, relative to the top.
    pub(crate) fn child_path(&self, name: &[u8]) -> Vec<u8> {
        let mut path = self.path();
        if !name.is_empty() && !path.is_empty() {
            path.push(b'/');
        }
        path.extend_from_slice(name);
        path
    }

    fn joined(&self, name: impl Fn(&DirNode) -> Vec<u8>) -> Vec<u8> {
        let above = std::iter::successors(Some(self), |node| node.parent.as_deref());
        let mut names: Vec<Vec<u8>> =
            above.filter(|node| node.parent.is_some()).map(name).collect();
        names.reverse();
        names.join(&b'/')
    }
}

/// Frees the chain of parents in a loop, because a tree can be so deep that recursion would overflow the stack.
impl Drop for DirNode {
    fn drop(&mut self) {
        let mut above = self.parent.take();
        while let Some(mut node) = above.and_then(Arc::into_inner) {
            above = node.parent.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DirNode, HAS_TEMP_NAME};
    use crate::model::temp_name::TempNames;

    #[test]
    fn an_unpublished_directory_has_its_temporary_name() {
        let (top, temp_names, flags) = (DirNode::top(), TempNames::new(), HAS_TEMP_NAME);
        let a = DirNode::child(&top, c"a", 0);
        let b = DirNode::child(&a, c"b", flags);
        assert_eq!((top.path(), b.path()), (b"".to_vec(), b"a/b".to_vec()));
        assert!(b.dest_path(&temp_names).starts_with(b"a/.lop-part-"));
        b.unset(HAS_TEMP_NAME);
        assert_eq!(b.dest_path(&temp_names), b"a/b");
    }

    #[test]
    fn a_directory_is_finished_after_its_content() {
        let top = DirNode::top();
        let a = DirNode::child(&top, c"a", 0);
        assert!(!top.release());
        assert!(a.release() && top.release());
    }

    #[test]
    fn dropping_a_deep_chain_does_not_overflow_the_stack() {
        let mut node = DirNode::top();
        for _ in 0..1_000_000 {
            node = DirNode::child(&node, c"d", 0);
        }
        drop(node);
    }
}
