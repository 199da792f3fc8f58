//! Describes an operation that lop performed on a file, and the current state of the file.

use content::Digest;
use walk::Device;

/// A version of a file, without its file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// Inode number.
    pub inode: u64,
    /// Length in bytes.
    pub size: u64,
    /// Modification time in nanoseconds since the epoch.
    pub mtime_ns: i64,
    /// Status change time in nanoseconds since the epoch.
    pub ctime_ns: i64,
}

/// The cause of a file's current ctime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CtimeCause {
    /// Unknown: other programs may have changed the file since lop last inspected it.
    Unknown,
    /// Only lop has changed the ctime.
    LopChanged {
        /// The ctime before lop's first change, in nanoseconds since the epoch.
        before_ns: i64,
    },
    /// The file was created by lop, and nobody has changed it since.
    LopCreated,
}

/// A file as it exists now.
#[derive(Clone, Copy, Debug)]
pub struct LiveFile {
    /// The device of the file system that contains the file.
    pub device: Device,
    /// Its inode, size and times.
    pub version: Version,
    /// Number of bytes that the file takes on disk.
    pub allocated: u64,
    /// True if its data is in its inode. A copy of such a file takes no further blocks.
    pub is_inline: bool,
    /// The cause of its current ctime.
    pub ctime_cause: CtimeCause,
}

/// An operation that lop performed on a file.
#[derive(Clone, Debug)]
pub struct FileOperation {
    /// The absolute path of the file.
    pub path: Vec<u8>,
    /// The version of the file before the operation.
    pub was: Version,
    /// Number of bytes that the file took on disk before the operation.
    pub allocated: u64,
    /// The absolute path of the file that this file was compared with.
    pub kept: Vec<u8>,
    /// The version of that file.
    pub kept_was: Version,
    /// The digest of the content that both files had, if known.
    pub digest: Option<Digest>,
    /// Number of bytes by which the disk usage of the file shrank, although the file still exists.
    pub unshared: u64,
}
