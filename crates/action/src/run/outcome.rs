//! OUTCOME

use crate::error::Refusal;
use crate::plan::target::Version;
use crate::statuses::Statuses;

/// What came of a run.
#[derive(Debug, Default)]
pub struct ApplyOutcome {
    /// Files that were acted on.
    pub done: u64,
    /// Files that were already what they were to become.
    pub already: u64,
    /// Bytes that are free by that.
    pub freed: u64,
    /// Files that were left as they were, with the reason.
    pub refused: Vec<Refusal>,
    /// Files that were found not to have the bytes that they were said to have, or not to be readable.
    pub suspects: Vec<Suspect>,
    /// Files that are not what they were. Kept ones too, which have another status change time after a
    /// link was made.
    pub changed: Vec<ChangedFile>,
    /// The status change times that the run gave to inodes.
    pub statuses: Statuses,
}

/// A file that is not what it was.
#[derive(Clone, Copy, Debug)]
pub struct ChangedFile {
    /// The caller's number for it.
    pub tag: u32,
    /// Whether its name still stands for a regular file.
    pub is_there: bool,
    /// Bytes that it does not take any more although it is still there.
    pub unshared: u64,
}

impl ApplyOutcome {
    pub(crate) fn add(&mut self, other: ApplyOutcome) {
        self.done += other.done;
        self.already += other.already;
        self.freed = self.freed.saturating_add(other.freed);
        self.refused.extend(other.refused);
        self.suspects.extend(other.suspects);
        self.changed.extend(other.changed);
        self.statuses.add(other.statuses);
    }
}

/// A file that a comparison has shown to be damaged or changed without a trace, or that could not be read.
#[derive(Clone, Debug)]
pub struct Suspect {
    /// Its absolute path.
    pub path: Vec<u8>,
    /// The version of the file that lop compared.
    pub version: Version,
    /// What was found.
    pub fault: Fault,
}

/// What a comparison found wrong with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Its bytes differ from those of files that are still equal.
    Differs,
    /// Its bytes differ from those of the only file that it was compared with: one of the two has changed.
    Unclear,
    /// It could not be read.
    Unreadable,
}
