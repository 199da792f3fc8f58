//! What lop did with a file, and what the file is now.

use content::Digest;
use walk::Device;

/// A version of a file, apart from the file system that it is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// Inode number.
    pub inode: u64,
    /// Length in bytes.
    pub size: u64,
    /// Modification time, nanoseconds since the epoch.
    pub mtime_ns: i64,
    /// CtimeCause change time, nanoseconds since the epoch.
    pub ctime_ns: i64,
}

/// How a file came by its status change time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CtimeCause {
    /// Others may have changed the file since lop last knew it.
    Unknown,
    /// Only lop has changed the status.
    LopChanged {
        /// The status change time before lop's first change, in nanoseconds since the epoch.
        before_ns: i64,
    },
    /// Lop made the file, and nobody has changed it since.
    LopCreated,
}

/// A file as it is now.
#[derive(Clone, Copy, Debug)]
pub struct LiveFile {
    /// The file system that it is on.
    pub device: Device,
    /// What it is.
    pub version: Version,
    /// Bytes that it takes on the disk.
    pub allocated: u64,
    /// How it came by its status change time.
    pub ctime_cause: CtimeCause,
}

/// What became of a file by something that lop did.
#[derive(Clone, Debug)]
pub struct FileOperation {
    /// The absolute path of the file.
    pub path: Vec<u8>,
    /// What it was before.
    pub was: Version,
    /// Bytes that it took on the disk before.
    pub allocated: u64,
    /// The absolute path of the file that it was compared with.
    pub kept: Vec<u8>,
    /// What that file was.
    pub kept_was: Version,
    /// The digest of what both had in them, if it is known.
    pub digest: Option<Digest>,
    /// Bytes that it does not take any more although it is still there.
    pub unshared: u64,
}
