//! Describes which parts of a file the catalog has stored.

use std::collections::HashMap;

use crate::state::FileState;
use crate::tables::rows::FileRow;

/// The parts of a file that the catalog has stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    /// Nothing, or only an outdated row.
    Nothing,
    /// Its metadata.
    Metadata,
    /// Its metadata and head.
    Head,
    /// Its metadata, head and content.
    Content,
    /// Its metadata, and content that cannot be trusted.
    UntrustedContent,
    /// Its metadata. It has not been compared yet.
    Pending,
    /// Its metadata and head. It has not been compared yet.
    PendingHead,
    /// Its metadata, head or content. The file is read again.
    Reread,
    /// The state "damaged", together with the state before the damage was found.
    Damaged,
    /// The state "unreadable", and what was known before.
    Unreadable,
}

impl From<FileState> for Stored {
    /// Returns what is stored about a file after only the state in the file's row changed.
    fn from(state: FileState) -> Stored {
        match state {
            FileState::Known => Stored::Metadata,
            FileState::Pending => Stored::Pending,
            FileState::Damaged => Stored::Damaged,
            FileState::Unreadable => Stored::Unreadable,
        }
    }
}

impl Stored {
    pub(crate) fn of(row: &FileRow) -> Stored {
        match row.state {
            FileState::Known => match (row.head, row.content) {
                (None, None) => Stored::Metadata,
                (Some(_), None) => Stored::Head,
                (Some(_), Some(_)) => Stored::Content,
                (None, Some(_)) => Stored::UntrustedContent,
            },
            FileState::Pending if row.head.is_some() => Stored::PendingHead,
            FileState::Pending => Stored::Pending,
            FileState::Damaged => Stored::Damaged,
            FileState::Unreadable => Stored::Unreadable,
        }
    }

    /// Returns the stored state.
    pub(crate) fn state(self) -> FileState {
        match self {
            Stored::Pending | Stored::PendingHead => FileState::Pending,
            Stored::Damaged => FileState::Damaged,
            Stored::Unreadable => FileState::Unreadable,
            _ => FileState::Known,
        }
    }

    /// Returns whether the file is read again, regardless of what is stored about it.
    pub(crate) fn is_suspect(self) -> bool {
        matches!(self, Stored::Reread | Stored::Damaged | Stored::Unreadable)
    }
}

/// Rows of inodes that may have other names now, by volume and inode number.
pub(crate) type Orphans = HashMap<(i64, u64), FileRow>;

/// A row of `file` with its key.
#[derive(Debug)]
pub(crate) struct NamedRow {
    /// The row of its directory.
    pub(crate) dir: i64,
    /// Its name in that directory.
    pub(crate) name: Box<[u8]>,
    /// The other columns.
    pub(crate) row: FileRow,
}
