//! Keeps the catalog up to date between scans: forgets files that are gone, and records changes
//! that lop itself made.

use std::collections::{HashMap, HashSet};

use rusqlite::params;
use walk::FileId;

use crate::error::{At, Error};
use crate::open::Writer;
use crate::read::load::Loaded;
use crate::tables::rows::allocated_column;
use crate::tables::versions::is_recent;

/// A change that lop made to a file.
#[derive(Clone, Copy, Debug)]
pub struct FileChange {
    /// The file.
    pub file: FileId,
    /// The current metadata of the file; `None` if its name is gone or no longer belongs to a
    /// regular file.
    pub now: Option<CurrentMetadata>,
    /// Number of bytes by which the disk usage of the file shrank, although the file still exists.
    pub unshared: u64,
}

/// The current metadata of a file.
#[derive(Clone, Copy, Debug)]
pub struct CurrentMetadata {
    /// Inode number, on the same file system as before.
    pub inode: u64,
    /// Modification time in nanoseconds since the epoch.
    pub mtime_ns: i64,
    /// Status change time in nanoseconds since the epoch.
    pub ctime_ns: i64,
    /// Number of bytes that the file takes on disk.
    pub allocated: u64,
    /// Time of the inspection in nanoseconds since the epoch. If the times of the file are so
    /// recent that another change could leave them the same, the next scan reads the file again.
    pub inspected_ns: i64,
}

impl Writer {
    /// Forgets files that are gone, and directories that become empty as a result. The next scan of each root examines
    /// everything.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be written. It is then unchanged.
    pub fn forget(&self, loaded: &Loaded, gone: &[FileId]) -> Result<(), Error> {
        self.catalog.in_transaction(|| {
            self.remove(loaded, gone)?;
            if !gone.is_empty() {
                self.catalog.forget_positions()?;
            }
            let contents = gone.iter().filter_map(|&file| loaded.content_row(file));
            self.count(loaded, contents.collect::<HashSet<_>>().into_iter())
        })
    }

    /// Records changes that lop made to files. The contents of the files stay the same, but their
    /// inodes and times change.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be written. It is then unchanged.
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
                   head = CASE WHEN ?6 THEN head END, allocated = ?7 \
                   WHERE dir = ?1 AND name = ?2";
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
                    let size = loaded.tree.file(file).size;
                    let allocated = allocated_column(size, now.allocated);
                    let (mtime_ns, ctime_ns) = (now.mtime_ns, now.ctime_ns);
                    let values = params![dir, name, inode, mtime_ns, ctime_ns, settled, allocated];
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

    /// Recounts the inodes of the given contents and stores the numbers that changed.
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
