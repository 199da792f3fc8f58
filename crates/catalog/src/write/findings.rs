//! The findings of a scan, which a commit writes.

use content::{ContentId, Fingerprints};
use walk::{Problem, Tree};

use crate::read::watched::WatchPosition;

/// The record of a scan.
#[derive(Clone, Debug)]
pub struct ScanRecord {
    /// Start of the scan in milliseconds since the epoch.
    pub started_ms: i64,
    /// End of the scan in milliseconds since the epoch.
    pub finished_ms: i64,
    /// The options that determined which files were read, as human-readable text.
    pub options: String,
    /// Number of files below the roots. A file with several names counts once.
    pub files: u64,
    /// Total size of these files in bytes.
    pub bytes: u64,
    /// The position among the noted changes before the scan began, if a watcher noted it.
    pub position: Option<WatchPosition>,
}

/// The number of inodes with the same content, and the bytes that keeping only one of them would
/// free.
#[derive(Clone, Copy, Debug)]
pub struct CopyCount {
    /// The content.
    pub content: ContentId,
    /// The number of inodes.
    pub inodes: u32,
    /// Number of bytes that keeping only one inode would free.
    pub reclaimable: u64,
}

/// The findings of a scan, which may still be running.
#[derive(Clone, Copy, Debug)]
pub struct Findings<'a> {
    /// The files.
    pub tree: &'a Tree,
    /// Their fingerprints. Engines may add fingerprints at the same time.
    pub fingerprints: &'a Fingerprints,
    /// Entries that could not be examined.
    pub problems: &'a [&'a Problem],
    /// The scan itself.
    pub record: &'a ScanRecord,
    /// For each file, true if it still has to be compared; `None` if the scan is finished.
    pub pending: Option<&'a [bool]>,
}
