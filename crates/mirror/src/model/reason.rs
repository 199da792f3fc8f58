//! The reasons why an entry could not be mirrored, with the texts shown to users.

use std::ffi::CString;
use std::io::{self, ErrorKind};

use fsops::Op;
use wire::Cause;

/// An entry that could not be mirrored.
#[derive(Debug)]
pub struct Problem {
    /// Path relative to the top directories.
    pub path: Vec<u8>,
    /// Reason for the failure.
    pub reason: Reason,
}

/// The reason why an entry could not be mirrored.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// A system call on the source failed.
    #[error("cannot {} the source: {source}", op.verb())]
    Source {
        /// The operation that failed.
        op: Op,
        /// The error.
        source: io::Error,
    },
    /// A system call on the destination failed.
    #[error("cannot {} the copy: {source}", op.verb())]
    Destination {
        /// The operation that failed.
        op: Op,
        /// The error.
        source: io::Error,
    },
    /// The file changed during every attempt to copy it. The copy has the content of the last attempt.
    #[error("changed while it was copied")]
    Changed,
    /// The entry has more extended attributes than can be read, so only its ACLs were copied.
    #[error("has more extended attributes than can be read; copied without them")]
    Attributes,
    /// The copy on the disk differs from what was written.
    #[error("the copy on the disk differs from what was written")]
    Unlike,
    /// The destination cannot distinguish the name from another name that already exists there.
    #[error("the destination does not distinguish this name from {}, which it already has", spelled(other.as_ref()))]
    Spelling {
        /// The existing name, if it was found.
        other: Option<CString>,
    },
    /// Another process replaced the temporary file with another entry.
    #[error("another entry has taken the place of the temporary file")]
    Displaced,
    /// The destination has a non-empty directory of this name, and `--delete` was not given.
    #[error("a directory is in the way; --delete replaces it")]
    Obstructed,
    /// The destination has a directory of this name, and the run deletes nothing.
    #[error("a directory is in the way, and this run deletes nothing")]
    Kept,
    /// The destination has a directory of this name, and patterns exclude some or all of its entries.
    #[error(
        "a directory is in the way; it is kept, because --exclude or --include leaves out entries in it"
    )]
    HoldsExcluded,
    /// The destination has another entry of this name, and patterns exclude that entry.
    #[error("an entry is in the way that --exclude or --include leaves out; it is kept")]
    Excluded,
    /// The destination has a directory of this name, and some of its entries could not be removed.
    #[error("a directory is in the way, and not all of its entries could be removed")]
    Remains,
    /// A directory of the destination has the same entry names and modification time as the source.
    #[error(
        "may be the source under another path: it has the same entries and modification time; \
         it is kept; if it is a copy, remove it with 'lop purge'"
    )]
    MayBeSource,
    /// The kernel generates the content of the file while it is read.
    #[error("the kernel generates it while it is read; not copied")]
    MadeUp,
    /// A receiver on another host reported the failure.
    #[error("{text}")]
    Remote {
        /// Text from the receiver.
        text: String,
        /// True if the problem is in the source.
        of_source: bool,
        /// Cause that keeps the destination from storing any entry, if there is one.
        cause: Option<Cause>,
    },
    /// The entry could not be removed.
    #[error(transparent)]
    Unremoved(#[from] purge::Reason),
}

fn spelled(other: Option<&CString>) -> String {
    other.map_or_else(|| "another one".into(), |other| other.as_bytes().escape_ascii().to_string())
}

impl Reason {
    /// Returns true if the problem is in the source, and false if it is in the destination.
    pub fn is_of_source(&self) -> bool {
        match self {
            Reason::Source { .. } | Reason::Changed | Reason::Attributes | Reason::MadeUp => true,
            Reason::Remote { of_source, .. } => *of_source,
            _ => false,
        }
    }

    /// Returns the cause of the failure if it keeps the destination from storing any entry.
    pub fn cause(&self) -> Option<Cause> {
        match self {
            Reason::Destination { source, .. } => match source.kind() {
                ErrorKind::StorageFull => Some(Cause::Full),
                ErrorKind::QuotaExceeded => Some(Cause::Quota),
                ErrorKind::ReadOnlyFilesystem => Some(Cause::ReadOnly),
                _ => None,
            },
            Reason::Remote { cause, .. } => *cause,
            _ => None,
        }
    }
}
