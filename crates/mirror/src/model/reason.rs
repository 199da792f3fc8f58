//! Why something could not be mirrored.

use std::ffi::CString;
use std::io::{self, ErrorKind};

use fsops::Op;
use wire::Cause;

/// Something that could not be mirrored.
#[derive(Debug)]
pub struct Problem {
    /// Its path below the top directories.
    pub path: Vec<u8>,
    /// Why.
    pub reason: Reason,
}

/// Why something could not be mirrored.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// Something of the source could not be read.
    #[error("cannot {} the source: {source}", op.verb())]
    Source {
        /// What was tried.
        op: Op,
        /// What the system answered.
        source: io::Error,
    },
    /// Something of the destination could not be done.
    #[error("cannot {} the copy: {source}", op.verb())]
    Destination {
        /// What was tried.
        op: Op,
        /// What the system answered.
        source: io::Error,
    },
    /// It changed all the time; what is there is what was read last.
    #[error("changed while it was copied")]
    Changed,
    /// There are more extended attributes than can be read, so only ACLs are those of the source.
    #[error("has more extended attributes than can be read; copied without them")]
    Attributes,
    /// What was written is not what was read.
    #[error("reads differently from what was written")]
    Unlike,
    /// The destination takes the name for another one, which it has.
    #[error("the destination does not tell this name from {}, which it has", spelled(other.as_ref()))]
    Spelling {
        /// The name that it has, if that was found.
        other: Option<CString>,
    },
    /// What is behind the temporary name is not what was made under it.
    #[error("something else has taken the place of the temporary file")]
    Displaced,
    /// The destination has a directory of the name, and something is in it.
    #[error("a directory is in the way; --delete replaces it")]
    Obstructed,
    /// The destination has a directory of the name, and nothing is removed this time.
    #[error("a directory is in the way, and nothing is removed")]
    Kept,
    /// A directory of the destination is in the way, and patterns exclude some or all of its entries.
    #[error(
        "a directory is in the way; it stays, as --exclude or --include leaves out what is in it"
    )]
    HoldsExcluded,
    /// An entry of the destination is in the way, and patterns exclude it.
    #[error("something is in the way that --exclude or --include leaves out; it stays")]
    Excluded,
    /// A directory of the destination is in the way, and some of its entries could not be removed.
    #[error("a directory is in the way, and not all in it could be removed")]
    Remains,
    /// A directory of the destination looks like the source.
    #[error(
        "may be the source under another path, as it has the same entries and modification time; \
         it stays; if it is a copy, remove it with 'lop purge'"
    )]
    MayBeSource,
    /// The kernel makes it up while it is read.
    #[error("is made up by the kernel while it is read, and was not copied")]
    MadeUp,
    /// What a receiver on another host says.
    #[error("{text}")]
    Remote {
        /// Its words.
        text: String,
        /// Whether it is the source that something is wrong with.
        of_source: bool,
        /// Whether others have the same cause.
        cause: Option<Cause>,
    },
    /// It could not be removed.
    #[error(transparent)]
    Unremoved(#[from] purge::Reason),
}

fn spelled(other: Option<&CString>) -> String {
    other.map_or_else(|| "another one".into(), |other| other.as_bytes().escape_ascii().to_string())
}

impl Reason {
    /// Returns whether it is the source that something is wrong with, and not the destination.
    pub fn is_of_source(&self) -> bool {
        match self {
            Reason::Source { .. } | Reason::Changed | Reason::Attributes | Reason::MadeUp => true,
            Reason::Remote { of_source, .. } => *of_source,
            _ => false,
        }
    }

    /// Returns what keeps the destination from taking anything, if it is that.
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
