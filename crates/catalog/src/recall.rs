//! Attaches what is remembered to the files of a walk.
//!
//! One pass over the rows below the roots, directory by directory and name by name, tells which
//! files are unchanged, which rows a commit has to write, and which are gone. A file whose
//! directory was moved is found again by its inode.
//!
//! # What is gone
//!
//! A remembered file is forgotten only if its directory was listed to its end, the name was not met, and
//! the file system that is there is the one that the file was on. Everything else stays remembered: what a
//! filter left out ([`Tree::left_out`]), what could not be looked at, and what is on a disk that is not
//! mounted.

use std::cell::LazyCell;
use std::collections::{HashMap, HashSet};

use content::{Digest, Facts, Head};
use walk::{DirId, FileId, FileRecord, Remembered, Tree};

use crate::away::Away;
use crate::dirs::Dirs;
use crate::error::Error;
use crate::open::Catalog;
use crate::outside::Outside;
use crate::rows::{Contents, FileRow};
use crate::state::FileState;
use crate::volumes::Volumes;

/// What the catalog knows of the files of a tree.
#[derive(Debug)]
pub struct Recall {
    /// What is known of contents, for the engine to use and add to.
    pub facts: Facts,
    /// How the tree and the catalog relate, for a commit.
    pub memory: Memory,
}

/// How the tree and the catalog's rows relate.
#[derive(Debug, Default)]
pub struct Memory {
    pub(crate) dirs: Dirs,
    /// The row of each directory of the tree, 0 for none.
    pub(crate) dir_rows: Vec<i64>,
    /// What is stored of each file of the tree; `None` if there is no row or it is out of date.
    pub(crate) stored: Vec<Stored>,
    pub(crate) volumes: Volumes,
    pub(crate) contents: Contents,
    /// Rows of files that are gone.
    pub(crate) gone_files: Vec<(i64, Box<[u8]>)>,
    /// Rows of directories that are gone, with all that is in them.
    pub(crate) gone_dirs: Vec<i64>,
    /// Contents that lost a file.
    pub(crate) touched: HashSet<i64>,
    /// Files below the roots that are on a disk that is not mounted.
    pub(crate) offline: u64,
    /// Rows that have the size of a file of the tree and are out of reach.
    pub(crate) away: Away,
    pub(crate) suspects: Vec<Suspect>,
    /// Whether nothing is believed of the tree's files.
    reread: bool,
    /// The row of the scan, once it has one.
    pub(crate) scan: Option<i64>,
}

/// A file that is read again although its metadata is that of the last scan: it was found bad since, or everything is
/// read again.
#[derive(Clone, Copy, Debug)]
pub struct Suspect {
    /// The file.
    pub file: FileId,
    /// Its head when it was scanned.
    pub head: Option<Head>,
    /// BLAKE3 of its content when it was scanned.
    pub digest: Option<Digest>,
    content: Option<i64>,
}

impl Suspect {
    /// Returns row and digest of the content that the file had.
    pub(crate) fn content(&self) -> Option<(Digest, i64)> {
        self.digest.zip(self.content)
    }
}

impl Memory {
    /// Tells `facts` what is remembered of a file that is in the tree, or makes it a suspect; returns what is
    /// stored of it.
    fn attach(&mut self, facts: &Facts, file: FileId, row: &FileRow) -> Stored {
        let FileRow { head, content, state, .. } = *row;
        let stored = Stored::of(row);
        if !state.is_bad() && !self.reread {
            self.contents.attach(facts, file.0, row);
            return stored;
        }
        let digest = content.and_then(|content| self.contents.row(content)?.digest);
        self.suspects.push(Suspect { file, head, digest, content });
        if state == FileState::Known && (head.is_some() || content.is_some()) {
            Stored::Reread
        } else {
            stored
        }
    }
}

/// What the catalog has of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    /// Nothing, or something out of date.
    Nothing,
    /// Its metadata.
    Metadata,
    /// Its metadata and head.
    Head,
    /// Its metadata, head and content.
    Content,
    /// Its metadata, and a content that is not trusted.
    Doubtful,
    /// Its metadata, and that it was not compared yet.
    Pending,
    /// Its metadata and head, and that it was not compared yet.
    PendingHead,
    /// What was found out of its content, which is to be read again.
    Reread,
    /// That it was found damaged, and what was known before.
    Damaged,
    /// That it could not be read, and what was known before.
    Unreadable,
}

impl From<FileState> for Stored {
    /// Returns what is stored of a file whose row only got another state.
    fn from(state: FileState) -> Stored {
        match state {
            FileState::Known => Stored::Metadata,
            FileState::Pending => Stored::Pending,
            FileState::Damaged => Stored::Damaged,
            FileState::Unreadable => Stored::Unreadable,
        }
    }
}

impl Stored {
    pub(crate) fn of(row: &FileRow) -> Stored {
        match row.state {
            FileState::Known => match (row.head, row.content) {
                (None, None) => Stored::Metadata,
                (Some(_), None) => Stored::Head,
                (Some(_), Some(_)) => Stored::Content,
                (None, Some(_)) => Stored::Doubtful,
            },
            FileState::Pending if row.head.is_some() => Stored::PendingHead,
            FileState::Pending => Stored::Pending,
            FileState::Damaged => Stored::Damaged,
            FileState::Unreadable => Stored::Unreadable,
        }
    }

    /// Returns the state that is stored.
    pub(crate) fn state(self) -> FileState {
        match self {
            Stored::Pending | Stored::PendingHead => FileState::Pending,
            Stored::Damaged => FileState::Damaged,
            Stored::Unreadable => FileState::Unreadable,
            _ => FileState::Known,
        }
    }

    /// Returns whether the file is read again, whatever is stored of it.
    pub(crate) fn is_suspect(self) -> bool {
        matches!(self, Stored::Reread | Stored::Damaged | Stored::Unreadable)
    }
}

/// Rows of inodes, by volume and number, that may have other names by now.
pub(crate) type Orphans = HashMap<(i64, u64), FileRow>;

impl Catalog {
    /// Returns what is known of the files of `tree`.
    ///
    /// With `compare_all`, files outside the tree's roots that have the size of one in it are
    /// added to it, so that groups can span what was scanned at different times.
    pub fn recall(&self, tree: &mut Tree, compare_all: bool) -> Result<Recall, Error> {
        self.recall_what(tree, compare_all, false)
    }

    /// Does so for a scan that reads all files of `tree` again, with what is known of others only.
    pub fn recall_others(&self, tree: &mut Tree) -> Result<Recall, Error> {
        self.recall_what(tree, true, true)
    }

    fn recall_what(
        &self,
        tree: &mut Tree,
        compare_all: bool,
        reread: bool,
    ) -> Result<Recall, Error> {
        let mut memory = Memory {
            reread,
            volumes: Volumes::load(self)?,
            contents: Contents::load(self)?,
            dirs: Dirs::load(self)?,
            ..Memory::default()
        };
        memory.stored = vec![Stored::Nothing; tree.files().len()];
        memory.dir_rows = memory.dirs.of_tree(tree);
        let mut recall = Recall { facts: Facts::new(tree.files().len()), memory };
        let (mut orphans, mut outside) = (Orphans::new(), Vec::new());
        recall.match_rows(self, tree, &mut orphans, &mut outside)?;
        recall.match_gone_dirs(self, tree, &mut orphans)?;
        if compare_all {
            recall.add_outside(self, tree, outside, &mut orphans)?;
        }
        recall.adopt(tree, &orphans);
        recall.share_among_names(tree);
        Ok(recall)
    }
}

impl Recall {
    /// Returns the files that are to be read again.
    pub fn suspects(&self) -> &[Suspect] {
        &self.memory.suspects
    }

    /// Returns facts that hold nothing, for a scan without a catalog or with a new one.
    pub fn nothing(tree: &Tree) -> Recall {
        let memory = Memory {
            stored: vec![Stored::Nothing; tree.files().len()],
            dir_rows: vec![0; tree.dirs().len()],
            ..Memory::default()
        };
        Recall { facts: Facts::new(tree.files().len()), memory }
    }

    /// Returns how many remembered files below the roots are on a disk that is not mounted; they stay
    /// remembered.
    pub fn offline(&self) -> u64 {
        self.memory.offline
    }

    /// Merges the files of each directory with its rows; both are sorted by name.
    fn match_rows(
        &mut self,
        catalog: &Catalog,
        tree: &Tree,
        orphans: &mut Orphans,
        outside: &mut Vec<Outside>,
    ) -> Result<(), Error> {
        let mut dirs: Vec<(i64, DirId)> = (0u32..)
            .zip(&self.memory.dir_rows)
            .filter(|&(_, &row)| row != 0)
            .map(|(id, &row)| (row, DirId(id)))
            .collect();
        dirs.sort_unstable();
        let mut groups = dirs.chunk_by(|a, b| a.0 == b.0).peekable();
        let wanted: Vec<i64> = groups.clone().map(|same| same[0].0).collect();
        let sizes: LazyCell<HashSet<u64>, _> = LazyCell::new(|| sizes(tree));
        let (mut at, mut here, mut files) = (0, &dirs[..0], Vec::new().into_iter().peekable());
        catalog.each_file_of(wanted.into_iter(), |row, name, stored| {
            while at != row {
                let Some(same) = groups.next() else { return };
                at = same[0].0;
                if at == row {
                    here = same;
                    let named = files_by_name(tree, same.iter().map(|&(_, id)| id));
                    files = named.into_iter().peekable();
                }
            }
            while files.next_if(|&(n, _)| n < name).is_some() {}
            match files.peek() {
                Some(&(n, file)) if n == name => self.meet(tree, file, &stored),
                _ if self.is_gone(tree, here, name, &stored) => {
                    self.lose(row, name, stored, orphans);
                }
                _ if sizes.contains(&stored.size) => outside.push((row, name.into(), stored)),
                _ => {}
            }
        })
    }

    /// Returns whether a row that was not met is gone from its directory, which is `here` in the tree, for
    /// each of the devices its files are on.
    fn is_gone(&mut self, tree: &Tree, here: &[(i64, DirId)], name: &[u8], row: &FileRow) -> bool {
        let FileRow { inode, size, mtime_ns, ctime_ns, .. } = *row;
        let file = Remembered { size, inode, mtime_ns, ctime_ns };
        let mut listed =
            here.iter().map(|&(_, dir)| dir).filter(|&dir| tree.dir(dir).complete).peekable();
        if listed.peek().is_none() || here.iter().any(|&(_, dir)| tree.left_out(dir, name, file)) {
            return false;
        }
        let Memory { volumes, offline, .. } = &mut self.memory;
        let volume = |dir| &tree.device_of(dir).volume;
        let is_offline = listed.all(|dir| volumes.is_offline(row.volume, volume(dir)));
        *offline += u64::from(is_offline);
        !is_offline
    }

    /// Compares a file with the row of its name.
    fn meet(&mut self, tree: &Tree, file: FileId, row: &FileRow) {
        let volumes = &mut self.memory.volumes;
        if row.same_version(&version(tree, file, volumes)) {
            let stored = self.memory.attach(&self.facts, file, row);
            self.memory.stored[file.0 as usize] = stored;
            if stored != Stored::Doubtful && !stored.is_suspect() {
                return;
            }
        }
        self.memory.touched.extend(row.content);
    }

    fn lose(&mut self, dir: i64, name: &[u8], row: FileRow, orphans: &mut Orphans) {
        self.memory.gone_files.push((dir, name.into()));
        self.memory.touched.extend(row.content);
        if row.head.is_some() || row.state.is_bad() {
            orphans.insert((row.volume, row.inode), row);
        }
    }

    /// Finds directories that are no longer there: those without a place in the tree whose parent was
    /// listed whole and left nothing out by their names.
    fn match_gone_dirs(
        &mut self,
        catalog: &Catalog,
        tree: &Tree,
        orphans: &mut Orphans,
    ) -> Result<(), Error> {
        let present: HashSet<i64> = self.memory.dir_rows.iter().copied().collect();
        let mut missing = Vec::new();
        for (id, &row) in (0u32..).map(DirId).zip(&self.memory.dir_rows) {
            if row == 0 || !tree.dir(id).complete {
                continue;
            }
            let volume = tree.device_of(id).volume;
            for child in self.memory.dirs.children(row) {
                if !present.contains(&child.id) && !tree.left_out_unseen(id, &child.name) {
                    self.memory.dirs.each_below(child.id, |id| missing.push((id, volume)));
                }
            }
        }
        let mut statement = catalog.files_in_statement()?;
        // Those with a file on a disk that is not mounted, and the ones above.
        let mut kept: HashSet<i64> = HashSet::new();
        for &(dir, volume) in missing.iter().rev() {
            let (mut lost, before) = (Vec::new(), self.memory.offline);
            let Memory { volumes, offline, touched, .. } = &mut self.memory;
            catalog.each_file_in(&mut statement, dir, |name, row| {
                if volumes.is_offline(row.volume, &volume) {
                    *offline += 1;
                    return;
                }
                lost.push((dir, name.into()));
                touched.extend(row.content);
                if row.head.is_some() || row.state.is_bad() {
                    orphans.insert((row.volume, row.inode), row);
                }
            })?;
            if *offline > before || kept.contains(&dir) {
                self.memory.gone_files.append(&mut lost);
                kept.extend(self.memory.dirs.row(dir).map(|row| row.parent));
            } else {
                self.memory.gone_dirs.push(dir);
            }
        }
        Ok(())
    }

    /// Gives files without a row what is known of the same inode under a name that is gone.
    fn adopt(&mut self, tree: &Tree, orphans: &Orphans) {
        if orphans.is_empty() {
            return;
        }
        let Recall { facts, memory } = self;
        for id in (0u32..).take(memory.stored.len()) {
            if memory.stored[id as usize] != Stored::Nothing {
                continue;
            }
            let now = version(tree, FileId(id), &mut memory.volumes);
            let row = orphans.get(&(now.volume, now.inode));
            if let Some(row) = row.filter(|row| row.same_version(&now)) {
                memory.attach(facts, FileId(id), row);
            }
        }
    }

    /// Gives files without a row what is known of the same inode under another name: of the
    /// names of one inode either all have a content or none.
    fn share_among_names(&mut self, tree: &Tree) {
        let Recall { facts, memory } = self;
        let files = || (0u32..).zip(tree.files());
        let inode = |file: &FileRecord| (file.inode, tree.device_index(file.dir));
        let version = |file: &FileRecord| (file.size, file.mtime_ns, file.ctime_ns);
        let unknown = |&(id, _): &(u32, &FileRecord)| {
            memory.stored[id as usize] == Stored::Nothing && facts.head(id).is_none()
        };
        let mut wanted: Vec<_> = files().filter(unknown).map(|(id, f)| (inode(f), id)).collect();
        if wanted.is_empty() {
            return;
        }
        wanted.sort_unstable();
        for (id, file) in files() {
            let Some(head) = facts.head(id) else { continue };
            let start = wanted.partition_point(|(key, _)| *key < inode(file));
            for &(_, name) in wanted[start..].iter().take_while(|(key, _)| *key == inode(file)) {
                if version(tree.file(FileId(name))) != version(file) {
                    continue;
                }
                facts.set_head(name, head);
                if let Some(content) = facts.content(id) {
                    facts.set_content(name, content);
                }
            }
        }
    }
}

/// Returns a file of the tree as the row it would be, with nothing known of its content.
pub(crate) fn version(tree: &Tree, file: FileId, volumes: &mut Volumes) -> FileRow {
    let record = tree.file(file);
    FileRow {
        volume: volumes.id(tree.device_of(record.dir)),
        inode: record.inode,
        size: record.size,
        mtime_ns: record.mtime_ns,
        ctime_ns: record.ctime_ns,
        head: None,
        content: None,
        state: FileState::Known,
    }
}

/// Returns the sizes of the files of a tree.
pub(crate) fn sizes(tree: &Tree) -> HashSet<u64> {
    tree.files().iter().map(|file| file.size).collect()
}

/// Returns the files of some directories, sorted by name.
pub(crate) fn files_by_name(
    tree: &Tree,
    dirs: impl Iterator<Item = DirId>,
) -> Vec<(&[u8], FileId)> {
    let mut files: Vec<_> = dirs
        .flat_map(|dir| tree.files_in(dir))
        .map(|file| (tree.name(FileId(file)).to_bytes(), FileId(file)))
        .collect();
    files.sort_unstable();
    files
}
