//! The answers of a watcher about the changes below some roots.
//!
//! A scan gets an [`Answer`]. The answer may name entries that have not changed, but never omits an entry that has
//! changed. Callers MUST check every entry that it names, and MUST walk everything if the changes are [`Unknown`].
//! [`Unseen`] is a shorter answer for people. The watcher does not change its notes when it gives such an answer.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A point in the sequence of changes that a watcher notes, independent of any clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Position {
    /// A random number of the watcher. Callers can compare only positions of the same watcher.
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

    /// Returns the position that was stored as bytes, or `None` if the bytes are not a position.
    pub fn from_bytes(bytes: &[u8]) -> Option<Position> {
        let (session, number) = bytes.split_first_chunk()?;
        Some(Position { session: *session, number: u64::from_be_bytes(number.try_into().ok()?) })
    }
}

/// The answer of a watcher.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// The position of the answer. The next answer contains the changes after it.
    pub position: Position,
    /// The changes since the position in the question. They are unknown if the question contained no position.
    pub changes: Result<Changes, Unknown>,
}

/// Everything that may have changed since a position.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Changes {
    /// Directories with changed entries, sorted by path. A directory may be gone by now, and may
    /// appear under several paths because of bind mounts.
    pub dirs: Vec<ChangedDir>,
    /// Device numbers (as in `fsops::FileKey`) and inode numbers of files that have changed through
    /// names that are gone or outside of the roots. All names of these files below the roots may have
    /// changed.
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
    /// The entries with these names. An entry may be gone by now. The flag is true if the entry may be
    /// a different directory than before; everything below it may then have changed.
    Names(Vec<(Vec<u8>, bool)>),
    /// All entries, but not the contents of their subdirectories.
    All,
    /// Everything below the directory.
    Tree,
}

/// Numbers of changed entries and of their directories.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Entries that have changed.
    pub entries: u64,
    /// Directories with such entries.
    pub dirs: u64,
}

/// The changes below some roots that no scan has seen yet.
///
/// The answer omits files that have changed only through names that are gone or outside of the roots.
/// It includes entries that scans skip because of options, such as excluded names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unseen {
    /// The number of changed entries, and of directories with such entries. If all entries of a
    /// directory may have changed, they count as one entry.
    pub counts: Counts,
    /// True if more entries may have changed than [`Unseen::counts`] contains.
    pub is_at_least: bool,
    /// The first [`Unseen::MAX_DIRS`] directories with changed entries, sorted by path.
    pub dirs: Vec<ChangedDir>,
    /// The roots, and the mounts below them, whose changes are unknown, with the reasons.
    pub unknown: Vec<(Vec<u8>, Unknown)>,
}

impl Unseen {
    /// Maximum number of directories that an answer names.
    pub const MAX_DIRS: usize = 200;

    /// Adds the changed entries of a directory. Remembers only the first directories, so it counts a later directory
    /// twice if a caller adds it twice.
    pub(crate) fn add(&mut self, path: &[u8], entries: Entries) {
        let place = self.dirs.binary_search_by(|dir| dir.path.as_slice().cmp(path));
        match place {
            Ok(at) => {
                let known = std::mem::replace(&mut self.dirs[at].entries, Entries::All);
                self.counts.entries -= known.count();
                let all = known.merged_with(entries);
                self.count(&all);
                self.dirs[at].entries = all;
            }
            Err(at) => {
                self.counts.dirs += 1;
                self.count(&entries);
                if at < Unseen::MAX_DIRS {
                    self.dirs.truncate(Unseen::MAX_DIRS - 1);
                    self.dirs.insert(at, ChangedDir { path: path.to_vec(), entries });
                }
            }
        }
    }

    fn count(&mut self, entries: &Entries) {
        self.counts.entries += entries.count();
        self.is_at_least |= !matches!(entries, Entries::Names(_));
    }
}

impl Entries {
    /// Returns the number of entries. All entries of a directory count as one.
    fn count(&self) -> u64 {
        match self {
            Entries::Names(names) => names.len() as u64,
            Entries::All | Entries::Tree => 1,
        }
    }

    /// Returns the union of two sets of entries of the same directory.
    pub(crate) fn merged_with(self, other: Entries) -> Entries {
        match (self, other) {
            (Entries::Names(names), Entries::Names(others)) => {
                Entries::Names([names, others].concat())
            }
            (Entries::Tree, _) | (_, Entries::Tree) => Entries::Tree,
            (Entries::All, Entries::All) => Entries::All,
            (Entries::All, Entries::Names(names)) | (Entries::Names(names), Entries::All) => {
                // `All` does not cover the contents of a new directory, but `Tree` does.
                let has_dir = names.iter().any(|(_, is_dir)| *is_dir);
                if has_dir { Entries::Tree } else { Entries::All }
            }
        }
    }
}

/// The reason why changes are unknown.
#[derive(Clone, Debug, PartialEq, Eq, Error, Serialize, Deserialize)]
pub enum Unknown {
    /// The question contained no position.
    #[error("the watcher was not running during the last scan")]
    NoPosition,
    /// The position belongs to another watcher, because the watcher or the system was restarted.
    #[error("the watcher was started after the last scan")]
    OtherSession,
    /// The watcher does not watch a root.
    #[error("{} is not watched", Path::new(OsStr::from_bytes(.0)).display())]
    NotWatched(Vec<u8>),
    /// A root is a different directory than before, is on a different file system, or was renamed.
    #[error("{} was mounted, renamed or replaced", Path::new(OsStr::from_bytes(.0)).display())]
    Replaced(Vec<u8>),
    /// The kernel discarded events, or the watcher could not read them.
    #[error("events were lost")]
    EventsLost,
    /// The changes exceed the memory of the watcher.
    #[error("too many entries have changed")]
    TooMany,
    /// The watcher discarded changes after this position, because a later scan has stored them.
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
        for number in (0..1000).rev() {
            let ChangedDir { path, entries } = dir(number);
            unseen.add(&path, entries);
        }
        assert_eq!((unseen.counts.entries, unseen.counts.dirs), (2000, 1000));
        assert_eq!(unseen.dirs, (0..200).map(dir).collect::<Vec<_>>());
        assert!(!unseen.is_at_least);
        unseen.add(b"/x", Entries::Tree);
        assert_eq!((unseen.counts.entries, unseen.is_at_least), (2001, true));
        unseen.add(b"/0000", Entries::Tree);
        assert_eq!((unseen.counts.entries, unseen.counts.dirs), (2000, 1001));
        assert_eq!((&unseen.dirs[0].entries, unseen.dirs.len()), (&Entries::Tree, 200));
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
