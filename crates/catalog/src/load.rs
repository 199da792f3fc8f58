//! Brings remembered files into a tree.

use std::collections::{HashMap, HashSet};
use std::ffi::{CStr, CString};
use std::io;
use std::path::Path;

use content::{ContentId, Digest, Facts, Head};
use fsops::{Dir, FileKey, Volume, is_gone};
use walk::{Device, DirId, FileId, Remembered, Tree};

use crate::dirs::{Dirs, TOP};
use crate::error::{At, Error};
use crate::open::Catalog;
use crate::question::Doubts;
use crate::rows::{Contents, FileRow};
use crate::state::FileState;
use crate::volumes::Volumes;

/// Which files to load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows<'a> {
    /// All of them.
    All,
    /// Those with a content that two inodes or more have.
    Grouped,
    /// Those at or below these absolute paths.
    Below(&'a [Vec<u8>]),
    /// Those with one of these contents, by the numbers of [`crate::Known`].
    Having(&'a HashSet<i64>),
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
    doubtful: HashMap<FileId, Doubt>,
    doubts: Doubts,
}

/// A file of which nothing can be said, and what was known before.
#[derive(Clone, Copy, Debug)]
pub struct Doubt {
    /// Why; never [`FileState::Known`].
    pub state: FileState,
    /// Its head when it was scanned.
    pub head: Option<Head>,
    /// Its content when it was scanned.
    pub content: Option<ContentId>,
}

impl Loaded {
    /// Returns what is in doubt about a file; nothing is known in [`Loaded::facts`] of one that has a doubt.
    pub fn doubt(&self, file: FileId) -> Option<Doubt> {
        self.doubtful.get(&file).copied()
    }

    /// Returns how much of the whole catalog cannot be relied on.
    pub fn doubts(&self) -> &Doubts {
        &self.doubts
    }

    /// Returns how far what is remembered of a file can be relied on.
    pub fn state(&self, file: FileId) -> FileState {
        self.doubt(file).map_or(FileState::Known, |doubt| doubt.state)
    }

    /// Returns the number of a content in the catalog, as [`crate::Known`] has it.
    pub fn number(&self, content: ContentId) -> i64 {
        self.contents.row_of[content.index()]
    }

    /// Returns digest and reclaimable bytes of a content.
    pub fn content(&self, id: ContentId) -> (Option<Digest>, u64) {
        let row = self.contents.row_of.get(id.index()).and_then(|&row| self.contents.row(row));
        row.map_or((None, 0), |row| (row.digest, row.reclaimable))
    }

    /// Returns the row of a file's content.
    pub(crate) fn content_row(&self, file: FileId) -> Option<i64> {
        let before = || self.doubt(file).and_then(|doubt| doubt.content);
        self.facts.content(file.0).or_else(before).map(|content| self.number(content))
    }

    /// Returns how many inodes had the content of a row when it was loaded.
    pub(crate) fn inodes_of(&self, row: i64) -> Option<u32> {
        self.contents.row(row).map(|content| content.inodes)
    }

    /// Returns the directory row and name of a file, for [`crate::Writer::forget`].
    pub(crate) fn row_of(&self, file: FileId) -> Option<(i64, &[u8])> {
        let dir = self.tree.file(file).dir;
        Some((*self.dir_rows.get(&dir)?, self.tree.name(file).to_bytes()))
    }
}

impl Catalog {
    /// Loads remembered files.
    pub fn load(&self, which: Rows<'_>) -> Result<Loaded, Error> {
        self.at_once(|| self.load_now(which))
    }

    fn load_now(&self, which: Rows<'_>) -> Result<Loaded, Error> {
        let (mut tree, mut contents) = (Tree::default(), Contents::load(self)?);
        let (dirs, volumes) = (Dirs::load(self)?, Volumes::load(self)?);
        let (mut facts, mut doubtful) = (Facts::new(0), HashMap::new());
        let mut placer = Placer::new(&mut tree, &dirs, &volumes);
        let mut statement = self.files_in_statement()?;
        let mut seen = 0;
        for (dir, only) in places(&dirs, which) {
            let mut rows: Vec<(Box<[u8]>, FileRow)> = Vec::new();
            let is_wanted = |content: Option<i64>| {
                seen += 1;
                match which {
                    Rows::All | Rows::Below(_) => true,
                    Rows::Grouped => {
                        content.and_then(|row| contents.row(row)).is_some_and(|row| row.inodes > 1)
                    }
                    Rows::Having(wanted) => content.is_some_and(|row| wanted.contains(&row)),
                }
            };
            self.each_file_with(&mut statement, dir, is_wanted, |name, row| {
                if only.as_ref().is_none_or(|only| only.contains(name)) {
                    rows.push((name.into(), row));
                }
            })?;
            if rows.is_empty() {
                continue;
            }
            let files = rows.iter().map(|(name, row)| (name.as_ref(), row));
            placer.place(dir, files, false, |_, file, row| {
                let Some(file) = file else { return };
                facts.grow(file.0 as usize + 1);
                let content = row.content.map(|content| contents.id(&facts, content));
                if row.state != FileState::Known {
                    doubtful.insert(file, Doubt { state: row.state, head: row.head, content });
                    return;
                }
                if let Some(head) = row.head {
                    facts.set_head(file.0, head);
                }
                if let Some(content) = content {
                    facts.set_content(file.0, content);
                }
            });
        }
        if !matches!(which, Rows::Below(_)) {
            self.refuse_orphans(seen)?;
        }
        let dir_rows = placer.finish().into_iter().map(|(row, id)| (id, row)).collect();
        Ok(Loaded { tree, facts, contents, dir_rows, doubtful, doubts: self.doubts()? })
    }
}

impl Catalog {
    /// Refuses a catalog in which more files are than in all of its directories.
    fn refuse_orphans(&self, in_directories: u64) -> Result<(), Error> {
        let sql = "SELECT count(*) FROM file";
        let all: i64 = self.db.query_row(sql, [], |row| row.get(0)).at(&self.path)?;
        match all.cast_unsigned().saturating_sub(in_directories) {
            0 => Ok(()),
            files => Err(Error::Orphans { path: self.path.clone(), dirs: 0, files }),
        }
    }
}

/// Names in a directory.
type Names = HashSet<Vec<u8>>;

/// Returns the directories to look in for what is wanted, along the tree, and for which names if not for all.
fn places(dirs: &Dirs, which: Rows<'_>) -> Vec<(i64, Option<Names>)> {
    let Rows::Below(paths) = which else {
        let mut order = Vec::new();
        dirs.each_below(TOP, |dir| order.push((dir, None)));
        return order;
    };
    let (mut whole, mut named) = (HashSet::new(), HashMap::<i64, Names>::new());
    for path in paths {
        if let Some(dir) = dirs.at_path(path) {
            dirs.each_below(dir, |dir| {
                whole.insert(dir);
            });
        }
        // A name may have been a file's when it was scanned.
        let (above, name) = walk::split(path);
        if let Some(dir) = dirs.at_path(above) {
            named.entry(dir).or_default().insert(name.to_vec());
        }
    }
    let mut order = Vec::new();
    dirs.each_below(TOP, |dir| {
        if whole.contains(&dir) {
            order.push((dir, None));
        } else if let Some(names) = named.remove(&dir) {
            order.push((dir, Some(names)));
        }
    });
    order
}

/// Puts remembered directories into a tree.
pub(crate) struct Placer<'a> {
    tree: &'a mut Tree,
    dirs: &'a Dirs,
    volumes: &'a Volumes,
    ids: HashMap<i64, DirId>,
    /// Further records of directories whose files are on several devices.
    further: Vec<(i64, DirId)>,
    top: Option<Dir>,
    /// The file systems that are now where directories were that are gone.
    here: HashMap<i64, Option<Volume>>,
}

impl<'a> Placer<'a> {
    pub(crate) fn new(tree: &'a mut Tree, dirs: &'a Dirs, volumes: &'a Volumes) -> Self {
        let top = Dir::open(Path::new("/")).ok();
        let ids = HashMap::from([(TOP, tree.remember_root())]);
        Placer { tree, dirs, volumes, ids, further: Vec::new(), top, here: HashMap::new() }
    }

    /// Adds files of directory `row`, given with their names, and tells `placed` of each; `None`
    /// stands for a file that was left out.
    ///
    /// With `live_only`, files are left out that cannot be where they were: the directory is gone,
    /// or another file system is there now. Without it, those on a disk that is not mounted get a record
    /// of their directory that says so ([`Tree::is_offline`]).
    pub(crate) fn place<'f>(
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
            // A name with a NUL in it is none.
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
                // An inode number that no file has makes every comparison with the live one fail.
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

    /// Returns the file system that is now where directory `row` was, from what came of opening it: that of
    /// the lowest directory above it that is there. `None` if that cannot be told.
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

    /// Returns a directory's number in the tree, adding it and those above it if need be.
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

    /// Returns the device of a file that is on the remembered file system although its directory,
    /// on device `own`, is not: overlayfs, or a file as a mount point.
    fn stray(&self, dir: Option<&Dir>, own: u64, name: &CStr, file: &FileRow) -> Option<Device> {
        let dir = dir?;
        let number = dir.stat_child(name).ok()?.device;
        if number == own {
            return None;
        }
        let device = Device { number, volume: dir.child_volume(name).ok()? };
        (self.volumes.find(&device) == Some(file.volume)).then_some(device)
    }

    /// Adds a further record of a directory, for those of its files that are not where it is.
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
        let FileRow { size, mtime_ns, ctime_ns, .. } = *row;
        let file = Remembered { size, inode, mtime_ns, ctime_ns };
        self.tree.remember_file(dir, name, file)
    }

    /// Returns the row and number of every directory that was placed.
    pub(crate) fn finish(self) -> Vec<(i64, DirId)> {
        self.ids.into_iter().chain(self.further).collect()
    }
}
