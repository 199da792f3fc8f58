//! What the catalog stores of each file of a tree.

use std::collections::HashMap;

use crate::state::FileState;
use crate::tables::rows::FileRow;

/// What the catalog has stored of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    /// Nothing, or something outdated.
    Nothing,
    /// Its metadata.
    Metadata,
    /// Its metadata and head.
    Head,
    /// Its metadata, head and content.
    Content,
    /// Its metadata, and a content that cannot be trusted.
    UntrustedContent,
    /// Its metadata; it was not compared yet.
    Pending,
    /// Its metadata and head; it was not compared yet.
    PendingHead,
    /// The known facts about its content, which is read again.
    Reread,
    /// Its state, damaged, and what was known before.
    Damaged,
    /// Its state, unreadable, and what was known before.
    Unreadable,
}

impl From<FileState> for Stored {
    /// Returns what is stored of a file after only the state in its row changed.
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

    /// Returns whether the file is read again, whatever is stored of it.
    pub(crate) fn is_suspect(self) -> bool {
        matches!(self, Stored::Reread | Stored::Damaged | Stored::Unreadable)
    }
}

/// Rows of inodes, by volume and number, that may have other names now.
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
