//! The results of reconciling a name: done, pending, or failed.

use fsops::Op;

use crate::model::reason::Reason;

/// The state of a name after a worker has reconciled it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Settled {
    /// The entry in the destination matches the source.
    Done(DestInode),
    /// The content will be copied later, or was requested from the sender. Once the content is there,
    /// `Worker::conclude` is called.
    Pending,
}

/// The inode of a name in the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DestInode {
    /// The inode number.
    Known(u64),
    /// The inode number was not looked up, because no other name will be linked to the file.
    NotNeeded,
}

impl DestInode {
    /// Returns the inode number, or 0 if the number is not known. No inode has the number 0.
    pub(crate) fn number_or_zero(self) -> u64 {
        match self {
            DestInode::Known(inode) => inode,
            DestInode::NotNeeded => 0,
        }
    }
}

/// The reason why a name was not mirrored. The caller adds failures that concern the user to the outcome.
#[derive(Debug)]
pub(crate) enum Failure {
    /// A problem to report to the user.
    Failed(Reason),
    /// The entry disappeared from the source. It is already counted in [`crate::Outcome`].
    Vanished,
    /// The user asked to stop.
    Stopped,
}

impl Failure {
    /// Returns the reason to report to the user, or `None` if there is nothing to report.
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

/// Returns a closure that turns an error of a system call on the destination into a failure.
pub(crate) fn destination(op: Op) -> impl Fn(std::io::Error) -> Failure {
    move |source| Failure::Failed(Reason::Destination { op, source })
}
