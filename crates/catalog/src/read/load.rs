//! Loads remembered files as a tree.

use std::collections::{HashMap, HashSet};

use content::{ContentId, Digest, Fingerprints, Head};
use walk::{DirId, FileId, Tree};

use crate::error::{At, Error};
use crate::open::Catalog;
use crate::placer::Placer;
use crate::read::unreliable::UnreliableCounts;
use crate::state::FileState;
use crate::tables::contents::Contents;
use crate::tables::dirs::{Dirs, TOP};
use crate::tables::rows::FileRow;
use crate::tables::volumes::Volumes;

/// The files to load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rows<'a> {
    /// All files.
    All,
    /// Files whose content is shared by at least two inodes.
    Grouped,
    /// Files at or below these absolute paths.
    Below(&'a [Vec<u8>]),
    /// Files with one of these contents, given by the numbers in [`crate::KnownFile`].
    Having(&'a HashSet<i64>),
}

/// Remembered files as a tree, and what is known about them.
#[derive(Debug)]
pub struct Loaded {
    /// The files, all of them marked as remembered.
    pub tree: Tree,
    /// Their fingerprints.
    pub fingerprints: Fingerprints,
    pub(crate) contents: Contents,
    dir_rows: HashMap<DirId, i64>,
    unreliable: HashMap<FileId, UnreliableFile>,
    unreliable_counts: UnreliableCounts,
}

/// A file whose current content is unknown, and the last known facts about it.
#[derive(Clone, Copy, Debug)]
pub struct UnreliableFile {
    /// The reason why the content is unknown; never [`FileState::Known`].
    pub state: FileState,
    /// Its head at the last scan.
    pub head: Option<Head>,
    /// Its content at the last scan.
    pub content: Option<ContentId>,
}

impl Loaded {
    /// Returns what was known about a file if the file is unreliable. [`Loaded::fingerprints`] has
    /// no entry for such a file.
    pub fn unreliable(&self, file: FileId) -> Option<UnreliableFile> {
        self.unreliable.get(&file).copied()
    }

    /// Returns the numbers of unreliable files in the whole catalog.
    pub fn unreliable_counts(&self) -> &UnreliableCounts {
        &self.unreliable_counts
    }

    /// Returns the state of a file, which tells whether it can be relied on.
    pub fn state(&self, file: FileId) -> FileState {
        self.unreliable(file).map_or(FileState::Known, |file| file.state)
    }

    /// Returns the number of a content in the catalog, as in [`crate::KnownFile`].
    pub fn number(&self, content: ContentId) -> i64 {
        self.contents.row_of[content.index()]
    }

    /// Returns the digest and the reclaimable bytes of a content.
    pub fn content(&self, id: ContentId) -> (Option<Digest>, u64) {
        let row = self.contents.row_of.get(id.index()).and_then(|&row| self.contents.row(row));
        row.map_or((None, 0), |row| (row.digest, row.reclaimable))
    }

    /// Returns the row of a file's content.
    pub(crate) fn content_row(&self, file: FileId) -> Option<i64> {
        let before = || self.unreliable(file).and_then(|file| file.content);
        self.fingerprints.content(file.0).or_else(before).map(|content| self.number(content))
    }

    /// Returns the number of inodes that had the content in row `content` when it was loaded.
    pub(crate) fn inodes_of(&self, row: i64) -> Option<u32> {
        self.contents.row(row).map(|content| content.inodes)
    }

    /// Returns the directory row and the name of a file, for [`crate::Writer::forget`].
    pub(crate) fn row_of(&self, file: FileId) -> Option<(i64, &[u8])> {
        let dir = self.tree.file(file).dir;
        Some((*self.dir_rows.get(&dir)?, self.tree.name(file).to_bytes()))
    }
}

impl Catalog {
    /// Loads remembered files.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn load(&self, which: Rows<'_>) -> Result<Loaded, Error> {
        self.in_one_snapshot(|| self.load_now(which))
    }

    fn load_now(&self, which: Rows<'_>) -> Result<Loaded, Error> {
        let (mut tree, mut contents) = (Tree::default(), Contents::load(self)?);
        let (dirs, volumes) = (Dirs::load(self)?, Volumes::load(self)?);
        let (mut fingerprints, mut unreliable) = (Fingerprints::new(0), HashMap::new());
        let mut placer = Placer::new(&mut tree, &dirs, &volumes);
        let mut statement = self.files_in_statement()?;
        let mut seen = 0;
        for (dir, only) in wanted_dirs(&dirs, which) {
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
            placer.add_files(dir, files, false, |_, file, row| {
                let Some(file) = file else { return };
                fingerprints.grow(file.0 as usize + 1);
                let content = row.content.map(|content| contents.id(&fingerprints, content));
                if row.state != FileState::Known {
                    unreliable
                        .insert(file, UnreliableFile { state: row.state, head: row.head, content });
                    return;
                }
                if let Some(head) = row.head {
                    fingerprints.set_head(file.0, head);
                }
                if let Some(content) = content {
                    fingerprints.set_content(file.0, content);
                }
            });
        }
        if !matches!(which, Rows::Below(_)) {
            self.refuse_orphans(seen)?;
        }
        let dir_rows = placer.finish().into_iter().map(|(row, id)| (id, row)).collect();
        Ok(Loaded {
            tree,
            fingerprints,
            contents,
            dir_rows,
            unreliable,
            unreliable_counts: self.unreliable_counts()?,
        })
    }
}

impl Catalog {
    /// Fails if the catalog has files that do not belong to any of its directories.
    /// `in_directories` is the number of files in all directories.
    fn refuse_orphans(&self, in_directories: u64) -> Result<(), Error> {
        let sql = "SELECT count(*) FROM file";
        let all: i64 = self.db.query_row(sql, [], |row| row.get(0)).at(&self.path)?;
        match all.cast_unsigned().saturating_sub(in_directories) {
            0 => Ok(()),
            files => Err(Error::Orphans { path: self.path.clone(), dirs: 0, files }),
        }
    }
}

/// Names of files in a directory.
type WantedNames = HashSet<Vec<u8>>;

/// Returns the directories to read, in tree order. Each directory comes with the wanted names, or
/// with `None` if all its files are wanted.
fn wanted_dirs(dirs: &Dirs, which: Rows<'_>) -> Vec<(i64, Option<WantedNames>)> {
    let Rows::Below(paths) = which else {
        let mut order = Vec::new();
        dirs.each_below(TOP, |dir| order.push((dir, None)));
        return order;
    };
    let (mut whole, mut named) = (HashSet::new(), HashMap::<i64, WantedNames>::new());
    for path in paths {
        if let Some(dir) = dirs.at_path(path) {
            dirs.each_below(dir, |dir| {
                whole.insert(dir);
            });
        }
        // At the last scan, the last component of a path may have been the name of a file.
        let (above, name) = walk::split_path(path);
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
