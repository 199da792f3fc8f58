//! One directory while its own names are dealt with, by one worker or several.

use std::collections::VecDeque;
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::AcqRel, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use fsops::{Kind, Stat};

use crate::engine::batch::{Batch, Precedence};
use crate::engine::dest_listing::{DestEntry, DestListing};
use crate::model::dir_node::DirNode;

/// A directory whose names are being dealt with.
#[derive(Debug)]
pub(crate) struct DirState {
    pub(crate) node: Arc<DirNode>,
    /// What the destination has in it.
    pub(crate) dest_listing: DestListing,
    pub(crate) traits: DirTraits,
    /// The owner and group that new files have by themselves, once that is known.
    pub(crate) owner_of_new_files: OnceLock<(u32, u32)>,
    /// All of the source's names were listed.
    pub(crate) is_fully_listed: AtomicBool,
    /// Directories in it.
    children: Mutex<Vec<Child>>,
    /// Who has names of it to deal with.
    pending_work: AtomicU32,
    /// What came of a directory of another host while a worker is at it.
    serial: Mutex<SerialQueue>,
}

/// Work in a directory that one worker does after the other: two would wait for each other in the kernel, which
/// changes a directory for one at a time.
#[derive(Debug, Default)]
struct SerialQueue {
    is_busy: bool,
    rest: VecDeque<NameWork>,
}

/// Names of a directory that one worker deals with after the other.
#[derive(Clone, Debug)]
pub(crate) enum NameWork {
    /// Names that were listed.
    Batch(Arc<SharedBatch>),
    /// Names whose file is at the destination now, or failed to get there; all of one directory or none.
    Waiters(Arc<[Waiter]>),
}

impl NameWork {
    /// Returns the directory that the first name is in.
    pub(crate) fn dir_state(&self) -> Option<&Arc<DirState>> {
        match self {
            NameWork::Batch(shared) => Some(&shared.dir),
            NameWork::Waiters(waiters) => waiters.first().map(|first| &first.shared.dir),
        }
    }
}

/// A directory in a directory.
#[derive(Debug)]
pub(crate) struct Child {
    pub(crate) inode: u64,
    pub(crate) name: CString,
    pub(crate) dest: Option<DestEntry>,
}

/// A name that has to wait: for a file that somebody else is copying, or for its content.
#[derive(Clone, Debug)]
pub(crate) struct Waiter {
    pub(crate) shared: Arc<SharedBatch>,
    pub(crate) index: usize,
}

/// Where the sender finds a name again.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListingPosition {
    /// The number of the listing.
    pub(crate) listing: u64,
    /// The name's index in the listing.
    pub(crate) position: u32,
}

impl Waiter {
    /// Returns the number of the listing that the sender has it in, and its place there.
    pub(crate) fn listing_position(&self) -> ListingPosition {
        let SharedBatch { batch, .. } = &*self.shared;
        ListingPosition { listing: batch.listing, position: batch.position(self.index) }
    }
}

/// Names of a site for whoever has time.
#[derive(Debug)]
pub(crate) struct SharedBatch {
    pub(crate) dir: Arc<DirState>,
    pub(crate) batch: Batch,
    /// Somebody was asked to help who has not begun yet.
    help_requested: AtomicBool,
}

impl SharedBatch {
    pub(crate) fn new(dir_state: &Arc<DirState>, batch: Batch) -> Arc<SharedBatch> {
        let (dir, help_requested) = (Arc::clone(dir_state), AtomicBool::new(false));
        Arc::new(SharedBatch { dir, batch, help_requested })
    }

    /// Returns whether to ask somebody to help, who then has to be asked; the site is not done before that.
    pub(crate) fn request_help(&self) -> bool {
        let asks = self.batch.has_more() && !self.help_requested.swap(true, Relaxed);
        if asks {
            self.dir.hold();
        }
        asks
    }

    /// Notes that somebody has begun to help.
    pub(crate) fn help_started(&self) {
        self.help_requested.store(false, Relaxed);
    }
}

/// What the two directories of a site are like.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is true of a directory or not")]
pub(crate) struct DirTraits {
    /// New files get their names at once: the directory itself is not ready.
    pub(crate) is_unpublished: bool,
    /// The number of the source's device.
    pub(crate) source_device: u16,
    /// The listing of the source tells inode numbers that can be relied on.
    pub(crate) lists_inodes: bool,
    /// That of the destination does.
    pub(crate) dest_lists_inodes: bool,
    /// How many names a file of the destination can have, if few.
    pub(crate) max_links: u32,
    /// The kernel makes up what is in files of the source while they are read.
    pub(crate) is_synthetic: bool,
    /// Files of the source and the destination can share extents.
    pub(crate) can_clone: bool,
    /// New files get an ACL from the directory.
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
    /// Returns a site that its one owner has to release.
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

    /// Has names of it be dealt with in the order that is best with what is there.
    pub(crate) fn order_names(&self, batch: &mut Batch) {
        if !self.dest_listing.is_empty() {
            batch.order_links(|name| match self.dest_listing.get(name) {
                Some(dest) if dest.kind == Kind::Dir => Precedence::Last,
                Some(_) => Precedence::First,
                None => Precedence::Next,
            });
        }
    }

    /// Does some work, and what comes meanwhile; leaves it to another worker if one is at it.
    pub(crate) fn run_serially(&self, first: &NameWork, mut work: impl FnMut(&NameWork)) {
        let in_turn = || self.serial.lock().unwrap_or_else(PoisonError::into_inner);
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

    /// Notes one thing more to be done before all names are dealt with.
    pub(crate) fn hold(&self) {
        self.pending_work.fetch_add(1, Relaxed);
    }

    /// Notes that one thing is done; returns whether it was the last.
    pub(crate) fn release(&self) -> bool {
        self.pending_work.fetch_sub(1, AcqRel) == 1
    }

    pub(crate) fn add_child(&self, name: &CStr, inode: u64, dest: Option<DestEntry>) {
        let child = Child { inode, name: name.to_owned(), dest };
        self.children.lock().unwrap_or_else(PoisonError::into_inner).push(child);
    }

    pub(crate) fn take_children(&self) -> Vec<Child> {
        std::mem::take(&mut self.children.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes the owner of a file that was made there.
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
    fn one_at_a_time_is_asked_to_help_as_long_as_there_are_names() {
        let dir_state = DirState::new(DirNode::top(), DestListing::default(), DirTraits::default());
        let mut batch = Batch::default();
        for name in [c"a", c"b"] {
            batch.add_dir(name, 1);
        }
        let shared = SharedBatch::new(&dir_state, batch);
        assert!(shared.request_help());
        assert!(!shared.request_help());
        shared.help_started();
        // Who was asked, and who began: neither is the last.
        assert!(!dir_state.release());
        while shared.batch.take().is_some() {}
        assert!(!shared.request_help());
        assert!(dir_state.release());
    }
}
