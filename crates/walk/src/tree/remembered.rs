//! Adds files from a catalog to a tree, so that they can be compared and queried like files that
//! the walk found.

use std::ffi::CStr;

use fsops::{FileKey, Volume};

use crate::tree::Tree;
use crate::tree::allocated::Allocations;
use crate::tree::records::{
    Device, DirId, DirRecord, FileId, FileRecord, Remembered, Root, to_u32,
};

/// Device numbers for directories that are gone or offline. No real file has these device numbers,
/// because a real device number consists of a 12-bit major number and a 20-bit minor number, each
/// stored in 32 bits.
const NO_DEVICE: u64 = u64::MAX;
const OFFLINE_DEVICE: u64 = u64::MAX - 1;

impl Tree {
    /// Adds the root directory `/` as the ancestor of remembered directories.
    pub fn remember_root(&mut self) -> DirId {
        let root = to_u32(self.roots.len());
        let dir = self.push_dir(None, root);
        let (given, absolute) = (b"/".to_vec(), b"/".to_vec());
        self.roots.push(Root { given, absolute, dir, whole: false });
        self.remembered_from.get_or_insert(to_u32(self.files.len()));
        dir
    }

    /// Adds the directory `name` in `parent`.
    pub fn remember_dir(&mut self, parent: DirId, name: &CStr) -> DirId {
        let at = to_u32(self.dir_names.len());
        self.dir_names.extend_from_slice(name.to_bytes_with_nul());
        self.push_dir(Some(parent), at)
    }

    /// Sets the current identity and file system of a remembered directory. `None` means that the
    /// directory no longer exists. Callers must place a directory before they add files to it.
    ///
    /// # Panics
    ///
    /// Panics if the tree has more than 65,536 devices.
    pub fn place_dir(&mut self, id: DirId, place: Option<(FileKey, Volume)>) {
        let nowhere = (FileKey { device: NO_DEVICE, inode: 0 }, Volume { fsid: 0, magic: 0 });
        let (key, volume) = place.unwrap_or(nowhere);
        let known = self.devices.iter().position(|d| d.number == key.device);
        let device = known.unwrap_or_else(|| {
            self.devices.push(Device { number: key.device, volume });
            self.devices.len() - 1
        });
        let shard = self.remembered_names();
        let first = to_u32(self.files.len());
        let dir = &mut self.dirs[id.0 as usize];
        dir.inode = key.inode;
        dir.device = u16::try_from(device).expect("a catalog has at most 65,535 devices");
        (dir.first, dir.count, dir.shard) = (first, 0, shard);
    }

    /// Marks a remembered directory as being on an unmounted disk. Callers must do so before they add
    /// files to the directory.
    pub fn place_offline(&mut self, id: DirId) {
        let place = (FileKey { device: OFFLINE_DEVICE, inode: 0 }, Volume { fsid: 0, magic: 0 });
        self.place_dir(id, Some(place));
    }

    /// Returns whether a remembered file is on an unmounted disk.
    pub fn is_offline(&self, file: FileId) -> bool {
        self.is_remembered(file) && self.key(file).device == OFFLINE_DEVICE
    }

    /// Adds a file to `dir`, which must be the most recently placed directory.
    pub fn remember_file(&mut self, dir: DirId, name: &CStr, file: Remembered) -> FileId {
        let shard = self.dir(dir).shard as usize;
        let at = to_u32(self.names[shard].len());
        self.names[shard].extend_from_slice(name.to_bytes_with_nul());
        let id = FileId(to_u32(self.files.len()));
        let Remembered { size, inode, mtime_ns, ctime_ns } = file;
        self.files.push(FileRecord { size, inode, mtime_ns, ctime_ns, dir, name: at });
        self.dirs[dir.0 as usize].count += 1;
        id
    }

    fn push_dir(&mut self, parent: Option<DirId>, name: u32) -> DirId {
        let id = DirId(to_u32(self.dirs.len()));
        self.dirs.push(DirRecord::unlisted(parent, name));
        id
    }

    /// Returns the index of the block of names for remembered files.
    fn remembered_names(&mut self) -> u32 {
        const FULL: usize = 1 << 30;
        if self.names.last().is_none_or(|names| names.len() > FULL) || !self.remembered_block {
            self.names.push(Vec::new());
            self.allocations.push(Allocations::default());
            self.remembered_block = true;
        }
        to_u32(self.names.len() - 1)
    }
}
