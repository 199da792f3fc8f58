//! The result of a walk: directories, files and roots as flat tables.

use std::ffi::{CStr, OsString};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use fsops::{FileKey, Op, Stat, Volume};

use crate::left_out::LeftOut;

/// Number of a directory in its [`Tree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DirId(pub u32);

/// Number of a file (a name, not an inode) in its [`Tree`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

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
/// A directory with files on several devices (overlayfs, a file as a mount point) has one record
/// per device. The further records have no inode and no children.
#[derive(Clone, Copy, Debug)]
pub struct DirRecord {
    /// Inode number; 0 if it was never listed.
    pub inode: u64,
    /// The parent directory; `None` for a root.
    pub parent: Option<DirId>,
    /// Start of the name among the directory names, or the root's number.
    pub(crate) name: u32,
    /// First file, and how many follow.
    pub(crate) first: u32,
    pub(crate) count: u32,
    /// Index of the block of names that its files use.
    pub(crate) shard: u32,
    /// Index into [`Tree::devices`].
    pub(crate) device: u16,
    /// Whether its listing finished without an error.
    pub complete: bool,
}

/// A path that the user named, or that a catalog remembers.
#[derive(Clone, Debug)]
pub struct Root {
    /// The path as given, with which printed paths start. Empty for the current directory of a file
    /// given by a bare name.
    pub given: Vec<u8>,
    /// The absolute path, with all links resolved.
    pub absolute: Vec<u8>,
    /// Its directory record.
    pub dir: DirId,
    /// Whether the walk covers all of its content, as opposed to single files in it.
    pub whole: bool,
}

/// A device that files were found on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    /// The device number, as in [`FileKey`].
    pub number: u64,
    /// The file system on it.
    pub volume: Volume,
}

/// Why an entry could not be examined.
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
    /// Its metadata changed between the walk and the end of reading.
    #[error("changed while it was read")]
    Changed,
    /// Its bytes differ from those of an earlier scan, although its size and times are the same.
    #[error("differs from what was scanned before, though its size and times are the same")]
    Damaged,
    /// It is shorter than its size, as files in /sys are.
    #[error("has fewer bytes than its size says")]
    Short,
}

/// An entry that was not examined.
#[derive(Debug)]
pub struct Problem {
    /// Its path, starting with the root as given.
    pub path: Vec<u8>,
    /// The reason.
    pub reason: Reason,
}

/// Numbers of entries that were skipped on purpose, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Skipped {
    pub empty: u64,
    pub too_small: u64,
    pub too_large: u64,
    pub excluded: u64,
    /// Quarantine directories, and single files where no directory could be created.
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
    /// File systems whose files the kernel generates, and automount points.
    pub pseudo_file_systems: u64,
    /// System directories.
    pub system_dirs: u64,
    /// Directories that were already listed under another path, and files listed twice.
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

/// All files that were found.
#[derive(Debug, Default)]
pub struct Tree {
    pub(crate) dirs: Vec<DirRecord>,
    pub(crate) dir_names: Vec<u8>,
    pub(crate) files: Vec<FileRecord>,
    pub(crate) names: Vec<Vec<u8>>,
    pub(crate) devices: Vec<Device>,
    pub(crate) roots: Vec<Root>,
    /// A visitor's notes by file number, 0 for none. Files beyond its end have none.
    pub notes: Vec<u64>,
    /// The first file that was added from a catalog and not found by the walk.
    pub(crate) remembered_from: Option<u32>,
    /// Whether the last block of names holds remembered files.
    pub(crate) remembered_block: bool,
    /// Entries that could not be examined.
    pub problems: Vec<Problem>,
    /// Numbers of entries that were skipped on purpose.
    pub skipped: Skipped,
    /// Printed paths of the quarantine directories that were skipped.
    pub stores: Vec<Vec<u8>>,
    pub(crate) left_out: LeftOut,
}

impl Tree {
    /// Returns the files, indexed by [`FileId`]. Files of one directory are adjacent.
    pub fn files(&self) -> &[FileRecord] {
        &self.files
    }

    /// Returns the directories, indexed by [`DirId`]. A parent precedes its children.
    pub fn dirs(&self) -> &[DirRecord] {
        &self.dirs
    }

    /// Returns the roots, including those reached twice.
    pub fn roots(&self) -> &[Root] {
        &self.roots
    }

    /// Returns the devices that files were found on.
    pub fn devices(&self) -> &[Device] {
        &self.devices
    }

    /// Returns one file.
    pub fn file(&self, id: FileId) -> &FileRecord {
        &self.files[id.0 as usize]
    }

    /// Returns one directory.
    pub fn dir(&self, id: DirId) -> &DirRecord {
        &self.dirs[id.0 as usize]
    }

    /// Returns the files directly in a directory.
    pub fn files_in(&self, id: DirId) -> std::ops::Range<u32> {
        let dir = self.dir(id);
        dir.first..dir.first + dir.count
    }

    /// Returns the device of a directory's files.
    pub fn device_of(&self, id: DirId) -> &Device {
        &self.devices[usize::from(self.dir(id).device)]
    }

    /// Returns the index into [`Tree::devices`] of a directory's files.
    pub fn device_index(&self, id: DirId) -> usize {
        usize::from(self.dir(id).device)
    }

    /// Returns the identity of a file's inode.
    pub fn key(&self, id: FileId) -> FileKey {
        let file = self.file(id);
        FileKey { device: self.device_of(file.dir).number, inode: file.inode }
    }

    /// Returns whether a file was added from a catalog.
    pub fn is_remembered(&self, id: FileId) -> bool {
        self.remembered_from.is_some_and(|first| id.0 >= first)
    }

    /// Returns a file's name within its directory.
    pub fn name(&self, id: FileId) -> &CStr {
        let file = self.file(id);
        let block = &self.names[self.dir(file.dir).shard as usize];
        cstr_at(block, file.name)
    }

    /// Returns a directory's name within its parent, or `None` for a root.
    pub fn dir_name(&self, id: DirId) -> Option<&CStr> {
        let dir = self.dir(id);
        dir.parent.map(|_| cstr_at(&self.dir_names, dir.name))
    }

    /// Returns the root that a directory was found under.
    pub fn root_of(&self, mut id: DirId) -> &Root {
        loop {
            let dir = self.dir(id);
            match dir.parent {
                Some(parent) => id = parent,
                None => return &self.roots[dir.name as usize],
            }
        }
    }

    /// Returns a directory's path, starting with the root as given.
    pub fn dir_path(&self, id: DirId) -> Vec<u8> {
        let mut path = Vec::new();
        self.write_path(&self.root_of(id).given, id, None, &mut path);
        path
    }

    /// Returns a directory's absolute path, with its root's links resolved.
    pub fn absolute_dir_path(&self, id: DirId) -> Vec<u8> {
        let mut path = Vec::new();
        self.write_path(&self.root_of(id).absolute, id, None, &mut path);
        path
    }

    /// Returns a file's path, starting with the root as given.
    pub fn path(&self, id: FileId) -> Vec<u8> {
        let mut path = Vec::new();
        self.path_into(id, &mut path);
        path
    }

    /// Replaces the content of `path` by a file's path, starting with the root as given.
    pub fn path_into(&self, id: FileId, path: &mut Vec<u8>) {
        let dir = self.file(id).dir;
        self.write_path(&self.root_of(dir).given, dir, Some(self.name(id)), path);
    }

    /// Returns a file's absolute path, with its root's links resolved.
    pub fn absolute_path(&self, id: FileId) -> Vec<u8> {
        let mut path = Vec::new();
        let dir = self.file(id).dir;
        self.write_path(&self.root_of(dir).absolute, dir, Some(self.name(id)), &mut path);
        path
    }

    /// Returns whether an open file's metadata still equals that of the walk.
    pub fn unchanged(&self, id: FileId, now: &Stat) -> bool {
        let file = self.file(id);
        self.key(id) == now.key()
            && file.size == now.size
            && file.mtime_ns == now.mtime_ns()
            && file.ctime_ns == now.ctime_ns
    }

    /// Replaces the content of `path` by `start`, the directories down to `dir`, and `name`.
    ///
    /// The table knows only parents, so the length is computed first and the path is filled from
    /// its end.
    fn write_path(&self, start: &[u8], dir: DirId, name: Option<&CStr>, path: &mut Vec<u8>) {
        let name = name.map(CStr::to_bytes);
        let mut length: usize = name.map_or(0, |n| n.len() + 1);
        self.each_name_up(dir, |n| length += n.len() + 1);
        let slash = start.is_empty() || start.ends_with(b"/");
        if length > 0 && slash {
            length -= 1;
        }
        path.clear();
        path.resize(start.len() + length, b'/');
        path[..start.len()].copy_from_slice(start);
        let mut end = path.len();
        let mut put = |n: &[u8]| {
            path[end - n.len()..end].copy_from_slice(n);
            end = (end - n.len()).saturating_sub(1);
        };
        if let Some(name) = name {
            put(name);
        }
        self.each_name_up(dir, put);
    }

    fn each_name_up(&self, dir: DirId, mut each: impl FnMut(&[u8])) {
        let mut at = dir;
        while let Some(parent) = self.dir(at).parent {
            each(cstr_at(&self.dir_names, self.dir(at).name).to_bytes());
            at = parent;
        }
    }
}

/// Appends a component to a path, with a slash where needed.
pub fn push_component(path: &mut Vec<u8>, name: &[u8]) {
    if !path.is_empty() && path.last() != Some(&b'/') {
        path.push(b'/');
    }
    path.extend_from_slice(name);
}

/// Returns the NUL-terminated name at an offset of a block of names.
pub(crate) fn cstr_at(block: &[u8], at: u32) -> &CStr {
    CStr::from_bytes_until_nul(&block[at as usize..]).unwrap_or_default()
}

/// Converts bytes to a path.
pub(crate) fn to_path(bytes: Vec<u8>) -> PathBuf {
    PathBuf::from(OsString::from_vec(bytes))
}
