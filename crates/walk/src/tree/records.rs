//! The records of a [`crate::Tree`]: files, directories, roots, problems and counts.

use std::ffi::{CStr, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use fsops::{Op, Stat, Volume};

/// Number of a directory in its [`crate::Tree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DirId(pub u32);

/// Number of a file in its [`crate::Tree`]. Each name of an inode has its own number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// Two numbers that a [`crate::Visitor`] stores for a file. A file without a note has the default
/// note.
pub type Note = [u64; 2];

/// One name of a regular file.
#[derive(Clone, Copy, Debug)]
pub struct FileRecord {
    /// Size in bytes.
    pub size: u64,
    /// Inode number on the directory's device.
    pub inode: u64,
    /// Modification time in nanoseconds since the epoch.
    pub mtime_ns: i64,
    /// Status change time in nanoseconds since the epoch.
    pub ctime_ns: i64,
    /// The directory that contains the name.
    pub dir: DirId,
    /// Offset of the name in the directory's block of names.
    pub(crate) name: u32,
}

/// A directory.
///
/// The files of a directory can be on several devices, for example with overlayfs or if a file is a
/// mount point. Such a directory has one record per device. Only the first record has an inode
/// number and children.
#[derive(Clone, Copy, Debug)]
pub struct DirRecord {
    /// Inode number, or 0 if the directory was not listed.
    pub inode: u64,
    /// The parent directory, or `None` for a root.
    pub parent: Option<DirId>,
    /// Offset of the name in the block of directory names. For a root, the index of the root.
    pub(crate) name: u32,
    /// Number of the first file, and the number of files.
    pub(crate) first: u32,
    pub(crate) count: u32,
    /// Index of the block that contains the names of the files.
    pub(crate) shard: u32,
    /// Index into [`crate::Tree::devices`].
    pub(crate) device: u16,
    /// True if the directory was listed without an error.
    pub complete: bool,
}

impl DirRecord {
    /// Returns the record of a directory that has not been listed yet.
    pub(crate) fn unlisted(parent: Option<DirId>, name: u32) -> DirRecord {
        DirRecord {
            inode: 0,
            parent,
            name,
            first: 0,
            count: 0,
            shard: 0,
            device: 0,
            complete: false,
        }
    }
}

/// A path that the user named, or the root of remembered directories.
#[derive(Clone, Debug)]
pub struct Root {
    /// The path as given. Printed paths start with it. The path is empty if the user named a file
    /// without a directory.
    pub given: Vec<u8>,
    /// The absolute path, with all links resolved.
    pub absolute: Vec<u8>,
    /// Its directory record.
    pub dir: DirId,
    /// True if the walk covered the whole directory, false if it examined only single files in it.
    pub whole: bool,
}

/// A device that files were found on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// The device number, as in [`fsops::FileKey`].
    pub number: u64,
    /// The file system on it.
    pub volume: Volume,
}

/// Reason why an entry could not be examined.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// A system call failed.
    #[error("cannot {}: {source}", op.verb())]
    Failed {
        /// The operation.
        op: Op,
        /// The system's error.
        source: io::Error,
    },
    /// The metadata changed between the walk and the end of reading.
    #[error("changed while it was read")]
    Changed,
    /// The content differs from that of an earlier scan, even though size and times are the same.
    #[error("differs from what was scanned before, though its size and times are the same")]
    Damaged,
    /// The file contains fewer bytes than its size indicates, as is common in `/sys`.
    #[error("has fewer bytes than its size")]
    Short,
}

/// An entry that could not be examined.
#[derive(Debug)]
pub struct Problem {
    /// Path of the entry, starting with the root as given.
    pub path: Vec<u8>,
    /// The reason.
    pub reason: Reason,
}

/// Number of entries skipped on purpose, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Skipped {
    pub empty: u64,
    pub too_small: u64,
    pub too_large: u64,
    pub excluded: u64,
    /// Quarantine directories, and quarantined files outside of them.
    pub quarantine: u64,
    pub hidden: u64,
    pub symlinks: u64,
    pub fifos: u64,
    pub sockets: u64,
    pub devices: u64,
    /// Directories in a list of files.
    pub directories: u64,
    /// Directories on another file system.
    pub other_file_systems: u64,
    /// Pseudo file systems, such as `/proc`, and automount points.
    pub pseudo_file_systems: u64,
    pub system_dirs: u64,
    /// Directories reached by a second path, and files named twice.
    pub seen_before: u64,
}

impl Skipped {
    /// Returns the number of FIFOs, sockets and devices.
    pub fn special(&self) -> u64 {
        self.fifos + self.sockets + self.devices
    }

    pub(crate) fn add(&mut self, other: &Skipped) {
        self.empty += other.empty;
        self.too_small += other.too_small;
        self.too_large += other.too_large;
        self.excluded += other.excluded;
        self.quarantine += other.quarantine;
        self.hidden += other.hidden;
        self.symlinks += other.symlinks;
        self.fifos += other.fifos;
        self.sockets += other.sockets;
        self.devices += other.devices;
        self.directories += other.directories;
        self.other_file_systems += other.other_file_systems;
        self.pseudo_file_systems += other.pseudo_file_systems;
        self.system_dirs += other.system_dirs;
        self.seen_before += other.seen_before;
    }
}

/// Metadata of a remembered file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Remembered {
    /// Size in bytes.
    pub size: u64,
    /// Inode number.
    pub inode: u64,
    /// Modification time in nanoseconds since the epoch.
    pub mtime_ns: i64,
    /// Status change time in nanoseconds since the epoch.
    pub ctime_ns: i64,
}

impl Remembered {
    pub(crate) fn of(stat: &Stat) -> Remembered {
        let (size, inode) = (stat.size, stat.inode);
        Remembered { size, inode, mtime_ns: stat.mtime_ns(), ctime_ns: stat.ctime_ns }
    }
}

/// Appends a component to a path, separated by a slash if necessary.
pub fn push_component(path: &mut Vec<u8>, name: &[u8]) {
    if !path.is_empty() && path.last() != Some(&b'/') {
        path.push(b'/');
    }
    path.extend_from_slice(name);
}

/// Returns the NUL-terminated name at offset `at` in a block of names.
pub(crate) fn cstr_at(block: &[u8], at: u32) -> &CStr {
    CStr::from_bytes_until_nul(&block[at as usize..]).unwrap_or_default()
}

/// Converts bytes to a path.
pub(crate) fn to_path(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes))
}

/// Converts a length to 32 bits.
///
/// # Panics
///
/// Panics if there are more than 2^32 entries, or more than 4 GiB of directory names. A tree of
/// this size would need 160 GB of memory.
pub fn to_u32(length: usize) -> u32 {
    u32::try_from(length).expect("fewer than 2^32 entries")
}
