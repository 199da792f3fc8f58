//! Brings remembered files into a tree.

use std::collections::HashMap;
use std::ffi::CString;
use std::path::Path;

use content::{ContentId, Digest, Facts};
use fsops::Dir;
use walk::{DirId, FileId, Remembered, Tree};

use crate::dirs::{Dirs, TOP};
use crate::error::Error;
use crate::open::Catalog;
use crate::rows::{Contents, FileRow};
use crate::volumes::Volumes;

/// Which files to load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows {
    /// All of them.
    All,
    /// Those that are equal to another inode's.
    Grouped,
}

/// Remembered files as a tree, and what is known of them.
#[derive(Debug)]
pub struct Loaded {
    /// The files; all of them are remembered ones.
    pub tree: Tree,
    /// What is known of their contents.
    pub facts: Facts,
    contents: Contents,
    dir_rows: HashMap<DirId, i64>,
}

impl Loaded {
    /// Returns digest and reclaimable bytes of a content.
    pub fn content(&self, id: ContentId) -> (Option<Digest>, u64) {
        let row = self.contents.row_of.get(id.index()).and_then(|&row| self.contents.row(row));
        row.map_or((None, 0), |row| (row.digest, row.reclaimable))
    }

    /// Returns the row of a file's content.
    pub(crate) fn content_row(&self, file: FileId) -> Option<i64> {
        self.facts.content(file.0).map(|content| self.contents.row_of[content.index()])
    }

    /// Returns the directory row and name of a file, for [`crate::Writer::forget`].
    pub(crate) fn row_of(&self, file: FileId) -> Option<(i64, &[u8])> {
        let dir = self.tree.file(file).dir;
        Some((*self.dir_rows.get(&dir)?, self.tree.name(file).to_bytes()))
    }
}

impl Catalog {
    /// Loads remembered files.
    pub fn load(&self, which: Rows) -> Result<Loaded, Error> {
        let (mut tree, mut contents) = (Tree::default(), Contents::load(self)?);
        let (dirs, mut volumes) = (Dirs::load(self)?, Volumes::load(self)?);
        let mut facts = Facts::new(0);
        let mut placer = Placer::new(&mut tree, &dirs, &mut volumes);
        let mut statement = self.files_in_statement()?;
        let mut order = Vec::new();
        dirs.each_below(TOP, |dir| order.push(dir));
        for dir in order {
            let mut rows: Vec<(Box<[u8]>, FileRow)> = Vec::new();
            self.each_file_in(&mut statement, dir, |name, row| {
                let grouped = || {
                    let content = row.content.and_then(|content| contents.row(content));
                    content.is_some_and(|content| content.inodes > 1)
                };
                if which == Rows::All || grouped() {
                    rows.push((name.into(), row));
                }
            })?;
            if rows.is_empty() {
                continue;
            }
            let Some(place) = placer.place(dir, false) else { continue };
            for (name, row) in rows {
                let Some(file) = placer.add(place, &name, &row) else { continue };
                facts.grow(file.0 as usize + 1);
                if let Some(head) = row.head {
                    facts.set_head(file.0, head);
                }
                if let Some(content) = row.content {
                    facts.set_content(file.0, contents.id(&facts, content));
                }
            }
        }
        let dir_rows = placer.finish().into_iter().map(|(row, id)| (id, row)).collect();
        Ok(Loaded { tree, facts, contents, dir_rows })
    }
}

/// Puts remembered directories into a tree.
pub(crate) struct Placer<'a> {
    tree: &'a mut Tree,
    dirs: &'a Dirs,
    volumes: &'a mut Volumes,
    ids: HashMap<i64, DirId>,
    top: Option<Dir>,
}

/// A directory that files are being added to.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    dir: DirId,
    /// The file system it is on now; `None` if it is gone and its files are kept all the same.
    volume: Option<i64>,
    /// Whether files that cannot be where they were are left out.
    live_only: bool,
}

impl<'a> Placer<'a> {
    pub(crate) fn new(tree: &'a mut Tree, dirs: &'a Dirs, volumes: &'a mut Volumes) -> Self {
        let top = Dir::open(Path::new("/")).ok();
        let ids = HashMap::from([(TOP, tree.remember_root())]);
        Placer { tree, dirs, volumes, ids, top }
    }

    /// Starts adding files of directory `row`; `None` if it is gone and only what is there is
    /// wanted.
    pub(crate) fn place(&mut self, row: i64, live_only: bool) -> Option<Place> {
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
        let live = self.look(dir);
        if live_only && live.is_none() {
            return None;
        }
        self.tree.place_dir(dir, live);
        let device = *self.tree.device_of(dir);
        let volume = live.map(|_| self.volumes.id(&device));
        Some(Place { dir, volume, live_only })
    }

    fn look(&self, dir: DirId) -> Option<(fsops::FileKey, fsops::Volume)> {
        let path = self.tree.absolute_dir_path(dir);
        let below = path.strip_prefix(b"/").filter(|p| !p.is_empty()).unwrap_or(b".");
        let open = self.top.as_ref()?.open_below(below).ok()?;
        Some((open.stat().ok()?.key(), open.volume().ok()?))
    }

    /// Adds a file; `None` if it is on another file system than its directory is now, or if its
    /// name is none.
    pub(crate) fn add(&mut self, place: Place, name: &[u8], row: &FileRow) -> Option<FileId> {
        let elsewhere = place.volume != Some(row.volume);
        if elsewhere && place.live_only {
            return None;
        }
        let name = CString::new(name).ok()?;
        // An inode number that no file has makes every comparison with the live file fail.
        let inode = if elsewhere { 0 } else { row.inode };
        let FileRow { size, mtime_ns, ctime_ns, .. } = *row;
        let file = Remembered { size, inode, mtime_ns, ctime_ns };
        Some(self.tree.remember_file(place.dir, &name, file))
    }

    /// Returns the row and number of every directory that was placed.
    pub(crate) fn finish(self) -> Vec<(i64, DirId)> {
        self.ids.into_iter().collect()
    }
}
