//! Matches a tree that contains only changed entries ([`walk::Changes`]) with the catalog.
//!
//! The time depends on the number of changes, and hardly on the number of remembered files, because the
//! catalog looks up single rows by name, by inode, and by size and head. Matching takes two steps.
//! [`Catalog::match_changes`] matches the rows of the examined names. After the caller has read the heads
//! of new and changed files, [`ChangesMatch::add_candidates`] adds the remembered files that may be
//! identical to them.
//!
//! A change of an inode affects all its names, but the kernel reports it for only one name. If an inode has
//! further names ([`ChangesMatch::further_names`]), the caller walks again and examines them, too.

use std::collections::{HashMap, HashSet};
use std::ops::{ControlFlow, RangeInclusive};
use std::sync::mpsc::sync_channel;

use content::Fingerprints;
use rusqlite::{OptionalExtension, Params, params};
use walk::{DirId, FileId, Tree};

use super::stored::{NamedRow, Orphans, Stored};
use super::{RowMap, TreeMatch};
use crate::error::{At, Error};
use crate::open::Catalog;
use crate::state::FileState;
use crate::tables::contents::Contents;
use crate::tables::dirs::Dirs;
use crate::tables::rows::{FileRow, RowBatch, name};
use crate::tables::versions::version;
use crate::tables::volumes::Volumes;

/// Maximum number of inodes of a content of which all files are added to the tree. If a content has more inodes, only a
/// few of its files are compared with a changed file, and its copies are not counted again.
pub(crate) const MAX_COMPLETE: u32 = 16;

/// The changed entries of a tree, matched with the catalog.
#[derive(Debug)]
pub struct ChangesMatch {
    pub(super) matched: TreeMatch,
    pub(super) orphans: Orphans,
    /// The directory row and the name of each row that was matched or whose file is gone.
    examined: HashSet<(i64, Box<[u8]>)>,
    /// Rows of directories that are gone together with everything in them.
    gone_dirs: HashSet<i64>,
}

impl Catalog {
    /// Matches the files of `tree`, which must be the result of a walk with [`walk::Changes`].
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged. The catalog is unchanged.
    pub fn match_changes(&self, tree: &Tree) -> Result<ChangesMatch, Error> {
        let examined = ExaminedRows { version: self.data_version()?, ..ExaminedRows::default() };
        let mut rows = RowMap {
            volumes: Volumes::load(self)?,
            dirs: Dirs::load_for(self, tree)?,
            stored: vec![Stored::Nothing; tree.files().len()],
            examined: Some(examined),
            ..RowMap::default()
        };
        rows.dir_rows = rows.dirs.of_tree(tree);
        let mut found = self.rows_of_examined(tree, &rows.dir_rows)?;
        found.sort_unstable_by(|a, b| (a.dir, &a.name).cmp(&(b.dir, &b.name)));
        rows.contents = Contents::load_some(self, found.iter().filter_map(|row| row.row.content))?;
        let mut matched = TreeMatch { fingerprints: Fingerprints::new(tree.files().len()), rows };
        let mut orphans = Orphans::new();
        let examined = matched.merge_found(tree, &found, &mut orphans);
        matched.match_gone_dirs(self, tree, &mut orphans)?;
        let orphaned = orphans.values().filter_map(|row| row.content);
        matched.rows.contents.extend(Contents::rows(self, orphaned)?);
        matched.relate(tree, &orphans);
        let gone_dirs = matched.rows.gone_dirs.iter().copied().collect();
        Ok(ChangesMatch { matched, orphans, examined, gone_dirs })
    }

    /// Returns the rows of all names that the walk looked up, and of all directories that it listed.
    fn rows_of_examined(&self, tree: &Tree, dir_rows: &[i64]) -> Result<Vec<NamedRow>, Error> {
        let mut found = Vec::new();
        let sql = format!("SELECT {} FROM file WHERE dir = ?1 AND name = ?2", FileRow::COLUMNS);
        let mut query = self.db.prepare(&sql).at(&self.path)?;
        for (dir, name) in tree.looked_up() {
            let dir = dir_rows[dir.0 as usize];
            let row = query.query_row(params![dir, name], FileRow::read).optional();
            let row = row.at(&self.path)?;
            found.extend(row.map(|row| NamedRow { dir, name: name.clone(), row }));
        }
        let looked_up: HashSet<DirId> = tree.looked_up().iter().map(|(dir, _)| *dir).collect();
        let was_listed = |id: &DirId| tree.dir(*id).inode != 0 && !looked_up.contains(id);
        let mut listed: Vec<i64> = (0u32..)
            .map(DirId)
            .zip(dir_rows)
            .filter(|(id, row)| **row != 0 && was_listed(id))
            .map(|(_, row)| *row)
            .collect();
        listed.sort_unstable();
        self.each_file_of(listed.into_iter(), |dir, name, row| {
            found.push(NamedRow { dir, name: name.into(), row });
        })?;
        Ok(found)
    }

    /// Adds rows that `condition` selects and `is_wanted` accepts to `rows`.
    pub(super) fn select_files(
        &self,
        condition: &str,
        values: impl Params,
        mut is_wanted: impl FnMut(&NamedRow) -> bool,
        rows: &mut Vec<NamedRow>,
    ) -> Result<(), Error> {
        self.each_selected(condition, values, |row| {
            rows.extend(Some(row).filter(&mut is_wanted));
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Calls `each` with the rows that `condition` selects until it breaks or fails.
    pub(super) fn each_selected(
        &self,
        condition: &str,
        values: impl Params,
        mut each: impl FnMut(NamedRow) -> Result<ControlFlow<()>, Error>,
    ) -> Result<(), Error> {
        let sql = format!("SELECT {}, dir FROM file WHERE {condition}", FileRow::COLUMNS);
        let mut query = self.db.prepare_cached(&sql).at(&self.path)?;
        let found = query.query_map(values, |row| {
            let dir = row.get(FileRow::AFTER_COLUMNS)?;
            Ok(NamedRow { dir, name: name(row, 0)?.into(), row: FileRow::read(row)? })
        });
        for row in found.at(&self.path)? {
            if each(row.at(&self.path)?)?.is_break() {
                break;
            }
        }
        Ok(())
    }
}

/// The difference between the examined entries and their rows.
#[derive(Clone, Copy, Debug)]
pub struct Growth {
    /// Number of names whose file is new, changed or gone.
    pub changed: u64,
    /// Number of new files minus the number of files that are gone. A file with several names counts once. If an
    /// earlier scan has added a file to the catalog that the patterns of this scan exclude, its removal counts, too.
    pub files: i64,
    /// Total growth of the files in bytes. A file with several names counts once.
    pub bytes: i64,
}

/// The rows of the examined names.
#[derive(Debug, Default)]
pub(crate) struct ExaminedRows {
    /// The version of the catalog that contained these rows, as in [`Catalog::data_version`].
    pub(crate) version: i64,
    /// Rows whose file is gone, or that describe an older version of their file.
    outdated: Vec<FileRow>,
    /// Number of rows whose file is gone.
    gone: u64,
    /// The first content that the scan itself has stored, if it has saved its results before the end.
    first_new: Option<i64>,
    /// The inodes of the rows of each content, by volume and inode number.
    copies: HashMap<i64, HashSet<(i64, u64)>>,
    /// Contents whose copies the commit counts, because rows of names that were not examined may change, too.
    recounted: HashSet<i64>,
}

impl ExaminedRows {
    /// Adds the row of a file that is gone.
    pub(super) fn note_gone(&mut self, row: &FileRow) {
        self.gone += 1;
        self.note(row, true);
    }

    /// Adds the row of a file.
    pub(super) fn note(&mut self, row: &FileRow, is_outdated: bool) {
        if is_outdated {
            self.outdated.push(*row);
        }
        if let Some(content) = row.content.filter(|_| row.state == FileState::Known) {
            self.copies.entry(content).or_default().insert((row.volume, row.inode));
        }
    }

    /// Notes that the scan has stored contents, of which the first has this row.
    pub(crate) fn note_stored(&mut self, first_new: i64) {
        self.first_new.get_or_insert(first_new);
    }

    /// Returns whether the scan itself has stored this content.
    fn is_new(&self, content: i64) -> bool {
        self.first_new.is_some_and(|first| content >= first)
    }

    /// Notes contents that files that were not examined may gain or lose.
    pub(crate) fn note_recounted(&mut self, contents: impl IntoIterator<Item = i64>) {
        self.recounted.extend(contents);
    }

    /// Returns whether the commit must count the copies of this content, because the number cannot be adjusted.
    pub(crate) fn is_recounted(&self, content: i64) -> bool {
        self.recounted.contains(&content) || self.is_new(content)
    }

    /// Returns the number of inodes in the examined rows with this content. All rows of these inodes were examined.
    pub(crate) fn copies(&self, content: i64) -> usize {
        self.copies.get(&content).map_or(0, HashSet::len)
    }
}

impl TreeMatch {
    /// Merges the files with the rows of their names. Returns the directory row and the name of each row that was
    /// matched or whose file is gone.
    fn merge_found(
        &mut self,
        tree: &Tree,
        found: &[NamedRow],
        orphans: &mut Orphans,
    ) -> HashSet<(i64, Box<[u8]>)> {
        let key = |row: &NamedRow| (row.dir, row.name.clone());
        let mut examined: HashSet<_> = found.iter().map(key).collect();
        let mut batch = RowBatch::default();
        batch.ends_run = true;
        for NamedRow { dir, name, row } in found {
            batch.push(*dir, name, *row);
        }
        let dirs = self.dirs_with_rows();
        let (sender, batches) = sync_channel(1);
        // Sending cannot fail or block: the receiver exists, and the channel has room for the only batch.
        drop(sender.send(batch));
        self.merge(tree, &dirs, 1, &[batches], orphans, |dir, name, _| {
            examined.remove(&(dir, name.into()));
        });
        examined
    }
}

impl ChangesMatch {
    /// Returns the fingerprints of the files, to which the caller adds the heads that it reads.
    pub fn fingerprints(&self) -> &Fingerprints {
        &self.matched.fingerprints
    }

    /// Returns the difference between the examined entries and their rows. `sizes` are the sizes in bytes of the files
    /// that the scan includes.
    pub fn growth(&mut self, tree: &Tree, sizes: &RangeInclusive<u64>) -> Growth {
        let changed = self.gone() + self.without_row().count() as u64;
        let outdated = self.outdated().iter().filter(|row| sizes.contains(&row.size));
        let outdated = outdated.map(|row| ((row.volume, row.inode), row.size));
        let (mut before, mut after): (HashMap<_, _>, _) = (outdated.collect(), HashMap::new());
        let RowMap { stored, volumes, .. } = &mut self.matched.rows;
        for (id, stored) in (0u32..).map(FileId).zip(stored) {
            let now = version(tree, id, volumes);
            let (inode, size) = ((now.volume, now.inode), tree.file(id).size);
            after.insert(inode, size);
            if *stored != Stored::Nothing {
                before.insert(inode, size);
            }
        }
        let number = |sizes: &HashMap<(i64, u64), u64>| {
            let bytes = sizes.values().copied().fold(0, u64::saturating_add);
            (sizes.len().cast_signed() as i64, i64::try_from(bytes).unwrap_or(i64::MAX))
        };
        let (before, after) = (number(&before), number(&after));
        Growth { changed, files: after.0 - before.0, bytes: after.1 - before.1 }
    }

    /// Returns the absolute paths of remembered names that were not examined, but whose inode has changed or has gained
    /// or lost a name.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn further_names(&mut self, catalog: &Catalog, tree: &Tree) -> Result<Vec<Vec<u8>>, Error> {
        let mut inodes: HashSet<(i64, u64)> =
            self.outdated().iter().map(|row| (row.volume, row.inode)).collect();
        let new: Vec<FileId> = self.without_row().collect();
        for file in new {
            let now = version(tree, file, &mut self.matched.rows.volumes);
            inodes.insert((now.volume, now.inode));
        }
        let mut rows = Vec::new();
        for &(volume, inode) in &inodes {
            let values = params![inode.cast_signed(), volume];
            let condition = "inode = ?1 AND volume = ?2";
            let is_wanted = |row: &NamedRow| self.is_unexamined(row);
            catalog.select_files(condition, values, is_wanted, &mut rows)?;
        }
        // A row that stays unexamined shares its inode with an examined one, so the number of copies cannot be
        // adjusted.
        if let Some(examined) = &mut self.matched.rows.examined {
            examined.note_recounted(rows.iter().filter_map(|row| row.row.content));
        }
        rows.iter().map(|row| catalog.path_in(row.dir, &row.name)).collect()
    }

    /// Returns the files whose head is needed but unknown. It is needed if another file has the same size.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn without_head(&self, catalog: &Catalog, tree: &Tree) -> Result<Vec<FileId>, Error> {
        let mut by_size: HashMap<u64, Vec<FileId>> = HashMap::new();
        for (id, file) in (0u32..).zip(tree.files()) {
            by_size.entry(file.size).or_default().push(FileId(id));
        }
        let mut wanted = Vec::new();
        for (size, files) in by_size {
            let unread = |file: &FileId| self.fingerprints().head(file.0).is_none();
            let unread: Vec<FileId> = files.iter().copied().filter(unread).collect();
            if size == 0 || unread.is_empty() {
                continue;
            }
            if files.len() > 1 || self.has_unexamined(catalog, size)? {
                wanted.extend(unread);
            }
        }
        wanted.sort_unstable();
        Ok(wanted)
    }

    /// Returns whether a file that was not examined has this size.
    fn has_unexamined(&self, catalog: &Catalog, size: u64) -> Result<bool, Error> {
        let mut query = catalog
            .db
            .prepare_cached("SELECT dir, name FROM file WHERE size = ?1")
            .at(&catalog.path)?;
        let mut rows = query.query([size.cast_signed()]).at(&catalog.path)?;
        while let Some(row) = rows.next().at(&catalog.path)? {
            let key = (row.get(0).at(&catalog.path)?, name(row, 1).at(&catalog.path)?.into());
            if !self.examined.contains(&key) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns whether the walk did not examine the name in a row.
    pub(super) fn is_unexamined(&self, row: &NamedRow) -> bool {
        !self.gone_dirs.contains(&row.dir) && !self.examined.contains(&(row.dir, row.name.clone()))
    }

    fn gone(&self) -> u64 {
        self.matched.rows.examined.as_ref().map_or(0, |rows| rows.gone)
    }

    /// Returns the rows whose file is gone, or that describe an older version of their file.
    fn outdated(&self) -> &[FileRow] {
        self.matched.rows.examined.as_ref().map_or(&[], |rows| &rows.outdated)
    }

    /// Returns the files that are new or changed.
    fn without_row(&self) -> impl Iterator<Item = FileId> {
        let stored = (0u32..).map(FileId).zip(&self.matched.rows.stored);
        stored.filter(|(_, stored)| **stored == Stored::Nothing).map(|(file, _)| file)
    }
}
