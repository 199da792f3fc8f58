//! What a run did with each file: for history, and for whoever keeps a catalog of the files.

use content::Digest;

use crate::error::Error;
use crate::journal::record::Intent;
use crate::journal::replay::{Fate, LoggedIntent, Replay};
use crate::plan::kind::Kind;
use crate::plan::target::Version;

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileState {
    /// The run was cut off before it came to the file, or in the midst of it.
    CutOff,
    /// It was acted on.
    Done,
    /// It already was what it was to become.
    Already,
    /// It was left as it was, for this reason.
    LeftAlone(String),
    /// It was acted on, and restored since.
    Restored,
    /// It was removed from quarantine for good.
    Purged,
}

/// What a run did with a file.
#[derive(Clone, Debug)]
pub struct FileAction {
    /// Its path.
    pub path: Vec<u8>,
    /// What was done, or was to be.
    pub kind: Kind,
    /// What became of it.
    pub state: FileState,
    /// What it was before.
    pub was: Version,
    /// Bytes that it took on the disk before.
    pub allocated: u64,
    /// The path of the file that was kept for it.
    pub kept: Vec<u8>,
    /// What the kept file was.
    pub kept_was: Version,
    /// The digest of what both had in them, if it is known.
    pub digest: Option<Digest>,
}

/// Reads from a journal what a run did with files, one by one.
#[derive(Debug)]
pub struct FileActions {
    replay: Replay,
    numbers: std::vec::IntoIter<u64>,
}

impl FileActions {
    /// Returns those of all files of a run.
    pub(crate) fn all(replay: Replay) -> FileActions {
        let numbers: Vec<u64> = replay.entries.keys().copied().collect();
        FileActions { replay, numbers: numbers.into_iter() }
    }

    /// Returns those of some files of a run.
    pub(crate) fn of(replay: Replay, numbers: Vec<u64>) -> FileActions {
        FileActions { replay, numbers: numbers.into_iter() }
    }

    fn action(&self, n: u64) -> Result<FileAction, Error> {
        let LoggedIntent { intent, .. } = self.replay.intent(n)?;
        let state = match self.replay.entries.get(&n).map(|entry| entry.fate) {
            None | Some(Fate::Open) => FileState::CutOff,
            Some(Fate::Done) => FileState::Done,
            Some(Fate::Same) => FileState::Already,
            Some(Fate::NotDone) => FileState::LeftAlone(self.replay.why(n)?),
            Some(Fate::Undone) => FileState::Restored,
            Some(Fate::Purged) => FileState::Purged,
        };
        let Intent { kind, path, keep, was, kept, digest, .. } = intent;
        let (path, keep, allocated) = (path.0, keep.0, was.allocated);
        let (was, kept_was) = (was.version, kept);
        Ok(FileAction { path, kind, state, was, allocated, kept: keep, kept_was, digest })
    }
}

impl Iterator for FileActions {
    type Item = Result<FileAction, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let n = self.numbers.next()?;
        Some(self.action(n))
    }
}
