//! Keeps the catalog up to date between scans: forgets files that are gone, and records changes
//! that lop made itself.

use std::collections::{HashMap, HashSet};

use rusqlite::params;
use walk::FileId;

use crate::error::{At, Error};
use crate::open::Writer;
use crate::read::load::Loaded;
use crate::tables::versions::is_recent;

/// A change that lop made to a file.
#[derive(Clone, Copy, Debug)]
pub struct FileChange {
    /// The file.
    pub file: FileId,
    /// The file's metadata now; `None` if its name is gone or is no regular file any more.
    pub now: Option<CurrentMetadata>,
    /// Bytes that the file no longer takes although it still exists.
    pub unshared: u64,
}

/// The metadata of a file now.
#[derive(Clone, Copy, Debug)]
pub struct CurrentMetadata {
    /// Inode number, on the same file system as before.
    pub inode: u64,
    /// Modification time, nanoseconds since the epoch.
    pub mtime_ns: i64,
    /// Status change time, nanoseconds since the epoch.
    pub ctime_ns: i64,
    /// When it was inspected, in nanoseconds since the epoch. If its times are so recent that a
    /// further change might not show in them, the next scan reads it again.
    pub inspected_ns: i64,
}

impl Writer {
    /// Forgets files that are gone, and directories that become empty by that.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be written. It is unchanged then.
    pub fn forget(&self, loaded: &Loaded, gone: &[FileId]) -> Result<(), Error> {
        self.catalog.in_transaction(|| {
            self.remove(loaded, gone)?;
            let contents = gone.iter().filter_map(|&file| loaded.content_row(file));
            self.count(loaded, contents.collect::<HashSet<_>>().into_iter())
        })
    }

    /// Records changes that lop made to files: their contents stay the same, inodes and times do
    /// not.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be written. It is unchanged then.
    pub fn apply_changes(
        &self,
        loaded: &Loaded,
        changes: impl IntoIterator<Item = FileChange>,
    ) -> Result<(), Error> {
        self.catalog.in_transaction(|| self.apply(loaded, changes))
    }

    fn apply(
        &self,
        loaded: &Loaded,
        changes: impl IntoIterator<Item = FileChange>,
    ) -> Result<(), Error> {
        let catalog = &self.catalog;
        let sql = "UPDATE file SET inode = ?3, mtime_ns = ?4, ctime_ns = ?5, \
                   head = CASE WHEN ?6 THEN head END WHERE dir = ?1 AND name = ?2";
        let mut update = catalog.db.prepare(sql).at(&catalog.path)?;
        let (mut gone, mut contents) = (Vec::new(), HashMap::new());
        for FileChange { file, now, unshared } in changes {
            if let Some(row) = loaded.content_row(file) {
                *contents.entry(row).or_insert(0) += unshared.cast_signed();
            }
            match (now, loaded.row_of(file)) {
                (None, _) => gone.push(file),
                (Some(now), Some((dir, name))) => {
                    let inode = now.inode.cast_signed();
                    let settled = !is_recent(now.mtime_ns, now.ctime_ns, now.inspected_ns);
                    let values = params![dir, name, inode, now.mtime_ns, now.ctime_ns, settled];
                    update.execute(values).at(&catalog.path)?;
                }
                (Some(_), None) => {}
            }
        }
        self.remove(loaded, &gone)?;
        self.count(loaded, contents.keys().copied())?;
        let sql = "UPDATE content SET reclaimable = max(reclaimable - ?2, 0) WHERE id = ?1";
        let mut unshare = catalog.db.prepare(sql).at(&catalog.path)?;
        for (row, unshared) in contents.into_iter().filter(|&(_, unshared)| unshared > 0) {
            unshare.execute(params![row, unshared]).at(&catalog.path)?;
        }
        Ok(())
    }

    fn remove(&self, loaded: &Loaded, gone: &[FileId]) -> Result<(), Error> {
        let catalog = &self.catalog;
        catalog.delete_files(gone.iter().filter_map(|&file| loaded.row_of(file)))?;
        let dirs = gone.iter().filter_map(|&file| loaded.row_of(file).map(|(dir, _)| dir));
        catalog.delete_empty_dirs(dirs.collect())
    }

    /// Counts the inodes of contents again, and stores the numbers that changed.
    fn count(&self, loaded: &Loaded, contents: impl Iterator<Item = i64>) -> Result<(), Error> {
        let catalog = &self.catalog;
        let mut counts = Vec::new();
        for row in contents {
            let inodes = catalog.count_inodes(row)?;
            if loaded.inodes_of(row) != Some(inodes) {
                counts.push((row, inodes));
            }
        }
        catalog.write_counts(&counts, &HashMap::new())
    }
}
