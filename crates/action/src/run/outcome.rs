//! The outcome of a run: the changed files, the refused files with the reasons, and the files that
//! seem damaged.

use crate::error::Refusal;
use crate::plan::target::Version;
use crate::statuses::Statuses;

/// The outcome of a run.
#[derive(Debug, Default)]
pub struct ApplyOutcome {
    /// Number of files that were acted on.
    pub done: u64,
    /// Number of files that needed no action.
    pub already: u64,
    /// Number of bytes that were freed.
    pub freed: u64,
    /// Files that were left alone, with the reasons.
    pub refused: Vec<Refusal>,
    /// Files that had unexpected content or could not be read.
    pub suspects: Vec<Suspect>,
    /// Files that the run changed. Includes a kept file if the run changed its status change time
    /// by making a link to it.
    pub changed: Vec<ChangedFile>,
    /// The status change times that the run caused.
    pub statuses: Statuses,
}

/// A file that the run changed.
#[derive(Clone, Copy, Debug)]
pub struct ChangedFile {
    /// The caller's number for the file.
    pub tag: u32,
    /// Whether the name of the file still refers to a regular file.
    pub is_there: bool,
    /// Number of bytes that the file no longer occupies because it shares extents.
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

/// A file that a comparison found to be damaged, unreadable, or changed without a new modification
/// time.
#[derive(Clone, Debug)]
pub struct Suspect {
    /// The absolute path of the file.
    pub path: Vec<u8>,
    /// The version of the file that was read.
    pub version: Version,
    /// The defect.
    pub fault: Fault,
}

/// The defect that a comparison found in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The file differs from other files that are still equal to each other.
    Differs,
    /// The file differs from the only file that it was compared with. Either of the two may have
    /// changed.
    Unclear,
    /// The file could not be read.
    Unreadable,
}
