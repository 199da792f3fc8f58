//! What lop did with a file, and the state of the file now.

use content::Digest;
use walk::Device;

/// A version of a file, without the file system that it is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// Inode number.
    pub inode: u64,
    /// Length in bytes.
    pub size: u64,
    /// Modification time, nanoseconds since the epoch.
    pub mtime_ns: i64,
    /// Status change time, nanoseconds since the epoch.
    pub ctime_ns: i64,
}

/// What caused the present ctime of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CtimeCause {
    /// Unknown: others may have changed the file since lop last knew it.
    Unknown,
    /// Only lop has changed the ctime.
    LopChanged {
        /// The ctime before lop's first change, in nanoseconds since the epoch.
        before_ns: i64,
    },
    /// Lop created the file, and nobody has changed it since.
    LopCreated,
}

/// A file as it exists now.
#[derive(Clone, Copy, Debug)]
pub struct LiveFile {
    /// The file system that it is on.
    pub device: Device,
    /// Its inode, size and times.
    pub version: Version,
    /// Bytes that it takes on disk.
    pub allocated: u64,
    /// What caused its ctime.
    pub ctime_cause: CtimeCause,
}

/// An operation of lop on a file.
#[derive(Clone, Debug)]
pub struct FileOperation {
    /// The absolute path of the file.
    pub path: Vec<u8>,
    /// The version of the file before the operation.
    pub was: Version,
    /// Bytes that it took on disk before.
    pub allocated: u64,
    /// The absolute path of the file that it was compared with.
    pub kept: Vec<u8>,
    /// The version of that file.
    pub kept_was: Version,
    /// The digest of the content that both files had, if known.
    pub digest: Option<Digest>,
    /// Bytes that the file no longer takes although it still exists.
    pub unshared: u64,
}
