//! The records of a run's journal.
//!
//! An intent is on the disk before its action begins. The record of the outcome follows later and
//! need not reach the disk, because the file system shows the outcome after a crash. The names of
//! variants and fields are part of the format on disk.

use content::Digest;
use fsops::{FileKey, Stat};
use serde::{Deserialize, Serialize};

use crate::journal::json_bytes::JsonBytes;
use crate::plan::kind::Kind;
use crate::plan::target::Version;

/// One line of the journal.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub(crate) enum Record {
    /// The run begins.
    Begin { format_version: u32, run: u64, id: String, by: Kind, started_ms: i64 },
    /// Files on one file system pass through the staging directory `path`. The directory is created
    /// after this record is written.
    Store { store: u32, path: JsonBytes, fsid: u64 },
    /// An action on a file is about to begin.
    Will(Box<Intent>),
    /// An entry that a rule chose is about to be moved into quarantine.
    Take(Box<Take>),
    /// All entries with these numbers, first and last included, were moved into quarantine.
    Took { first: u64, last: u64 },
    /// The link that was made for the intent has this inode number, which differs from the kept
    /// file's.
    Linked { n: u64, inode: u64 },
    /// The file equals the kept file, and its name is about to change. The digest of the content is
    /// present if the comparison computed it.
    Equal {
        n: u64,
        #[serde(default, skip_serializing_if = "Option::is_none", with = "hex")]
        digest: Option<Digest>,
    },
    /// The action was done and freed this many bytes. The status change time is present if the file has other names
    /// or is in quarantine.
    Did {
        n: u64,
        freed: u64,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ctime_ns: Option<i64>,
    },
    /// The action was not needed, because the file was already in the desired state.
    Same { n: u64 },
    /// The action was not done.
    Not { n: u64, why: String },
    /// The run is over.
    End { ended_ms: i64, done: u64, failed: u64, freed: u64 },
    /// An undo of the run begins.
    UndoBegin,
    /// The undo is over. The time is present if the user asked for the undo.
    UndoEnd {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ended_ms: Option<i64>,
    },
    /// The undo made a copy that will replace the entry that the action put in the file's place.
    Made { n: u64, inode: u64 },
    /// The file is restored.
    Undone { n: u64 },
    /// The file was purged from quarantine.
    Purged { n: u64 },
}

/// An action on a file, and the file's metadata before it. The fields about the kept file are empty
/// if the intent was read from a [`Take`] record.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Intent {
    pub(crate) n: u64,
    pub(crate) kind: Kind,
    pub(crate) path: JsonBytes,
    pub(crate) keep: JsonBytes,
    /// The number of the staging directory. `None` if no name changes.
    pub(crate) store: Option<u32>,
    /// The target of the symbolic link to the kept file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) link: Option<JsonBytes>,
    /// Whether the run leaves the file without a name that lop knows. Its other names, which keep
    /// the file alive, are outside of the named paths.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) elsewhere: bool,
    pub(crate) was: FormerMetadata,
    pub(crate) kept: Version,
    pub(crate) kept_fsid: u64,
    /// The BLAKE3 digest of the content, if it was known.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "hex")]
    pub(crate) digest: Option<Digest>,
    /// Why the entry was swept. `None` unless the intent was read from a [`Take`] record.
    #[serde(skip)]
    pub(crate) swept: Option<Swept>,
}

impl Intent {
    /// Returns whether the intent is to move a directory tree.
    pub(crate) fn is_tree(&self) -> bool {
        self.swept.as_ref().is_some_and(|swept| swept.files.is_some())
    }
}

/// Serializes digests as 64 hexadecimal digits.
mod hex {
    use content::Digest;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(clippy::ref_option, reason = "the form that serde asks for")]
    pub(super) fn serialize<S: Serializer>(
        digest: &Option<Digest>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match digest {
            Some(digest) => serializer.collect_str(digest),
            None => serializer.serialize_none(),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Digest>, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Some).map_err(D::Error::custom)
    }
}

/// The metadata of a file before an action.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FormerMetadata {
    #[serde(flatten)]
    pub(crate) version: Version,
    pub(crate) atime_ns: i64,
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) links: u32,
    /// The disk space that the file occupies, in bytes.
    pub(crate) allocated: u64,
    /// The birth time in nanoseconds since the epoch. It is 0 if the file system does not record
    /// it.
    #[serde(default)]
    pub(crate) born_ns: i64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) xattrs: Vec<(JsonBytes, JsonBytes)>,
}

impl FormerMetadata {
    /// Returns the identity of the file.
    pub(crate) fn key(&self) -> FileKey {
        FileKey { device: self.version.device, inode: self.version.inode }
    }

    /// Returns whether a file has this inode number and, if both birth times are known, this birth
    /// time. If the birth times differ, the inode number was reused for another file.
    pub(crate) fn has_inode_of(&self, now: &Stat) -> bool {
        let is_unknown = now.born_ns == 0 || self.born_ns == 0;
        now.inode == self.version.inode && (is_unknown || now.born_ns == self.born_ns)
    }

    pub(crate) fn new(stat: &Stat, xattrs: Vec<fsops::Xattr>) -> FormerMetadata {
        FormerMetadata {
            version: stat.into(),
            atime_ns: stat.atime.as_ns(),
            mode: stat.mode,
            uid: stat.uid,
            gid: stat.gid,
            links: stat.links,
            allocated: stat.allocated,
            born_ns: stat.born_ns,
            xattrs: xattrs
                .into_iter()
                .map(|(name, value)| (JsonBytes(name), JsonBytes(value)))
                .collect(),
        }
    }
}

/// An entry that a sweep is about to move, and the metadata that identifies it.
///
/// A sweep may move 100,000 entries within a second, so this record contains only what recovery, undo
/// and purge need to recognize the entry. The entry keeps its inode, and with it all other metadata.
/// The rest of the crate sees the record as an [`Intent`] without a kept file.
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
