//! What a worker can do next.

use std::cmp::Ordering;
use std::sync::Arc;

use fsops::Stat;

use crate::engine::dir_state::NameWork;
use crate::engine::dir_state::Shared;
use crate::engine::dir_state::Site;
use crate::engine::dir_state::Waiter;
use crate::engine::entry::Name;
use crate::model::change::Differs;
use crate::model::dir_node::Node;
use crate::remote::receiver::connection::Room;
use crate::remote::receiver::pending::Asked;

/// Something a worker can do next.
#[derive(Clone, Debug)]
pub(crate) enum Task {
    /// Mirror a directory.
    Enter { inode: u64, node: Arc<Node> },
    /// Take names that another worker listed.
    Help(Arc<Shared>),
    /// Copy a file that was put off.
    Copy(Arc<PutOff>),
    /// Deal with what came from another host, in turn.
    Arrived { turn: u64, what: Arc<Arrived> },
}

/// A file that is to be copied when it is its turn.
#[derive(Debug)]
pub(crate) struct PutOff {
    pub(crate) waiter: Waiter,
    pub(crate) stat: Stat,
    pub(crate) instead: Option<Differs>,
    /// Where it begins on the device, in bytes.
    pub(crate) place: u64,
}

impl PutOff {
    pub(crate) fn name(&self) -> Name<'_> {
        Name::of(&self.waiter.shared, self.waiter.index)
    }
}

/// Something that came, in its turn.
#[derive(Debug)]
pub(crate) enum Arrived {
    /// A directory, with the number that the sender has it by.
    Dir(u64, Arc<Node>),
    /// Names of one directory.
    Names(NameWork),
    /// The end of a directory's names.
    Left(Arc<Site>),
    /// A small file.
    File(Box<SmallFile>),
    /// A file that is like one that was found, and whether it was at rest.
    Like(Box<(Asked, Stat, bool)>),
}

/// A file that came as a whole.
#[derive(Debug)]
pub(crate) struct SmallFile {
    pub(crate) asked: Asked,
    pub(crate) stat: Stat,
    pub(crate) is_stable: bool,
    pub(crate) digest: Option<[u8; 32]>,
    pub(crate) bytes: Box<[u8]>,
    pub(crate) _room: Room,
}

/// What tells places from inodes.
const PLACES: u64 = 1 << 63;

impl Task {
    pub(crate) fn is_copy(&self) -> bool {
        matches!(self, Task::Copy(_))
    }

    /// Returns what the order goes by: inodes of directories, then places of files, and addresses where these
    /// are alike.
    fn place(&self) -> (u64, usize) {
        match self {
            Task::Enter { inode, node } => (*inode & !PLACES, Arc::as_ptr(node).addr()),
            Task::Copy(put_off) => (put_off.place | PLACES, Arc::as_ptr(put_off).addr()),
            Task::Help(shared) => (u64::MAX, Arc::as_ptr(shared).addr()),
            Task::Arrived { turn, .. } => (*turn, 0),
        }
    }
}

impl Ord for Task {
    fn cmp(&self, other: &Task) -> Ordering {
        self.place().cmp(&other.place())
    }
}

impl PartialOrd for Task {
    fn partial_cmp(&self, other: &Task) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Task {
    fn eq(&self, other: &Task) -> bool {
        self.place() == other.place()
    }
}

impl Eq for Task {}
