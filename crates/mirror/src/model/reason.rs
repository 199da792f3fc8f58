//! The reasons why something could not be mirrored, with the texts that users read.

use std::ffi::CString;
use std::io::{self, ErrorKind};

use fsops::Op;
use wire::Cause;

/// An entry that could not be mirrored.
#[derive(Debug)]
pub struct Problem {
    /// Its path below the top directories.
    pub path: Vec<u8>,
    /// The reason.
    pub reason: Reason,
}

/// Why an entry could not be mirrored.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// A system call on the source failed.
    #[error("cannot {} the source: {source}", op.verb())]
    Source {
        /// What was tried.
        op: Op,
        /// The error.
        source: io::Error,
    },
    /// A system call on the destination failed.
    #[error("cannot {} the copy: {source}", op.verb())]
    Destination {
        /// What was tried.
        op: Op,
        /// The error.
        source: io::Error,
    },
    /// The file changed during every attempt to copy it. The copy has what was read last.
    #[error("changed while it was copied")]
    Changed,
    /// There are more extended attributes than can be read, so only the ACLs were copied.
    #[error("has more extended attributes than can be read; copied without them")]
    Attributes,
    /// The copy on the disk differs from what was written.
    #[error("the copy on the disk differs from what was written")]
    Unlike,
    /// The destination takes the name for another one, which it already has.
    #[error("the destination takes this name for {}, which it already has", spelled(other.as_ref()))]
    Spelling {
        /// The name that the destination has, if it was found.
        other: Option<CString>,
    },
    /// Somebody put another entry in the place of the temporary file.
    #[error("another entry has taken the place of the temporary file")]
    Displaced,
    /// The destination has a directory of this name that is not empty, and `--delete` is not given.
    #[error("a directory is in the way; --delete replaces it")]
    Obstructed,
    /// The destination has a directory of this name, and this run deletes nothing.
    #[error("a directory is in the way, and this run deletes nothing")]
    Kept,
    /// A directory of the destination is in the way, and patterns exclude some or all of its entries.
    #[error(
        "a directory is in the way; it is kept, because --exclude or --include leaves out entries in it"
    )]
    HoldsExcluded,
    /// An entry of the destination is in the way, and patterns exclude it.
    #[error("an entry is in the way that --exclude or --include leaves out; it is kept")]
    Excluded,
    /// A directory of the destination is in the way, and not all of its entries could be removed.
    #[error("a directory is in the way, and not all of its entries could be removed")]
    Remains,
    /// A directory of the destination looks like the source.
    #[error(
        "may be the source under another path: it has the same entries and modification time; \
         it is kept; if it is a copy, remove it with 'lop purge'"
    )]
    MayBeSource,
    /// The kernel generates the content while it is read.
    #[error("the kernel generates it while it is read; not copied")]
    MadeUp,
    /// A receiver on another host reported it.
    #[error("{text}")]
    Remote {
        /// The receiver's text.
        text: String,
        /// Whether the problem is on the source's side.
        of_source: bool,
        /// The cause that the entry shares with others, if there is one.
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
    /// Returns whether the problem is on the source's side, and not on the destination's.
    pub fn is_of_source(&self) -> bool {
        match self {
            Reason::Source { .. } | Reason::Changed | Reason::Attributes | Reason::MadeUp => true,
            Reason::Remote { of_source, .. } => *of_source,
            _ => false,
        }
    }

    /// Returns the cause that keeps the destination from taking any entry, if that is the reason.
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
