//! The findings of a scan, which a commit writes.

use content::{ContentId, Facts};
use walk::{Problem, Tree};

/// The record of a scan itself.
#[derive(Clone, Debug)]
pub struct ScanRecord {
    /// When it started, in milliseconds since the epoch.
    pub started_ms: i64,
    /// When it finished, in milliseconds since the epoch.
    pub finished_ms: i64,
    /// The options that decided which files were read, as text for people.
    pub options: String,
    /// Regular files seen.
    pub files: u64,
    /// Sum of their sizes in bytes.
    pub bytes: u64,
}

/// How many inodes have a content, and what keeping one of them would free.
#[derive(Clone, Copy, Debug)]
pub struct CopyCount {
    /// The content.
    pub content: ContentId,
    /// The number of inodes.
    pub inodes: u32,
    /// Bytes that would be freed.
    pub reclaimable: u64,
}

/// What a scan has found, when it is finished or so far.
#[derive(Clone, Copy, Debug)]
pub struct Findings<'a> {
    /// The files.
    pub tree: &'a Tree,
    /// The fingerprints of their contents. Engines may be adding to them.
    pub fingerprints: &'a Facts,
    /// Entries that could not be examined.
    pub problems: &'a [&'a Problem],
    /// The scan itself.
    pub record: &'a ScanRecord,
    /// For each file, whether it still has to be compared; `None` if the scan is finished.
    pub pending: Option<&'a [bool]>,
}
