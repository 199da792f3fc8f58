//! What a scan hands over to be committed.

use content::{ContentId, Facts};
use walk::{Problem, Tree};

/// What is remembered of a scan itself.
#[derive(Clone, Debug)]
pub struct ScanRecord {
    /// Start and end, milliseconds since the epoch.
    pub started_ms: i64,
    /// See `started_ms`.
    pub finished_ms: i64,
    /// The options that decided what was looked at, for people to read.
    pub options: String,
    /// Regular files seen.
    pub files: u64,
    /// Their size in bytes.
    pub bytes: u64,
}

/// How many inodes have a content, and what keeping one of them would free.
#[derive(Clone, Copy, Debug)]
pub struct CopyCount {
    /// The content.
    pub content: ContentId,
    /// Inodes counted.
    pub inodes: u32,
    /// Bytes.
    pub reclaimable: u64,
}

/// What a scan has found out, at its end or on its way.
#[derive(Clone, Copy, Debug)]
pub struct Findings<'a> {
    /// The files.
    pub tree: &'a Tree,
    /// What is known of their contents. Engines may still be adding to it.
    pub fingerprints: &'a Facts,
    /// What could not be examined.
    pub problems: &'a [&'a Problem],
    /// The scan itself.
    pub record: &'a ScanRecord,
    /// By file, whether it is still to be compared; nothing if the scan came to its end.
    pub pending: Option<&'a [bool]>,
}
