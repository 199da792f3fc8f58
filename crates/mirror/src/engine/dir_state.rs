//! The state of one directory while one or more workers process its names.
//!
//! [`DirState::hold`] and [`DirState::release`] count the units of work on the directory. The last release completes
//! the directory: it gets its final name, and the run continues with its subdirectories.

use runtime::Mutex;
use std::collections::VecDeque;
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::AcqRel, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use fsops::{Kind, Stat};

use crate::engine::batch::{Batch, Precedence};
use crate::engine::dest_listing::{DestEntry, DestListing};
use crate::model::dir_node::DirNode;

/// A directory whose names are being processed.
#[derive(Debug)]
pub(crate) struct DirState {
    pub(crate) node: Arc<DirNode>,
    /// Entries of the directory in the destination.
    pub(crate) dest_listing: DestListing,
    pub(crate) traits: DirTraits,
    /// Owner and group that the file system assigns to new files; set when the first file is created.
    pub(crate) owner_of_new_files: OnceLock<(u32, u32)>,
    /// Whether the source directory was listed completely. If not, no entry of the destination counts as extraneous.
    pub(crate) is_fully_listed: AtomicBool,
    /// Subdirectories, which are queued when this directory is complete.
    children: Mutex<Vec<Child>>,
    /// Number of unfinished units of work.
    pending_work: AtomicU32,
    /// Names from the sender that wait while a worker processes earlier ones.
    serial: Mutex<SerialQueue>,
}

/// Work that is done by one worker at a time. A second worker would not help, because the kernel lets only one thread
/// change a directory at a time.
#[derive(Debug, Default)]
struct SerialQueue {
    is_busy: bool,
    rest: VecDeque<NameWork>,
}

/// Names of a directory that are processed serially.
#[derive(Clone, Debug)]
pub(crate) enum NameWork {
    /// Names that were just listed.
    Batch(Arc<SharedBatch>),
    /// Names of one file whose copy is now complete or has failed.
    Waiters(Arc<[Waiter]>),
}

impl NameWork {
    /// Returns the directory of the first name.
    pub(crate) fn dir_state(&self) -> Option<&Arc<DirState>> {
        match self {
            NameWork::Batch(shared) => Some(&shared.dir),
            NameWork::Waiters(waiters) => waiters.first().map(|first| &first.shared.dir),
        }
    }
}

/// A subdirectory.
#[derive(Debug)]
pub(crate) struct Child {
    pub(crate) inode: u64,
    pub(crate) name: CString,
    pub(crate) dest: Option<DestEntry>,
}

/// A name that waits until another worker has copied its file, or until its content has arrived.
#[derive(Clone, Debug)]
pub(crate) struct Waiter {
    pub(crate) shared: Arc<SharedBatch>,
    pub(crate) index: usize,
}

/// A batch of names that several workers share.
#[derive(Debug)]
pub(crate) struct SharedBatch {
    pub(crate) dir: Arc<DirState>,
    pub(crate) batch: Batch,
    /// Whether help was requested from another worker that has not started yet.
    help_requested: AtomicBool,
}

impl SharedBatch {
    pub(crate) fn new(dir_state: &Arc<DirState>, batch: Batch) -> Arc<SharedBatch> {
        let (dir, help_requested) = (Arc::clone(dir_state), AtomicBool::new(false));
        Arc::new(SharedBatch { dir, batch, help_requested })
    }

    /// Returns whether the caller should ask another worker to help. If true, the caller MUST ask one, because this
    /// method also adds a unit of work, which only the helper releases.
    pub(crate) fn request_help(&self) -> bool {
        let asks = self.batch.has_more() && !self.help_requested.swap(true, Relaxed);
        if asks {
            self.dir.hold();
        }
        asks
    }

    /// Records that the helper has started. Another helper can be requested after that.
    pub(crate) fn help_started(&self) {
        self.help_requested.store(false, Relaxed);
    }
}

/// Properties of a directory in the source and in the destination.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is true of a directory or not")]
pub(crate) struct DirTraits {
    /// Whether the directory is new and still has its temporary name. Files in it are created directly under their
    /// final names.
    pub(crate) is_unpublished: bool,
    /// Number of the source's device, from `LinkGroups::device`.
    pub(crate) source_device: u16,
    /// Whether the listing of the source has reliable inode numbers.
    pub(crate) lists_inodes: bool,
    /// Whether the listing of the destination has reliable inode numbers.
    pub(crate) dest_lists_inodes: bool,
    /// Maximum number of names per file in the destination; `u32::MAX` if no low limit is known.
    pub(crate) max_links: u32,
    /// Whether the kernel generates the content of the source's files when they are read.
    pub(crate) is_synthetic: bool,
    /// Whether files of the source and the destination can share extents.
    pub(crate) can_clone: bool,
    /// Whether new files inherit an ACL from the directory.
    pub(crate) inherits_acl: bool,
}

impl Default for DirTraits {
    fn default() -> DirTraits {
        DirTraits {
            is_unpublished: false,
            source_device: 0,
            lists_inodes: false,
            dest_lists_inodes: true,
            max_links: u32::MAX,
            is_synthetic: false,
            can_clone: false,
            inherits_acl: false,
        }
    }
}

impl DirState {
    /// Returns a directory with one unit of work. The caller has to release this unit.
    pub(crate) fn new(
        node: Arc<DirNode>,
        dest_listing: DestListing,
        traits: DirTraits,
    ) -> Arc<DirState> {
        Arc::new(DirState {
            node,
            dest_listing,
            traits,
            owner_of_new_files: OnceLock::new(),
            is_fully_listed: AtomicBool::new(false),
            children: Mutex::default(),
            pending_work: AtomicU32::new(1),
            serial: Mutex::default(),
        })
    }

    /// Orders the names in a batch: among the hard links to one file, names that exist in the destination come first.
    pub(crate) fn order_names(&self, batch: &mut Batch) {
        if !self.dest_listing.is_empty() {
            batch.order_links(|name| match self.dest_listing.get(name) {
                Some(dest) if dest.kind == Kind::Dir => Precedence::Last,
                Some(_) => Precedence::First,
                None => Precedence::Next,
            });
        }
    }

    /// Processes `first`, and then all work that arrives in the meantime. If another worker is processing work of this
    /// directory, leaves `first` to that worker.
    pub(crate) fn run_serially(&self, first: &NameWork, mut work: impl FnMut(&NameWork)) {
        let in_turn = || self.serial.lock();
        let mut turn = in_turn();
        if turn.is_busy {
            return turn.rest.push_back(first.clone());
        }
        turn.is_busy = true;
        drop(turn);
        work(first);
        loop {
            let mut turn = in_turn();
            let Some(next) = turn.rest.pop_front() else {
                turn.is_busy = false;
                return;
            };
            drop(turn);
            work(&next);
        }
    }

    /// Adds a unit of work.
    pub(crate) fn hold(&self) {
        self.pending_work.fetch_add(1, Relaxed);
    }

    /// Removes a unit of work. Returns whether it was the last one.
    pub(crate) fn release(&self) -> bool {
        self.pending_work.fetch_sub(1, AcqRel) == 1
    }

    pub(crate) fn add_child(&self, name: &CStr, inode: u64, dest: Option<DestEntry>) {
        let child = Child { inode, name: name.to_owned(), dest };
        self.children.lock().push(child);
    }

    pub(crate) fn take_children(&self) -> Vec<Child> {
        std::mem::take(&mut self.children.lock())
    }

    /// Records the owner of the first new file, and returns the recorded owner.
    pub(crate) fn learn_owner(&self, stat: &Stat) -> (u32, u32) {
        *self.owner_of_new_files.get_or_init(|| (stat.uid, stat.gid))
    }
}

#[cfg(test)]
mod tests {
    use super::{DirState, DirTraits, SharedBatch};
    use crate::engine::batch::Batch;
    use crate::engine::dest_listing::DestListing;
    use crate::model::dir_node::DirNode;

    #[test]
    fn only_one_helper_is_requested_at_a_time_while_names_are_left() {
        let dir_state = DirState::new(DirNode::top(), DestListing::default(), DirTraits::default());
        let mut batch = Batch::default();
        for name in [c"a", c"b"] {
            batch.add_dir(name, 1);
        }
        let shared = SharedBatch::new(&dir_state, batch);
        assert!(shared.request_help());
        assert!(!shared.request_help());
        shared.help_started();
        // The helper and the creator hold one unit each, so the first release is not the last one.
        assert!(!dir_state.release());
        while shared.batch.take().is_some() {}
        assert!(!shared.request_help());
        assert!(dir_state.release());
    }
}
