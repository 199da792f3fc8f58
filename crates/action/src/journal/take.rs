//! The record of an entry that a sweep is about to move into quarantine.
//!
//! A sweep may move 100,000 entries within a second, so the record contains only what recovery, undo
//! and purge need to recognize the entry. The entry keeps its inode, and with it all other metadata.
//! The rest of the crate sees the record as an [`Intent`] without a kept file. The names of fields
//! are part of the format on disk.

use serde::{Deserialize, Serialize};

use crate::journal::json_bytes::JsonBytes;
use crate::journal::record::{FormerMetadata, Intent};
use crate::plan::kind::Kind;
use crate::plan::target::Version;

/// An entry that a sweep is about to move, and the metadata that identifies it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Take {
    pub(crate) n: u64,
    /// The number of the staging directory.
    pub(crate) store: u32,
    pub(crate) path: JsonBytes,
    /// The ID of the rule that chose the entry.
    pub(crate) rule: String,
    pub(crate) device: u64,
    pub(crate) inode: u64,
    /// The birth time in nanoseconds since the epoch. It is 0 if the file system does not record
    /// it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) born_ns: i64,
    /// The length in bytes.
    pub(crate) size: u64,
    pub(crate) mtime_ns: i64,
    /// The disk space that the entry occupies, in bytes. For a tree, includes all files in it.
    pub(crate) allocated: u64,
    /// The number of files in a tree. `None` if the entry is not a directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) files: Option<u64>,
}

/// Why an entry was swept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Swept {
    /// The ID of the rule that chose the entry.
    pub(crate) rule: String,
    /// The number of files in a tree. `None` if the entry is not a directory.
    pub(crate) files: Option<u64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde asks for")]
fn is_zero(number: &i64) -> bool {
    *number == 0
}

impl From<Take> for Intent {
    fn from(take: Take) -> Intent {
        let Take { n, store, path, rule, device, inode, born_ns, size, mtime_ns, allocated, files } =
            take;
        let version = Version { device, inode, size, mtime_ns, ctime_ns: 0 };
        let was = FormerMetadata {
            version,
            atime_ns: 0,
            mode: 0,
            uid: 0,
            gid: 0,
            // The other names of the file do not matter, because this name is moved back.
            links: 1,
            allocated,
            born_ns,
            xattrs: Vec::new(),
        };
        Intent {
            n,
            kind: Kind::Sweep,
            path,
            keep: JsonBytes(Vec::new()),
            store: Some(store),
            link: None,
            elsewhere: false,
            was,
            kept: Version { device: 0, inode: 0, size: 0, mtime_ns: 0, ctime_ns: 0 },
            kept_fsid: 0,
            digest: None,
            swept: Some(Swept { rule, files }),
        }
    }
}
