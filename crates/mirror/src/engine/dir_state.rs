//! The state of one directory while its own names are processed, by one worker or several.
//!
//! Every unit of work on the directory is counted with [`DirState::hold`] and [`DirState::release`]. The last release
//! completes the directory: it gets its final name, and its subdirectories are started.

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
    /// What the destination has in the directory.
    pub(crate) dest_listing: DestListing,
    pub(crate) traits: DirTraits,
    /// The owner and group that new files get by themselves, once one was created.
    pub(crate) owner_of_new_files: OnceLock<(u32, u32)>,
    /// Whether all names of the source were listed. If not, nothing in the directory is extraneous.
    pub(crate) is_fully_listed: AtomicBool,
    /// The subdirectories, which are started when the directory is complete.
    children: Mutex<Vec<Child>>,
    /// The units of work that are not done.
    pending_work: AtomicU32,
    /// Names from the sender that wait while a worker processes others.
    serial: Mutex<SerialQueue>,
}

/// Work that one worker does at a time. Two workers would only wait for each other in the kernel, which changes a
/// directory for one thread at a time.
#[derive(Debug, Default)]
struct SerialQueue {
    is_busy: bool,
    rest: VecDeque<NameWork>,
}

/// Names of a directory that one worker processes after the other.
#[derive(Clone, Debug)]
pub(crate) enum NameWork {
    /// Names that were just listed.
    Batch(Arc<SharedBatch>),
    /// Names of one file that is at the destination now, or failed to get there.
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

/// A name that waits: for a file that another worker copies, or for its content.
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
    /// Whether another worker was asked to help and has not started yet.
    help_requested: AtomicBool,
}

impl SharedBatch {
    pub(crate) fn new(dir_state: &Arc<DirState>, batch: Batch) -> Arc<SharedBatch> {
        let (dir, help_requested) = (Arc::clone(dir_state), AtomicBool::new(false));
        Arc::new(SharedBatch { dir, batch, help_requested })
    }

    /// Returns whether the caller should ask another worker to help. If so, the caller MUST ask one, because the
    /// directory is not complete before that worker releases it.
    pub(crate) fn request_help(&self) -> bool {
        let asks = self.batch.has_more() && !self.help_requested.swap(true, Relaxed);
        if asks {
            self.dir.hold();
        }
        asks
    }

    /// Notes that the helper has started, so that another one can be asked.
    pub(crate) fn help_started(&self) {
        self.help_requested.store(false, Relaxed);
    }
}

/// Properties of a directory on both sides.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is true of a directory or not")]
pub(crate) struct DirTraits {
    /// Whether the directory is new and has its temporary name. Files in it are created under their final names at
    /// once.
    pub(crate) is_unpublished: bool,
    /// The number of the source's device, from `LinkGroups::device`.
    pub(crate) source_device: u16,
    /// Whether the listing of the source has reliable inode numbers.
    pub(crate) lists_inodes: bool,
    /// Whether the listing of the destination has reliable inode numbers.
    pub(crate) dest_lists_inodes: bool,
    /// How many names a file of the destination can have; `u32::MAX` if the limit is not known to be low.
    pub(crate) max_links: u32,
    /// Whether the kernel generates the content of the source's files while they are read.
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
    /// Returns a directory with one unit of work, which the caller has to release.
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

    /// Sorts the names of a batch so that names that the destination has come first among those of a file.
    pub(crate) fn order_names(&self, batch: &mut Batch) {
        if !self.dest_listing.is_empty() {
            batch.order_links(|name| match self.dest_listing.get(name) {
                Some(dest) if dest.kind == Kind::Dir => Precedence::Last,
                Some(_) => Precedence::First,
                None => Precedence::Next,
            });
        }
    }

    /// Processes `first`, and then all work that arrives meanwhile. If another worker is already doing so, leaves
    /// `first` to that worker.
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

    /// Removes a unit of work; returns whether it was the last.
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

    /// Notes the owner that a new file got.
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
        // The helper and the creator hold one unit each, so the first release is not the last.
        assert!(!dir_state.release());
        while shared.batch.take().is_some() {}
        assert!(!shared.request_help());
        assert!(dir_state.release());
    }
}
