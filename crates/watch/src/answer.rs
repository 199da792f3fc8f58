//! The answers to two questions: what has changed below these roots since a position, and which of
//! these changes has no scan seen yet?
//!
//! An [`Answer`] is for a scan. It names more than has changed rather than less. Callers MUST check every entry that it
//! names, and MUST walk everything if it is [`Unknown`]. [`Unseen`] is for a person. It is shorter, and
//! it leaves the notes as they are.

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

/// Numbers of entries and directories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Entries that have changed.
    pub entries: u64,
    /// Directories with such entries.
    pub dirs: u64,
}

/// The changes below some roots that no scan has seen yet.
///
/// It leaves out files that have changed only through names that are gone or outside of the roots. If a
/// scan had options, such as patterns of excluded names, entries that it skips are part of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unseen {
    /// The number of changed entries, and of directories with such entries. A directory of which all
    /// entries may have changed counts as one entry.
    pub counts: Counts,
    /// True if there may be more changed entries than were counted.
    pub is_at_least: bool,
    /// The first [`Unseen::MAX_DIRS`] directories with changed entries, sorted by path.
    pub dirs: Vec<ChangedDir>,
    /// The roots, and the mounts below them, whose changes are unknown, with the reasons.
    pub unknown: Vec<(Vec<u8>, Unknown)>,
}

impl Unseen {
    /// Maximum number of directories that an answer names.
    pub const MAX_DIRS: usize = 200;

    /// Adds changed directories. `dirs` are sorted by path, and different from each other.
    pub(crate) fn add(&mut self, dirs: impl Iterator<Item = ChangedDir>) {
        for dir in dirs {
            self.counts.dirs += 1;
            match &dir.entries {
                Entries::Names(names) => self.counts.entries += names.len() as u64,
                Entries::All | Entries::Tree => {
                    self.counts.entries += 1;
                    self.is_at_least = true;
                }
            }
            if self.dirs.len() < Unseen::MAX_DIRS {
                self.dirs.push(dir);
            }
        }
    }
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
    use super::{ChangedDir, Entries, Position, Unseen};

    #[test]
    fn changes_are_counted_beyond_the_named_directories() {
        let name = |name: &str| (name.as_bytes().to_vec(), false);
        let dir = |number: u64| ChangedDir {
            path: format!("/{number:04}").into_bytes(),
            entries: Entries::Names(vec![name("a"), name("b")]),
        };
        let mut unseen = Unseen::default();
        unseen.add((0..1000).map(dir));
        assert_eq!((unseen.counts.entries, unseen.counts.dirs), (2000, 1000));
        assert_eq!(unseen.dirs, (0..200).map(dir).collect::<Vec<_>>());
        assert!(!unseen.is_at_least);
        unseen.add([ChangedDir { path: b"/x".to_vec(), entries: Entries::Tree }].into_iter());
        assert_eq!((unseen.counts.entries, unseen.is_at_least), (2001, true));
    }

    #[test]
    fn position_survives_storage() {
        let position = Position { session: *b"0123456789abcdef", number: 1 << 40 };
        assert_eq!(Position::from_bytes(&position.to_bytes()), Some(position));
        for bytes in [&[][..], &[0; 23], &[0; 25]] {
            assert_eq!(Position::from_bytes(bytes), None);
        }
    }
}
