//! Updates the catalog after operations on files that are given by path. Such operations are undos,
//! and runs whose files did not come from the catalog but from a saved plan, a list or a report.
//! Without these updates, the next scan would have to read known files again.
//!
//! The catalog accepts only what it can verify. If the file's own row describes the file as it was
//! before the operation, the content is taken from there. Otherwise, the content is taken from the
//! row of the file that it was compared with, if that row has the digest found by the comparison.
//! Everything else is left for the next scan.
//!
//! Size and modification time do not reveal every edit, and lop itself changes the ctime of a file
//! when it adds or removes a name of that file. A file therefore counts as known only if its
//! current ctime was caused by lop. A row of the same inode describes the file only if the row has
//! the ctime from before lop's changes ([`CtimeCause`]).

use std::collections::{HashMap, HashSet};

use content::Digest;
use rusqlite::{OptionalExtension, Row, params};
use walk::split_path;

use super::operation::{CtimeCause, FileOperation, LiveFile, Version};
use crate::error::{At, Error};
use crate::open::{Catalog, Writer};
use crate::tables::dirs::{TOP, components};
use crate::tables::rows::allocated_column;
use crate::tables::versions::is_recent;
use crate::tables::volumes::Volumes;

impl Writer {
    /// Records the results of operations on files.
    ///
    /// `inspect` returns the regular file at an absolute path, or `None` if there is none.
    /// `inspected_ns` is a time before the first inspection, in nanoseconds since the epoch. If the
    /// times of a file are so recent that another change could leave them the same, the next scan
    /// reads the file again.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be written, or with the first error of `operations`. The catalog
    /// is then unchanged.
    pub fn follow<E: From<Error>>(
        &self,
        operations: impl Iterator<Item = Result<FileOperation, E>>,
        inspect: impl FnMut(&[u8]) -> Option<LiveFile>,
        inspected_ns: i64,
    ) -> Result<(), E> {
        let catalog = &self.catalog;
        catalog.in_transaction(|| {
            let mut follower = Follower::new(catalog, inspect, inspected_ns)?;
            for operation in operations {
                follower.follow(&operation?)?;
            }
            Ok(follower.finish()?)
        })
    }
}

/// The relevant columns of a file's row.
#[derive(Clone, Copy, Debug)]
struct NameRow {
    volume: i64,
    version: Version,
    head: Option<i64>,
    content: Option<i64>,
}

struct Follower<'c, I> {
    catalog: &'c Catalog,
    inspect: I,
    volumes: Volumes,
    inspected_ns: i64,
    /// Rows of directories by path; 0 for directories that are not in the catalog.
    dirs: HashMap<Vec<u8>, i64>,
    next_dir: i64,
    /// Directories that lost a file.
    emptied: HashSet<i64>,
    contents: HashMap<i64, ContentChange>,
    /// Inodes whose ctime changed, by volume and inode number.
    inodes: HashSet<(i64, u64)>,
    /// The ctime of each inode whose rows were still accurate when the run reached the inode's
    /// first name.
    described: HashMap<(i64, u64), i64>,
}

/// A content that gained or lost files.
#[derive(Clone, Copy, Debug, Default)]
struct ContentChange {
    /// Number of inodes that had this content, and the bytes that keeping only one of them would
    /// have freed.
    inodes: u32,
    reclaimable: u64,
    /// Number of bytes that each copy takes on disk.
    allocated: u64,
    unshared: u64,
}

impl<'c, I: FnMut(&[u8]) -> Option<LiveFile>> Follower<'c, I> {
    fn new(catalog: &'c Catalog, inspect: I, inspected_ns: i64) -> Result<Self, Error> {
        Ok(Follower {
            catalog,
            inspect,
            volumes: Volumes::load(catalog)?,
            inspected_ns,
            dirs: HashMap::new(),
            next_dir: catalog.next_id("dir")?,
            emptied: HashSet::new(),
            contents: HashMap::new(),
            inodes: HashSet::new(),
            described: HashMap::new(),
        })
    }

    fn follow(&mut self, operation: &FileOperation) -> Result<(), Error> {
        let row = self.row(&operation.path)?;
        let kept = self.row(&operation.kept)?;
        if let Some(row) = &row {
            self.inodes.insert((row.volume, operation.was.inode));
            if row.version == operation.was {
                self.described.insert((row.volume, row.version.inode), row.version.ctime_ns);
            }
        }
        if let Some(kept) = &kept {
            self.inodes.insert((kept.volume, kept.version.inode));
        }
        let Some(now) = (self.inspect)(&operation.path) else {
            return row.map_or(Ok(()), |row| self.forget(operation, row));
        };
        // The volume must be unambiguous, because the new row claims that the file is on it.
        let Some(volume) = self.volumes.find(&now.device) else { return Ok(()) };
        if now.ctime_cause == CtimeCause::Unknown {
            // Other programs may have written to the file since its row was stored.
            return Ok(());
        }
        let kept = kept.filter(|kept| agrees(kept, volume, &now));
        if !has_same_content_times(operation.was, now.version)
            && !kept.is_some_and(|kept| is_link(&kept, volume, now.version))
        {
            // The file was edited, perhaps through another name while it was in quarantine.
            return Ok(());
        }
        let own = row.filter(|row| self.describes(row, operation.was) && agrees(row, volume, &now));
        let known = match (own, kept) {
            (None, Some(kept)) if is_link(&kept, volume, now.version) => Some(kept),
            (None, Some(kept)) if self.is_as_compared(&kept, operation)? => Some(kept),
            (own, _) => own,
        };
        // A row without a content would be useless, because nothing would show which files are
        // identical to this one.
        let Some(NameRow { head, content: Some(content), .. }) = known else { return Ok(()) };
        for content in row.and_then(|row| row.content).into_iter().chain([content]) {
            let allocated = if now.is_inline { 0 } else { now.allocated };
            self.touch(content, allocated, operation.unshared)?;
        }
        let new_row = NameRow { volume, version: now.version, head, content: Some(content) };
        self.inodes.insert((volume, now.version.inode));
        self.write(&operation.path, &new_row, now.allocated)
    }

    /// Returns whether a row describes a file as it was before the operation. The ctime may differ
    /// if lop has already changed it through other names of the file.
    fn describes(&self, row: &NameRow, was: Version) -> bool {
        let described = self.described.get(&(row.volume, row.version.inode));
        row.version == was
            || Version { ctime_ns: was.ctime_ns, ..row.version } == was
                && described == Some(&row.version.ctime_ns)
    }

    /// Returns whether the row of the kept file describes the content that the file had when it was
    /// compared.
    fn is_as_compared(&self, kept: &NameRow, operation: &FileOperation) -> Result<bool, Error> {
        let Version { inode, size, mtime_ns, ctime_ns } = kept.version;
        let was = operation.kept_was;
        if (inode, size, mtime_ns) != (was.inode, was.size, was.mtime_ns) {
            return Ok(false);
        }
        let Some((content, digest)) = kept.content.zip(operation.digest) else {
            return Ok(ctime_ns == was.ctime_ns);
        };
        let sql = "SELECT digest FROM content WHERE id = ?1";
        let mut query = self.catalog.db.prepare_cached(sql).at(&self.catalog.path)?;
        let known = query.query_row([content], |row| row.get::<_, Option<[u8; 32]>>(0)).optional();
        let known = known.at(&self.catalog.path)?.flatten();
        Ok(known.map_or(ctime_ns == was.ctime_ns, |known| Digest(known) == digest))
    }

    fn forget(&mut self, operation: &FileOperation, row: NameRow) -> Result<(), Error> {
        let (dir, name) = split_path(&operation.path);
        let dir = self.dir(dir, false)?;
        self.catalog.delete_files(std::iter::once((dir, name)))?;
        self.emptied.insert(dir);
        row.content.map_or(Ok(()), |content| self.touch(content, operation.allocated, 0))
    }

    /// Records that a content gains or loses a file.
    fn touch(&mut self, content: i64, allocated: u64, unshared: u64) -> Result<(), Error> {
        if !self.contents.contains_key(&content) {
            let sql = "SELECT inodes, reclaimable FROM content WHERE id = ?1";
            let mut query = self.catalog.db.prepare_cached(sql).at(&self.catalog.path)?;
            let before = query.query_row([content], |row| {
                let reclaimable = row.get::<_, i64>(1)?.cast_unsigned();
                Ok(ContentChange { inodes: row.get(0)?, reclaimable, ..ContentChange::default() })
            });
            let before = before.optional().at(&self.catalog.path)?.unwrap_or_default();
            self.contents.insert(content, before);
        }
        if let Some(touched) = self.contents.get_mut(&content) {
            touched.allocated = touched.allocated.max(allocated);
            touched.unshared += unshared;
        }
        Ok(())
    }

    /// Returns the row for a path.
    fn row(&mut self, path: &[u8]) -> Result<Option<NameRow>, Error> {
        let (dir, name) = split_path(path);
        let dir = self.dir(dir, false)?;
        let sql = "SELECT volume, inode, size, mtime_ns, ctime_ns, head, content FROM file \
                   WHERE dir = ?1 AND name = ?2";
        let mut query = self.catalog.db.prepare_cached(sql).at(&self.catalog.path)?;
        query.query_row(params![dir, name], name_row).optional().at(&self.catalog.path)
    }

    fn write(&mut self, path: &[u8], file: &NameRow, allocated: u64) -> Result<(), Error> {
        let (dir, name) = split_path(path);
        let dir = self.dir(dir, true)?;
        let Version { inode, size, mtime_ns, ctime_ns } = file.version;
        let head = file.head.filter(|_| !is_recent(mtime_ns, ctime_ns, self.inspected_ns));
        let sql = "INSERT OR REPLACE INTO file \
                   (dir, name, volume, inode, size, mtime_ns, ctime_ns, head, content, allocated) \
                   VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)";
        let mut insert = self.catalog.db.prepare_cached(sql).at(&self.catalog.path)?;
        let allocated = allocated_column(size, allocated);
        let (inode, size) = (inode.cast_signed(), size.cast_signed());
        let NameRow { volume, content, .. } = *file;
        let values =
            params![dir, name, volume, inode, size, mtime_ns, ctime_ns, head, content, allocated];
        insert.execute(values).at(&self.catalog.path)?;
        Ok(())
    }

    /// Returns the row of the directory at an absolute path. If the directory has no row, creates
    /// one if `wanted` is set, and otherwise returns 0.
    fn dir(&mut self, path: &[u8], wanted: bool) -> Result<i64, Error> {
        /// Maximum number of paths to cache.
        const MAX_CACHED_PATHS: usize = 10_000;
        if let Some(&row) = self.dirs.get(path).filter(|&&row| row != 0 || !wanted) {
            return Ok(row);
        }
        let row = match self.catalog.dir_row(path)? {
            Some(row) => row,
            None if wanted => self.make_dir(path)?,
            None => 0,
        };
        if self.dirs.len() >= MAX_CACHED_PATHS {
            self.dirs.clear();
        }
        self.dirs.insert(path.to_vec(), row);
        Ok(row)
    }

    fn make_dir(&mut self, path: &[u8]) -> Result<i64, Error> {
        let db = &self.catalog.db;
        let sql = "SELECT id FROM dir WHERE parent = ?1 AND name = ?2";
        let mut find = db.prepare_cached(sql).at(&self.catalog.path)?;
        let sql = "INSERT INTO dir (id, parent, name) VALUES (?1, ?2, ?3)";
        let mut insert = db.prepare_cached(sql).at(&self.catalog.path)?;
        let mut at = TOP;
        for name in components(path) {
            let found = find.query_row(params![at, name], |row| row.get(0)).optional();
            at = if let Some(row) = found.at(&self.catalog.path)? {
                row
            } else {
                insert.execute(params![self.next_dir, at, name]).at(&self.catalog.path)?;
                self.next_dir += 1;
                self.next_dir - 1
            };
        }
        Ok(at)
    }

    /// Updates the other names of changed inodes, and the copy counts.
    fn finish(mut self) -> Result<(), Error> {
        let (mut counts, mut copies) = (Vec::new(), HashMap::new());
        for (content, touched) in std::mem::take(&mut self.contents) {
            self.renew_names(content)?;
            let inodes = self.catalog.count_inodes(content)?;
            let own = |number: u32| touched.allocated.saturating_mul(u64::from(number));
            let more = own(inodes.saturating_sub(touched.inodes));
            let less = own(touched.inodes.saturating_sub(inodes)).saturating_add(touched.unshared);
            let reclaimable = touched.reclaimable.saturating_add(more).saturating_sub(less);
            counts.push((content, inodes));
            copies.insert(content, (inodes, if inodes > 1 { reclaimable } else { 0 }));
        }
        self.catalog.write_counts(&counts, &copies)?;
        self.catalog.delete_empty_dirs(self.emptied)
    }

    /// Updates the ctimes of all names of changed inodes with this content, if lop caused the
    /// change.
    fn renew_names(&mut self, content: i64) -> Result<(), Error> {
        let (catalog, path) = (self.catalog, &self.catalog.path);
        let sql = "SELECT volume, inode, size, mtime_ns, ctime_ns, head, content, dir, name \
                   FROM file WHERE content = ?1";
        let mut query = catalog.db.prepare_cached(sql).at(path)?;
        let sql = "UPDATE file SET ctime_ns = ?3, head = CASE WHEN ?4 THEN head END \
                   WHERE dir = ?1 AND name = ?2";
        let mut update = catalog.db.prepare_cached(sql).at(path)?;
        let mut names: Vec<(i64, Vec<u8>, NameRow)> = Vec::new();
        let mut rows = query.query([content]).at(path)?;
        while let Some(row) = rows.next().at(path)? {
            let file = name_row(row).at(path)?;
            if self.inodes.contains(&(file.volume, file.version.inode)) {
                names.push((row.get(7).at(path)?, row.get(8).at(path)?, file));
            }
        }
        for (dir, name, file) in names {
            let Some(now) = (self.inspect)(&catalog.path_in(dir, &name)?) else { continue };
            let Version { mtime_ns, ctime_ns, .. } = now.version;
            let is_it = self.volumes.find(&now.device) == Some(file.volume);
            let is_renewed = is_it && is_link(&file, file.volume, now.version);
            if is_renewed && now.version != file.version && agrees(&file, file.volume, &now) {
                let settled = !is_recent(mtime_ns, ctime_ns, self.inspected_ns);
                update.execute(params![dir, name, ctime_ns, settled]).at(path)?;
            }
        }
        Ok(())
    }
}

/// Returns whether a file may still have the same bytes, judging by size and modification time.
fn has_same_content_times(was: Version, now: Version) -> bool {
    (was.size, was.mtime_ns) == (now.size, now.mtime_ns)
}

/// Returns false if a row contradicts what is known about a file: the inode is the same, but the
/// row has neither the file's current ctime nor its ctime before lop's changes.
fn agrees(row: &NameRow, volume: i64, now: &LiveFile) -> bool {
    let ctime_ns = row.version.ctime_ns;
    (row.volume, row.version.inode) != (volume, now.version.inode)
        || ctime_ns == now.version.ctime_ns
        || now.ctime_cause == CtimeCause::LopChanged { before_ns: ctime_ns }
}

/// Returns whether a row describes this file, ignoring the ctime.
fn is_link(row: &NameRow, volume: i64, now: Version) -> bool {
    row.volume == volume && Version { ctime_ns: now.ctime_ns, ..row.version } == now
}

fn name_row(row: &Row<'_>) -> rusqlite::Result<NameRow> {
    let bits = |n| row.get::<_, i64>(n).map(i64::cast_unsigned);
    let (inode, size) = (bits(1)?, bits(2)?);
    let version = Version { inode, size, mtime_ns: row.get(3)?, ctime_ns: row.get(4)? };
    Ok(NameRow { volume: row.get(0)?, version, head: row.get(5)?, content: row.get(6)? })
}
