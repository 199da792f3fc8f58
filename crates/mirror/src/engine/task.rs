//! The tasks in the queue, and the order in which workers take them.

use std::cmp::Ordering;
use std::sync::Arc;

use fsops::Stat;

use crate::engine::dir_state::{DirState, NameWork, SharedBatch, Waiter};
use crate::engine::entry::Entry;
use crate::model::dir_node::DirNode;
use crate::remote::receiver::connection::BufferSpace;
use crate::remote::receiver::pending::PendingRequest;
use wire::Differences;

/// A task for a worker.
#[derive(Clone, Debug)]
pub(crate) enum Task {
    /// Mirror a directory.
    MirrorDir { inode: u64, node: Arc<DirNode> },
    /// Process names that another worker has listed.
    Help(Arc<SharedBatch>),
    /// Copy a deferred file.
    Copy(Arc<DeferredCopy>),
    /// Process data from the sender, in the order of arrival.
    Dispatch { turn: u64, arrival: Arc<Arrival> },
}

/// A file to copy when the queue reaches its disk offset.
#[derive(Debug)]
pub(crate) struct DeferredCopy {
    pub(crate) waiter: Waiter,
    pub(crate) stat: Stat,
    pub(crate) replaces: Option<Differences>,
    /// Position of the start of the file on the disk, in bytes.
    pub(crate) disk_offset: u64,
}

impl DeferredCopy {
    pub(crate) fn entry(&self) -> Entry<'_> {
        Entry::of(&self.waiter.shared, self.waiter.index)
    }
}

/// Data that arrived from the sender.
#[derive(Debug)]
pub(crate) enum Arrival {
    /// A directory, with the number that the sender assigned to it.
    Dir(u64, Arc<DirNode>),
    /// Names of one directory.
    Names(NameWork),
    /// The end of a directory's listing.
    DirEnd(Arc<DirState>),
    /// A small file with its content.
    SmallFile(Box<SmallFile>),
    /// A file whose content already exists in the destination.
    SameContent(Box<SameContent>),
}

/// A source file with the same content as a file in the destination.
#[derive(Debug)]
pub(crate) struct SameContent {
    pub(crate) pending: PendingRequest,
    pub(crate) stat: Stat,
    /// Whether the source file stayed unchanged while it was read.
    pub(crate) is_stable: bool,
}

/// A file that arrived in one message.
#[derive(Debug)]
pub(crate) struct SmallFile {
    pub(crate) pending: PendingRequest,
    pub(crate) stat: Stat,
    pub(crate) is_stable: bool,
    pub(crate) digest: Option<[u8; 32]>,
    pub(crate) bytes: Box<[u8]>,
    pub(crate) _space: BufferSpace,
}

/// Sorts files after all directories.
const COPY_ORDER_BIT: u64 = 1 << 63;

impl Task {
    pub(crate) fn is_copy(&self) -> bool {
        matches!(self, Task::Copy(_))
    }

    /// Returns the sort key. Directories sort by inode number, followed by files sorted by disk offset. Addresses break
    /// ties.
    fn order(&self) -> (u64, usize) {
        match self {
            Task::MirrorDir { inode, node } => (*inode & !COPY_ORDER_BIT, Arc::as_ptr(node).addr()),
            Task::Copy(deferred) => {
                (deferred.disk_offset | COPY_ORDER_BIT, Arc::as_ptr(deferred).addr())
            }
            Task::Help(shared) => (u64::MAX, Arc::as_ptr(shared).addr()),
            Task::Dispatch { turn, .. } => (*turn, 0),
        }
    }
}

impl Ord for Task {
    fn cmp(&self, other: &Task) -> Ordering {
        self.order().cmp(&other.order())
    }
}

impl PartialOrd for Task {
    fn partial_cmp(&self, other: &Task) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Task {
    fn eq(&self, other: &Task) -> bool {
        self.order() == other.order()
    }
}

impl Eq for Task {}
