//! Attaches what is remembered to the files of a walk.
//!
//! One pass over the rows below the roots, directory by directory and name by name, tells which
//! files are unchanged, which rows a commit has to write, and which are gone. A file whose
//! directory was moved is found again by its inode.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::time::Duration;

use content::Facts;
use walk::{DirId, FileId, FileRecord, Tree};

use crate::away::Away;
use crate::dirs::{Dirs, TOP};
use crate::error::Error;
use crate::load::Placer;
use crate::open::Catalog;
use crate::rows::{Contents, FileRow};
use crate::volumes::Volumes;

/// What the catalog knows of the files of a tree.
#[derive(Debug)]
pub struct Recall {
    /// What is known of contents, for the engine to use and add to.
    pub facts: Facts,
    pub(crate) memory: Memory,
}

/// How the tree and the catalog's rows relate.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    pub(crate) dirs: Dirs,
    /// The row of each directory of the tree, 0 for none.
    pub(crate) dir_rows: Vec<i64>,
    /// What is stored of each file of the tree; `None` if there is no row or it is out of date.
    pub(crate) stored: Vec<Stored>,
    pub(crate) volumes: Volumes,
    pub(crate) contents: Contents,
    /// Rows of files that are gone.
    pub(crate) gone_files: Vec<(i64, Box<[u8]>)>,
    /// Rows of directories that are gone, the lowest last.
    pub(crate) gone_dirs: Vec<i64>,
    /// Contents that lost a file.
    pub(crate) touched: HashSet<i64>,
    /// Rows that have the size of a file of the tree and are out of reach.
    pub(crate) away: Away,
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
}

impl Stored {
    fn of(row: &FileRow) -> Stored {
        match (row.head, row.content) {
            (None, None) => Stored::Metadata,
            (Some(_), None) => Stored::Head,
            (Some(_), Some(_)) => Stored::Content,
            (None, Some(_)) => Stored::Doubtful,
        }
    }
}

/// How long a disk that holds remembered files is waited for: one that stands still starts in 5 to 15
/// seconds.
const PATIENCE: Duration = Duration::from_secs(20);

type Orphans = HashMap<(i64, u64), FileRow>;

impl Catalog {
    /// Returns what is known of the files of `tree`.
    ///
    /// With `compare_all`, files outside the tree's roots that have the size of one in it are
    /// added to it, so that groups can span what was scanned at different times.
    pub fn recall(&self, tree: &mut Tree, compare_all: bool) -> Result<Recall, Error> {
        let mut memory = Memory {
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
        recall.adopt(tree, &orphans);
        if compare_all {
            recall.add_outside(self, tree, outside)?;
        }
        recall.share_among_names(tree);
        Ok(recall)
    }
}

/// A row that was not found in the tree although its directory was looked at only in part.
type Outside = (i64, Box<[u8]>, FileRow);

impl Recall {
    /// Returns facts that hold nothing, for a scan without a catalog or with a new one.
    pub fn nothing(tree: &Tree) -> Recall {
        let memory = Memory {
            stored: vec![Stored::Nothing; tree.files().len()],
            dir_rows: vec![0; tree.dirs().len()],
            ..Memory::default()
        };
        Recall { facts: Facts::new(tree.files().len()), memory }
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
        let (mut at, mut whole, mut files) = (0, false, Vec::new().into_iter().peekable());
        catalog.each_file_of(wanted.into_iter(), |row, name, stored| {
            while at != row {
                let Some(same) = groups.next() else { return };
                at = same[0].0;
                if at == row {
                    whole = same.iter().any(|&(_, id)| tree.dir(id).complete);
                    let named = files_by_name(tree, same.iter().map(|&(_, id)| id));
                    files = named.into_iter().peekable();
                }
            }
            while files.next_if(|&(n, _)| n < name).is_some() {}
            match files.peek() {
                Some(&(n, file)) if n == name => self.meet(tree, file, &stored),
                _ if whole => self.lose(row, name, stored, orphans),
                _ => outside.push((row, name.into(), stored)),
            }
        })
    }

    /// Compares a file with the row of its name.
    fn meet(&mut self, tree: &Tree, file: FileId, row: &FileRow) {
        let volumes = &mut self.memory.volumes;
        if row.same_version(&version(tree, file, volumes)) {
            let stored = Stored::of(row);
            self.memory.stored[file.0 as usize] = stored;
            self.memory.contents.attach(&self.facts, file.0, row);
            if stored != Stored::Doubtful {
                return;
            }
        }
        self.memory.touched.extend(row.content);
    }

    fn lose(&mut self, dir: i64, name: &[u8], row: FileRow, orphans: &mut Orphans) {
        self.memory.gone_files.push((dir, name.into()));
        self.memory.touched.extend(row.content);
        if row.head.is_some() {
            orphans.insert((row.volume, row.inode), row);
        }
    }

    /// Finds directories that are no longer there: those without a place in the tree whose parent
    /// was listed whole.
    fn match_gone_dirs(
        &mut self,
        catalog: &Catalog,
        tree: &Tree,
        orphans: &mut Orphans,
    ) -> Result<(), Error> {
        let present: HashSet<i64> = self.memory.dir_rows.iter().copied().collect();
        let mut gone = Vec::new();
        for (dir, &row) in tree.dirs().iter().zip(&self.memory.dir_rows) {
            if row != 0 && dir.complete {
                let children = self.memory.dirs.children(row).iter();
                for child in children.filter(|child| !present.contains(&child.id)) {
                    self.memory.dirs.each_below(child.id, |id| gone.push(id));
                }
            }
        }
        let mut statement = catalog.files_in_statement()?;
        for &dir in &gone {
            catalog.each_file_in(&mut statement, dir, |_, row| {
                self.memory.touched.extend(row.content);
                if row.head.is_some() {
                    orphans.insert((row.volume, row.inode), row);
                }
            })?;
        }
        self.memory.gone_dirs = gone;
        Ok(())
    }

    /// Gives files without a row what is known of the same inode under a name that is gone.
    fn adopt(&mut self, tree: &Tree, orphans: &Orphans) {
        if orphans.is_empty() {
            return;
        }
        let Recall { facts, memory } = self;
        for (id, stored) in (0u32..).zip(&memory.stored) {
            if *stored != Stored::Nothing {
                continue;
            }
            let now = version(tree, FileId(id), &mut memory.volumes);
            let row = orphans.get(&(now.volume, now.inode));
            if let Some(row) = row.filter(|row| row.same_version(&now)) {
                memory.contents.attach(facts, id, row);
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

    /// Adds the remembered files that have the size of one in the tree.
    fn add_outside(
        &mut self,
        catalog: &Catalog,
        tree: &mut Tree,
        partly: Vec<Outside>,
    ) -> Result<(), Error> {
        let Recall { facts, memory } = self;
        let inside: HashSet<i64> =
            memory.dir_rows.iter().chain(&memory.gone_dirs).copied().collect();
        let mut rest = Vec::new();
        memory.dirs.each_below(TOP, |id| rest.extend((!inside.contains(&id)).then_some(id)));
        if rest.is_empty() && partly.is_empty() {
            return Ok(());
        }
        let sizes: HashSet<u64> = tree.files().iter().map(|file| file.size).collect();
        let mut wanted = partly;
        wanted.retain(|(_, _, row)| sizes.contains(&row.size));
        let mut statement = catalog.files_in_statement()?;
        for dir in rest {
            catalog.each_file_in(&mut statement, dir, |name, row| {
                if sizes.contains(&row.size) {
                    wanted.push((dir, name.into(), row));
                }
            })?;
        }
        let silent = silent_volumes(&memory.dirs, &wanted);
        for (dir, name, row) in wanted.extract_if(.., |(.., row)| silent.contains(&row.volume)) {
            memory.away.add(dir, &name, &row);
        }
        let mut placer = Placer::new(tree, &memory.dirs, &memory.volumes);
        for same in wanted.chunk_by(|a, b| a.0 == b.0) {
            let dir = same[0].0;
            let files = same.iter().map(|(_, name, row)| (name.as_ref(), row));
            placer.place(dir, files, true, |name, file, row| {
                let Some(file) = file else { return memory.away.add(dir, name, row) };
                facts.grow(file.0 as usize + 1);
                memory.contents.attach(facts, file.0, row);
                memory.stored.push(Stored::of(row));
                if row.head.is_none() {
                    memory.touched.extend(row.content);
                }
            });
        }
        let rows = placer.finish();
        memory.dir_rows.resize(tree.dirs().len(), 0);
        for (row, id) in rows {
            memory.dir_rows[id.0 as usize] = row;
        }
        Ok(())
    }
}

/// Returns the volumes that do not answer: a mount whose server is gone would hold up a scan that does
/// not even go there.
fn silent_volumes(dirs: &Dirs, wanted: &[Outside]) -> HashSet<i64> {
    let mut dir_of: BTreeMap<i64, i64> = BTreeMap::new();
    for (dir, _, row) in wanted {
        dir_of.entry(row.volume).or_insert(*dir);
    }
    let paths: Vec<PathBuf> = dir_of.values().map(|&dir| dirs.path(dir)).collect();
    let silent = walk::silent(&paths, PATIENCE);
    (0..).zip(dir_of.into_keys()).filter(|(at, _)| silent.contains(at)).map(|(_, v)| v).collect()
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
    }
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
