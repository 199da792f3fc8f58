//! What a worker can do next.

use std::cmp::Ordering;
use std::sync::Arc;

use fsops::Stat;

use crate::engine::dir_state::{DirState, NameWork, SharedBatch, Waiter};
use crate::engine::entry::Entry;
use crate::model::change::Differences;
use crate::model::dir_node::DirNode;
use crate::remote::receiver::connection::BufferSpace;
use crate::remote::receiver::pending::PendingRequest;

/// Something a worker can do next.
#[derive(Clone, Debug)]
pub(crate) enum Task {
    /// Mirror a directory.
    MirrorDir { inode: u64, node: Arc<DirNode> },
    /// Take names that another worker listed.
    Help(Arc<SharedBatch>),
    /// Copy a file that was put off.
    Copy(Arc<DeferredCopy>),
    /// Deal with what came from another host, in turn.
    Dispatch { turn: u64, arrival: Arc<Arrival> },
}

/// A file that is to be copied when it is its turn.
#[derive(Debug)]
pub(crate) struct DeferredCopy {
    pub(crate) waiter: Waiter,
    pub(crate) stat: Stat,
    pub(crate) replaces: Option<Differences>,
    /// Where it begins on the device, in bytes.
    pub(crate) disk_offset: u64,
}

impl DeferredCopy {
    pub(crate) fn entry(&self) -> Entry<'_> {
        Entry::of(&self.waiter.shared, self.waiter.index)
    }
}

/// Something that came, in its turn.
#[derive(Debug)]
pub(crate) enum Arrival {
    /// A directory, with the number that the sender has it by.
    Dir(u64, Arc<DirNode>),
    /// Names of one directory.
    Names(NameWork),
    /// The end of a directory's names.
    DirEnd(Arc<DirState>),
    /// A small file.
    SmallFile(Box<SmallFile>),
    /// A file that is like one that was found, and whether it was at rest.
    SameContent(Box<SameContent>),
}

/// A file of the source that has the content of a file that was found at the destination.
#[derive(Debug)]
pub(crate) struct SameContent {
    pub(crate) pending: PendingRequest,
    pub(crate) stat: Stat,
    /// Whether the source did not change while it was read.
    pub(crate) is_stable: bool,
}

/// A file that came as a whole.
#[derive(Debug)]
pub(crate) struct SmallFile {
    pub(crate) pending: PendingRequest,
    pub(crate) stat: Stat,
    pub(crate) is_stable: bool,
    pub(crate) digest: Option<[u8; 32]>,
    pub(crate) bytes: Box<[u8]>,
    pub(crate) _space: BufferSpace,
}

/// What tells places from inodes.
const COPY_ORDER_BIT: u64 = 1 << 63;

impl Task {
    pub(crate) fn is_copy(&self) -> bool {
        matches!(self, Task::Copy(_))
    }

    /// Returns what the order goes by: inodes of directories, then places of files, and addresses where these
    /// are alike.
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
