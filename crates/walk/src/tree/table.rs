//! The table of directories, shared by the workers of a walk.
//!
//! A worker locks the table twice per directory, to look up the path and to add the results.

use std::ffi::CString;
use std::io;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use fsops::{FileKey, Volume};

use crate::tree::records::{Device, DirId, DirRecord, FileRecord, cstr_at, push_component, to_u32};
use crate::tree::store::{Block, Store};

#[derive(Debug, Default)]
pub(crate) struct Table(RwLock<Directories>);

#[derive(Debug, Default)]
pub(crate) struct Directories {
    pub(crate) records: Vec<DirRecord>,
    pub(crate) names: Vec<u8>,
    pub(crate) devices: Vec<Device>,
}

impl Table {
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, Directories> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, Directories> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn into_inner(self) -> Directories {
        self.0.into_inner().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Directories {
    /// Adds the directory of the root with index `root`.
    pub(crate) fn add_root(&mut self, root: usize) -> DirId {
        self.push(None, to_u32(root))
    }

    /// Adds a directory for each of the NUL-terminated names in `names`. Returns the number of the
    /// first new directory.
    pub(crate) fn add_children(&mut self, parent: DirId, names: &[u8]) -> DirId {
        let first = DirId(to_u32(self.records.len()));
        let mut at = to_u32(self.names.len());
        self.names.extend_from_slice(names);
        for name in names.split_inclusive(|&b| b == 0) {
            self.push(Some(parent), at);
            at += to_u32(name.len());
        }
        first
    }

    /// Adds another record of directory `id` for `files`, which are on device `device`. The files
    /// are added to `store`.
    pub(crate) fn add_duplicate(
        &mut self,
        id: DirId,
        device: u16,
        store: &mut Store,
        files: impl Iterator<Item = FileRecord>,
    ) {
        let dir = DirId(to_u32(self.records.len()));
        let first = to_u32(store.files.len());
        store.files.extend(files.map(|file| FileRecord { dir, ..file }));
        let original = self.records[id.0 as usize];
        let Block { first, count, shard } = store.block_from(first);
        self.records.push(DirRecord { inode: 0, first, count, shard, device, ..original });
    }

    fn push(&mut self, parent: Option<DirId>, name: u32) -> DirId {
        let id = DirId(to_u32(self.records.len()));
        self.records.push(DirRecord::unlisted(parent, name));
        id
    }

    /// Returns the index of the device with this number. Calls `volume` if the device is new.
    pub(crate) fn device(
        &mut self,
        number: u64,
        volume: impl FnOnce() -> io::Result<Volume>,
    ) -> io::Result<u16> {
        let known = self.devices.iter().position(|d| d.number == number);
        let index = if let Some(index) = known {
            index
        } else {
            self.devices.push(Device { number, volume: volume()? });
            self.devices.len() - 1
        };
        u16::try_from(index).map_err(|_| io::Error::other("more than 65,536 devices"))
    }

    pub(crate) fn parent(&self, id: DirId) -> Option<DirId> {
        self.records[id.0 as usize].parent
    }

    /// Returns the name of a directory, or an empty name for a root.
    pub(crate) fn name(&self, id: DirId) -> CString {
        let record = &self.records[id.0 as usize];
        match record.parent {
            Some(_) => cstr_at(&self.names, record.name).to_owned(),
            None => CString::default(),
        }
    }

    /// Returns the path of `id` relative to its ancestor `base`, or to its root if `base` is
    /// `None`.
    pub(crate) fn path_below(&self, base: Option<DirId>, id: DirId) -> Vec<u8> {
        let mut chain = Vec::new();
        let mut at = id;
        while let (true, Some(parent)) = (Some(at) != base, self.parent(at)) {
            chain.push(at);
            at = parent;
        }
        let mut path = Vec::new();
        for &dir in chain.iter().rev() {
            push_component(
                &mut path,
                cstr_at(&self.names, self.records[dir.0 as usize].name).to_bytes(),
            );
        }
        path
    }

    /// Returns the identity of a directory, or `None` if it was not listed.
    pub(crate) fn key(&self, id: DirId) -> Option<FileKey> {
        let record = &self.records[id.0 as usize];
        let device = self.devices.get(usize::from(record.device))?;
        (record.inode != 0).then_some(FileKey { device: device.number, inode: record.inode })
    }
}
