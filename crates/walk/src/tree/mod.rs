//! The result of a walk. Directories, files and roots are stored in flat tables.

pub(crate) mod allocated;
pub(crate) mod assemble;
pub(crate) mod hard_links;
mod path_order;
pub(crate) mod records;
mod remembered;
pub(crate) mod skipped_names;
pub(crate) mod store;
pub(crate) mod table;

use std::ffi::CStr;

use fsops::{FileKey, Stat};

use crate::tree::allocated::Allocations;
use crate::tree::hard_links::FurtherNames;
use crate::tree::records::{
    Device, DirId, DirRecord, FileId, FileRecord, Note, Problem, Remembered, Root, Skipped,
    cstr_at, push_component,
};
use crate::tree::skipped_names::SkippedNames;

/// Number of names in most paths.
const USUAL_DEPTH: usize = 16;

/// The files and directories that a walk found.
#[derive(Debug, Default)]
pub struct Tree {
    pub(crate) dirs: Vec<DirRecord>,
    pub(crate) dir_names: Vec<u8>,
    pub(crate) files: Vec<FileRecord>,
    pub(crate) names: Vec<Vec<u8>>,
    /// The disk space of files, for each block of names.
    pub(crate) allocations: Vec<Allocations>,
    pub(crate) further_names: FurtherNames,
    pub(crate) devices: Vec<Device>,
    pub(crate) roots: Vec<Root>,
    /// The visitor's notes, indexed by file number. Files beyond the end of the vector have no note.
    pub notes: Vec<Note>,
    /// Number of the first file that was added from a catalog rather than found by the walk.
    pub(crate) remembered_from: Option<u32>,
    /// True if the last block of names contains the names of remembered files.
    pub(crate) remembered_block: bool,
    /// Entries that could not be examined.
    pub problems: Vec<Problem>,
    /// Number of entries skipped on purpose, by reason.
    pub skipped: Skipped,
    /// Printed paths of the quarantine directories that the walk skipped.
    pub stores: Vec<Vec<u8>>,
    pub(crate) skipped_names: SkippedNames,
    /// Names that were looked up without listing their directory, in ascending order.
    pub(crate) looked_up: Vec<(DirId, Box<[u8]>)>,
    /// True if the walk examined only changed entries.
    pub(crate) has_only_changes: bool,
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

    /// Returns the roots. Roots that were already walked under another path are included.
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

    /// Returns the index of a directory's device in [`Tree::devices`].
    pub fn device_index(&self, id: DirId) -> usize {
        usize::from(self.dir(id).device)
    }

    /// Returns the device and inode number of a file.
    pub fn key(&self, id: FileId) -> FileKey {
        let file = self.file(id);
        FileKey { device: self.device_of(file.dir).number, inode: file.inode }
    }

    /// Returns whether a file was added from a catalog rather than found by the walk.
    pub fn is_remembered(&self, id: FileId) -> bool {
        self.remembered_from.is_some_and(|first| id.0 >= first)
    }

    /// Returns whether a file counts as scanned. The unchanged copies of changed files, which are added from a catalog,
    /// do so if the walk examined only changes. Other files from a catalog do not.
    pub fn is_requested(&self, id: FileId) -> bool {
        self.has_only_changes || !self.is_remembered(id)
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

    /// Returns the printed path of a directory. The path starts with the root as given.
    pub fn dir_path(&self, id: DirId) -> Vec<u8> {
        let mut path = Vec::new();
        self.write_path(id, None, |root| &root.given, &mut path);
        path
    }

    /// Returns the absolute path of a directory, with the links in the path of its root resolved.
    pub fn absolute_dir_path(&self, id: DirId) -> Vec<u8> {
        let mut path = Vec::new();
        self.write_path(id, None, |root| &root.absolute, &mut path);
        path
    }

    /// Returns the printed path of a file. The path starts with the root as given.
    pub fn path(&self, id: FileId) -> Vec<u8> {
        let mut path = Vec::new();
        self.path_into(id, &mut path);
        path
    }

    /// Writes the printed path of a file to `path`, replacing its content.
    pub fn path_into(&self, id: FileId, path: &mut Vec<u8>) {
        self.write_path(self.file(id).dir, Some(self.name(id)), |root| &root.given, path);
    }

    /// Returns the absolute path of a file, with the links in the path of its root resolved.
    pub fn absolute_path(&self, id: FileId) -> Vec<u8> {
        let mut path = Vec::new();
        let dir = self.file(id).dir;
        self.write_path(dir, Some(self.name(id)), |root| &root.absolute, &mut path);
        path
    }

    /// Returns whether `now` is the file that the walk found, with the same size and times.
    pub fn unchanged(&self, id: FileId, now: &Stat) -> bool {
        let file = self.file(id);
        self.key(id) == now.key()
            && file.size == now.size
            && file.mtime_ns == now.mtime_ns()
            && file.ctime_ns == now.ctime_ns
    }

    /// Replaces the content of `path` with what `start` returns for the root, the names of the
    /// directories down to `dir`, and `name`.
    fn write_path(
        &self,
        dir: DirId,
        name: Option<&CStr>,
        start: impl FnOnce(&Root) -> &[u8],
        path: &mut Vec<u8>,
    ) {
        let mut names: Vec<&CStr> = Vec::with_capacity(USUAL_DEPTH);
        names.extend(name);
        let mut at = self.dir(dir);
        while let Some(parent) = at.parent {
            names.push(cstr_at(&self.dir_names, at.name));
            at = self.dir(parent);
        }
        path.clear();
        path.extend_from_slice(start(&self.roots[at.name as usize]));
        for name in names.into_iter().rev() {
            push_component(path, name.to_bytes());
        }
    }
}

impl Tree {
    /// Returns whether the walk skipped the file `name` in a directory. If the walk queried the
    /// metadata of the skipped file, it must match `file`.
    pub fn left_out(&self, dir: DirId, name: &[u8], file: Remembered) -> bool {
        self.left_out_unseen(dir, name) || self.skipped_names.has(dir, name, Some(file))
    }

    /// Returns the directories and names that the walk looked up without listing the directory, in ascending
    /// order. Includes names that do not exist.
    pub fn looked_up(&self) -> &[(DirId, Box<[u8]>)] {
        &self.looked_up
    }

    /// Returns whether the walk examined the entry `name` of a directory, or found that it does not exist.
    pub fn has_examined(&self, dir: DirId, name: &[u8]) -> bool {
        let is_looked_up = || {
            let key =
                |(in_dir, found): &(DirId, Box<[u8]>)| (*in_dir, found.as_ref()).cmp(&(dir, name));
            self.looked_up.binary_search_by(key).is_ok()
        };
        self.dir(dir).complete || is_looked_up()
    }

    /// Returns whether the walk skipped a name in a directory before querying its metadata. The
    /// entry may be a directory.
    pub fn left_out_unseen(&self, dir: DirId, name: &[u8]) -> bool {
        self.skipped_names.has(dir, name, None)
    }
}
