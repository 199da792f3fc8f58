//! Adds remembered directories and files to a tree.

use std::collections::HashMap;
use std::ffi::{CStr, CString};
use std::io;
use std::path::Path;

use fsops::{Dir, FileKey, Volume, is_gone};
use walk::{Device, DirId, FileId, Remembered, Tree};

use crate::tables::dirs::{Dirs, TOP};
use crate::tables::rows::FileRow;
use crate::tables::volumes::Volumes;

/// Adds remembered directories and files to a tree.
pub(crate) struct Placer<'a> {
    tree: &'a mut Tree,
    dirs: &'a Dirs,
    volumes: &'a Volumes,
    ids: HashMap<i64, DirId>,
    /// Additional records for directories that have files on several devices.
    further: Vec<(i64, DirId)>,
    top: Option<Dir>,
    /// The current file system at the path of each directory that is gone.
    here: HashMap<i64, Option<Volume>>,
}

impl<'a> Placer<'a> {
    pub(crate) fn new(tree: &'a mut Tree, dirs: &'a Dirs, volumes: &'a Volumes) -> Self {
        let top = Dir::open(Path::new("/")).ok();
        let ids = HashMap::from([(TOP, tree.remember_root())]);
        Placer { tree, dirs, volumes, ids, further: Vec::new(), top, here: HashMap::new() }
    }

    /// Adds the files of directory `row`, given with their names. Calls `placed` for each file,
    /// with `None` if the file was left out.
    ///
    /// With `live_only`, leaves out files that can no longer exist, because their directory is gone
    /// or is now on another file system. Otherwise, files on a disk that is not mounted are added
    /// to a separate record of their directory, which is marked offline ([`Tree::is_offline`]).
    pub(crate) fn add_files<'f>(
        &mut self,
        row: i64,
        files: impl Iterator<Item = (&'f [u8], &'f FileRow)>,
        live_only: bool,
        mut placed: impl FnMut(&[u8], Option<FileId>, &FileRow),
    ) {
        let Some(dir) = self.dir(row) else { return };
        let opened = self.open(dir);
        let here = self.here(row, &opened);
        let open = opened.ok();
        let live = open.as_ref().and_then(|open| Some((open.stat().ok()?.key(), here?)));
        if live_only && live.is_none() {
            return files.for_each(|(name, file)| placed(name, None, file));
        }
        self.tree.place_dir(dir, live);
        let device = *self.tree.device_of(dir);
        let volume = live.and_then(|_| self.volumes.find(&device));
        let (mut strays, mut offline) = (Vec::new(), Vec::new());
        for (bytes, file) in files {
            // A file name cannot contain a NUL.
            let Ok(name) = CString::new(bytes) else { continue };
            let is_here = volume == Some(file.volume);
            if !(is_here && device.volume.has_one_device())
                && let Some(device) = self.stray(open.as_ref(), device.number, &name, file)
            {
                strays.push((device, name, file));
                continue;
            }
            let id = if is_here {
                Some(self.add(dir, &name, file, file.inode))
            } else if live_only {
                None
            } else if here.is_some_and(|here| self.volumes.is_offline(file.volume, &here)) {
                offline.push((name, file));
                continue;
            } else {
                // No file has this inode number, so every comparison with the live file fails.
                Some(self.add(dir, &name, file, 0))
            };
            placed(bytes, id, file);
        }
        strays.sort_by_key(|(device, ..)| device.number);
        for same in strays.chunk_by(|a, b| a.0.number == b.0.number) {
            let dir = self.further(row);
            let key = FileKey { device: same[0].0.number, inode: 0 };
            self.tree.place_dir(dir, Some((key, same[0].0.volume)));
            for (_, name, file) in same {
                placed(name.to_bytes(), Some(self.add(dir, name, file, file.inode)), file);
            }
        }
        if !offline.is_empty() {
            let dir = self.further(row);
            self.tree.place_offline(dir);
            for (name, file) in offline {
                placed(name.to_bytes(), Some(self.add(dir, &name, file, file.inode)), file);
            }
        }
    }

    /// Returns the current file system at the path of directory `row`, or `None` if it is unknown.
    /// `opened` is the result of opening the directory. If the directory is gone, returns the file
    /// system of its nearest existing ancestor.
    fn here(&mut self, row: i64, opened: &io::Result<Dir>) -> Option<Volume> {
        match opened {
            Ok(dir) => return dir.volume().ok(),
            Err(e) if is_gone(e) => {}
            Err(_) => return None,
        }
        let (mut above, mut at) = (Vec::new(), row);
        let here = loop {
            at = self.dirs.row(at)?.parent;
            if let Some(&known) = self.here.get(&at) {
                break known;
            }
            above.push(at);
            let dir = self.dir(at)?;
            match self.open(dir) {
                Ok(dir) => break dir.volume().ok(),
                Err(e) if is_gone(&e) => {}
                Err(_) => break None,
            }
        };
        self.here.extend(above.into_iter().map(|row| (row, here)));
        here
    }

    /// Returns the id of a directory in the tree. Adds the directory and its ancestors if needed.
    fn dir(&mut self, row: i64) -> Option<DirId> {
        let mut chain = Vec::new();
        let mut at = row;
        while !self.ids.contains_key(&at) {
            chain.push(at);
            at = self.dirs.row(at)?.parent;
        }
        let mut dir = *self.ids.get(&at)?;
        for &id in chain.iter().rev() {
            let name = CString::new(self.dirs.row(id)?.name.as_ref()).ok()?;
            dir = self.tree.remember_dir(dir, &name);
            self.ids.insert(id, dir);
        }
        Some(dir)
    }

    fn open(&self, dir: DirId) -> io::Result<Dir> {
        let path = self.tree.absolute_dir_path(dir);
        let below = path.strip_prefix(b"/").filter(|p| !p.is_empty()).unwrap_or(b".");
        self.top.as_ref().ok_or(io::ErrorKind::PermissionDenied)?.open_below(below)
    }

    /// Returns the device of a file that is on the remembered file system although its directory is
    /// on the different device `own`. This happens on overlayfs, and for files that are mount
    /// points.
    fn stray(&self, dir: Option<&Dir>, own: u64, name: &CStr, file: &FileRow) -> Option<Device> {
        let dir = dir?;
        let number = dir.stat_child(name).ok()?.device;
        if number == own {
            return None;
        }
        let device = Device { number, volume: dir.child_volume(name).ok()? };
        (self.volumes.find(&device) == Some(file.volume)).then_some(device)
    }

    /// Adds another record of a directory, for files that are on a different device.
    fn further(&mut self, row: i64) -> DirId {
        let known = self.ids.get(&row).map(|&id| (self.tree.dir(id).parent, id));
        let dir = match known {
            Some((Some(parent), id)) => {
                let name = self.tree.dir_name(id).unwrap_or_default().to_owned();
                self.tree.remember_dir(parent, &name)
            }
            _ => self.tree.remember_root(),
        };
        self.further.push((row, dir));
        dir
    }

    fn add(&mut self, dir: DirId, name: &CStr, row: &FileRow, inode: u64) -> FileId {
        let FileRow { size, mtime_ns, ctime_ns, allocated, .. } = *row;
        let file = Remembered { size, inode, mtime_ns, ctime_ns };
        let id = self.tree.remember_file(dir, name, file);
        self.tree.remember_allocated(id, allocated);
        id
    }

    /// Returns the row and the id of every directory that was added.
    pub(crate) fn finish(self) -> Vec<(i64, DirId)> {
        self.ids.into_iter().chain(self.further).collect()
    }
}
