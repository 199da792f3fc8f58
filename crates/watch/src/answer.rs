//! The answer to the question: what has changed below these roots since a position?
//!
//! An answer names more than has changed rather than less. Callers MUST check every entry that it
//! names, and MUST walk everything if it is [`Unknown`].

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A point in the sequence of changes that a watcher notes. It does not depend on a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Position {
    /// A random number of the watcher. Positions of other watchers cannot be compared with it.
    pub session: [u8; 16],
    /// The number of changes that the watcher had noted.
    pub number: u64,
}

impl Position {
    /// The length of the bytes that [`Position::to_bytes`] returns.
    pub const LENGTH: usize = 24;

    /// Returns the position as bytes, for storage.
    pub fn to_bytes(self) -> [u8; Position::LENGTH] {
        let mut bytes = [0; Position::LENGTH];
        bytes[..16].copy_from_slice(&self.session);
        bytes[16..].copy_from_slice(&self.number.to_be_bytes());
        bytes
    }

    /// Returns the position that was stored as bytes, or `None` if they are none.
    pub fn from_bytes(bytes: &[u8]) -> Option<Position> {
        let (session, number) = bytes.split_first_chunk()?;
        Some(Position { session: *session, number: u64::from_be_bytes(number.try_into().ok()?) })
    }
}

/// The answer of a watcher.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The position of the answer. Changes after it belong to the next answer.
    pub position: Position,
    /// The changes since the position in the question. They are unknown if the question named none.
    pub changes: Result<Changes, Unknown>,
}

/// Everything that may have changed since a position.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// Directories with changed entries, sorted by path. A path can be gone again, and can be a
    /// second path to a directory (a bind mount).
    pub dirs: Vec<ChangedDir>,
    /// Device numbers (as in `fsops::FileKey`) and inode numbers of files that have changed through
    /// names that are gone or outside of the roots. If they have names below the roots, these names
    /// may have changed.
    pub inodes: Vec<(u64, u64)>,
}

/// A directory with changed entries.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedDir {
    /// The absolute path, as bytes.
    pub path: Vec<u8>,
    /// The entries that may have changed.
    pub entries: Entries,
}

impl ChangedDir {
    /// Returns the path.
    pub fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.path))
    }
}

/// The changed entries of a directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Entries {
    /// The entries with these names, which may be gone again. The flag is true if the entry may be
    /// another directory than before. Everything below such a directory may have changed.
    Names(Vec<(Vec<u8>, bool)>),
    /// All entries, but nothing below subdirectories that existed before.
    All,
    /// Everything below the directory.
    Tree,
}

/// The reason why changes are unknown.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
pub enum Unknown {
    /// The question named no position.
    #[error("no earlier scan knew this watcher")]
    NoPosition,
    /// The position is that of another watcher: it was started again, or the system was.
    #[error("the watcher was started after the last scan")]
    OtherSession,
    /// The watcher does not watch a root.
    #[error("{} is not watched", Path::new(OsStr::from_bytes(.0)).display())]
    NotWatched(Vec<u8>),
    /// A root is another directory or on another file system than before, or was renamed.
    #[error("{} was mounted, renamed or replaced", Path::new(OsStr::from_bytes(.0)).display())]
    Replaced(Vec<u8>),
    /// The kernel discarded events, or they could not be read.
    #[error("events were lost")]
    EventsLost,
    /// The changes exceed the memory of the watcher.
    #[error("too many entries have changed")]
    TooMany,
    /// A later question has discarded the changes since this position.
    #[error("the catalog is older than the watcher's notes")]
    Discarded,
}

#[cfg(test)]
mod tests {
    use super::Position;

    #[test]
    fn position_survives_storage() {
        let position = Position { session: *b"0123456789abcdef", number: 1 << 40 };
        assert_eq!(Position::from_bytes(&position.to_bytes()), Some(position));
        for bytes in [&[][..], &[0; 23], &[0; 25]] {
            assert_eq!(Position::from_bytes(bytes), None);
        }
    }
}
