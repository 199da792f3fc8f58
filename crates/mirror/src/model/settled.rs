//! How a name was settled: done, pending, or failed.

use fsops::Op;

use crate::model::reason::Reason;

/// The state of a name after a worker reconciled it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Settled {
    /// The destination has the name as the source does.
    Done(DestInode),
    /// The content will be copied later, or was requested from the sender. `Worker::conclude` is called then.
    Pending,
}

/// The inode of a name at the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DestInode {
    /// The inode number.
    Known(u64),
    /// The number was not looked up, because no other name will be linked to the file.
    NotNeeded,
}

impl DestInode {
    /// Returns the number, or 0, which no inode has, if the number is not known.
    pub(crate) fn number_or_zero(self) -> u64 {
        match self {
            DestInode::Known(inode) => inode,
            DestInode::NotNeeded => 0,
        }
    }
}

/// Why a name was not mirrored. The outcome does not contain the failure yet.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The user has to be told of this problem.
    Failed(Reason),
    /// The entry disappeared from the source. [`crate::Outcome::vanished`] already counts it.
    Vanished,
    /// The user asked to stop.
    Stopped,
}

impl Failure {
    /// Returns the reason to report to the user, if there is one.
    pub(crate) fn into_reason(self) -> Option<Reason> {
        match self {
            Failure::Failed(reason) => Some(reason),
            Failure::Vanished | Failure::Stopped => None,
        }
    }
}

impl From<Reason> for Failure {
    fn from(reason: Reason) -> Failure {
        Failure::Failed(reason)
    }
}

/// Returns a closure that turns the error of a call on the destination into a failure.
pub(crate) fn destination(op: Op) -> impl Fn(std::io::Error) -> Failure {
    move |source| Failure::Failed(Reason::Destination { op, source })
}
