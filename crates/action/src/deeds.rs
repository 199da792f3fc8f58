//! What a run did with each file: for history, and for whoever keeps a catalog of the files.

use content::Digest;

use crate::error::Error;
use crate::journal::Intent;
use crate::kind::Kind;
use crate::past::{Fate, Noted, Past};
use crate::target::Version;

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
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
pub struct Deed {
    /// Its path.
    pub path: Vec<u8>,
    /// What was done, or was to be.
    pub kind: Kind,
    /// What became of it.
    pub state: State,
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
pub struct Deeds {
    past: Past,
    numbers: std::vec::IntoIter<u64>,
}

impl Deeds {
    /// Returns those of all files of a run.
    pub(crate) fn all(past: Past) -> Deeds {
        let numbers: Vec<u64> = past.entries.keys().copied().collect();
        Deeds { past, numbers: numbers.into_iter() }
    }

    /// Returns those of some files of a run.
    pub(crate) fn of(past: Past, numbers: Vec<u64>) -> Deeds {
        Deeds { past, numbers: numbers.into_iter() }
    }

    fn deed(&self, n: u64) -> Result<Deed, Error> {
        let Noted { intent, .. } = self.past.noted(n)?;
        let state = match self.past.entries.get(&n).map(|entry| entry.fate) {
            None | Some(Fate::Open) => State::CutOff,
            Some(Fate::Done) => State::Done,
            Some(Fate::Same) => State::Already,
            Some(Fate::NotDone) => State::LeftAlone(self.past.why(n)?),
            Some(Fate::Undone) => State::Restored,
            Some(Fate::Purged) => State::Purged,
        };
        let Intent { kind, path, keep, was, kept, digest, .. } = intent;
        let (path, keep, allocated) = (path.0, keep.0, was.allocated);
        let (was, kept_was) = (was.version, kept);
        Ok(Deed { path, kind, state, was, allocated, kept: keep, kept_was, digest })
    }
}

impl Iterator for Deeds {
    type Item = Result<Deed, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let n = self.numbers.next()?;
        Some(self.deed(n))
    }
}
