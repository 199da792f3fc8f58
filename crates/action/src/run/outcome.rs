//! The outcome of a run: what was done, what was refused and why, and which files turned out to be damaged.

use crate::error::Refusal;
use crate::plan::target::Version;
use crate::statuses::Statuses;

/// The outcome of a run.
#[derive(Debug, Default)]
pub struct ApplyOutcome {
    /// Files that were acted on.
    pub done: u64,
    /// Files that already were in the state that the action produces.
    pub already: u64,
    /// Bytes that were freed.
    pub freed: u64,
    /// Files that were left alone, with the reasons.
    pub refused: Vec<Refusal>,
    /// Files whose content was not as expected, or that could not be read.
    pub suspects: Vec<Suspect>,
    /// Files that have changed. Includes kept files, whose status change time changes when a link is made.
    pub changed: Vec<ChangedFile>,
    /// The status change times that the run caused.
    pub statuses: Statuses,
}

/// A file that the run changed.
#[derive(Clone, Copy, Debug)]
pub struct ChangedFile {
    /// The caller's number for the file.
    pub tag: u32,
    /// Whether its name still leads to a regular file.
    pub is_there: bool,
    /// Bytes that the file no longer occupies although it still exists.
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

/// A file that a comparison showed to be damaged, or changed without a trace, or unreadable.
#[derive(Clone, Debug)]
pub struct Suspect {
    /// The absolute path of the file.
    pub path: Vec<u8>,
    /// The version of the file that was compared.
    pub version: Version,
    /// The defect.
    pub fault: Fault,
}

/// The defect that a comparison found in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The file differs from files that are still equal to each other.
    Differs,
    /// The file differs from the only file that it was compared with, so either of the two may have changed.
    Unclear,
    /// The file could not be read.
    Unreadable,
}
