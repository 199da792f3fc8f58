//! Reads from a journal how a run changed each file. Callers use this to show the history and to
//! update a catalog.

use content::Digest;

use crate::error::Error;
use crate::journal::record::Intent;
use crate::journal::replay::{Fate, LoggedIntent, Replay};
use crate::plan::kind::Kind;
use crate::plan::target::Version;

/// The state of a file after a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileState {
    /// The run was cut off before or while it acted on the file.
    CutOff,
    /// The run acted on the file.
    Done,
    /// The file needed no action, because it was already in the desired state.
    Already,
    /// The file was left alone for this reason.
    LeftAlone(String),
    /// The run acted on the file, and the file was restored later.
    Restored,
    /// The file was purged from quarantine.
    Purged,
}

/// The change that a run made to a file. If the run was a sweep, the file may also be a symbolic link
/// or a directory tree.
#[derive(Clone, Debug)]
pub struct FileAction {
    /// The path of the file.
    pub path: Vec<u8>,
    /// The action that was done or planned.
    pub kind: Kind,
    /// The state of the file after the run.
    pub state: FileState,
    /// The version of the file before the run. A sweep does not record the status change time, which
    /// is then 0.
    pub was: Version,
    /// The disk space that the file or the tree occupied before the run, in bytes.
    pub allocated: u64,
    /// The kept file. `None` if the run was a sweep.
    pub kept: Option<KeptFile>,
    /// The ID of the rule that chose the file. `None` unless the run was a sweep.
    pub rule: Option<String>,
    /// The number of files in the tree. `None` unless this is a directory tree.
    pub files: Option<u64>,
    /// The digest of both files, if it is known.
    pub digest: Option<Digest>,
}

/// The file that a run kept in place of another one.
#[derive(Clone, Debug)]
pub struct KeptFile {
    /// The path of the file.
    pub path: Vec<u8>,
    /// The version of the file before the run.
    pub was: Version,
}

/// Reads from a journal what a run did to files, one file at a time.
#[derive(Debug)]
pub struct FileActions {
    replay: Replay,
    numbers: std::vec::IntoIter<u64>,
}

impl FileActions {
    /// Returns an iterator over the files with these intent numbers.
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
        let Intent { kind, path, keep, was, kept, digest, swept, .. } = intent;
        let (path, allocated, was) = (path.0, was.allocated, was.version);
        let files = swept.as_ref().and_then(|swept| swept.files);
        let rule = swept.map(|swept| swept.rule);
        let kept = rule.is_none().then_some(KeptFile { path: keep.0, was: kept });
        Ok(FileAction { path, kind, state, was, allocated, kept, rule, files, digest })
    }
}

impl Iterator for FileActions {
    type Item = Result<FileAction, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let n = self.numbers.next()?;
        Some(self.action(n))
    }
}
