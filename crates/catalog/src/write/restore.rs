//! Fills a new catalog with the rows of an export.

use std::sync::mpsc::Receiver;

use rusqlite::params;

use crate::error::{At, Error};
use crate::open::{Catalog, Writer};
use crate::read::export::{StoredContent, StoredProblem, StoredScan, StoredVolume};
use crate::tables::insert::{Existing, NewFile, store_files};

/// A new catalog that is being filled. The rows of each table must be consistent with those of the
/// other tables, as [`Catalog`] returned them.
#[derive(Debug)]
pub struct Restorer<'a>(&'a Catalog);

impl Writer {
    /// Fills a new catalog with the rows that `fill` adds, and gives it its final name.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be written, if it is not new, or with an error of `fill`. There
    /// is then no catalog, or the one that was there before.
    pub fn restore<E: From<Error>>(
        mut self,
        fill: impl FnOnce(&Restorer<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if !self.is_new() {
            return Err(Error::Exists(self.catalog.path).into());
        }
        self.catalog.in_transaction(|| {
            fill(&Restorer(&self.catalog))?;
            self.create_indexes().map_err(E::from)
        })?;
        Ok(self.publish()?)
    }
}

impl Restorer<'_> {
    /// Adds a file system.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be written.
    pub fn volume(&self, row: &StoredVolume) -> Result<(), Error> {
        let bits = |n: u64| n.cast_signed();
        let StoredVolume { id, volume, device } = *row;
        self.insert(
            "INSERT INTO volume (id, magic, fsid, device) VALUES (?1, ?2, ?3, ?4)",
            params![id, bits(volume.magic), bits(volume.fsid), bits(device)],
        )
    }

    /// Adds a scan.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be written.
    pub fn scan(&self, row: &StoredScan) -> Result<(), Error> {
        self.insert(
            "INSERT INTO scan \
             (id, started_ms, finished_ms, options, files, bytes, problems, complete) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
            params![
                row.id,
                row.started_ms,
                row.finished_ms,
                row.options,
                row.files.cast_signed(),
                row.bytes.cast_signed(),
                row.problems.cast_signed(),
                row.complete
            ],
        )
    }

    /// Adds a scanned root and the number of its last scan.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be written.
    pub fn root(&self, path: &[u8], scan: i64) -> Result<(), Error> {
        self.insert("INSERT INTO root (path, scan) VALUES (?1, ?2)", params![path, scan])
    }

    /// Adds an entry that could not be examined.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be written.
    pub fn problem(&self, row: &StoredProblem) -> Result<(), Error> {
        self.insert(
            "INSERT INTO problem (scan, path, reason) VALUES (?1, ?2, ?3)",
            params![row.scan, row.path, row.reason],
        )
    }

    /// Adds a directory. The root directory, with the id 1, exists already.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be written, or if its parent has another directory of this name.
    pub fn dir(&self, id: i64, parent: i64, name: &[u8]) -> Result<(), Error> {
        self.insert(
            "INSERT INTO dir (id, parent, name) VALUES (?1, ?2, ?3)",
            params![id, parent, name],
        )
    }

    /// Adds a content.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be written.
    pub fn content(&self, row: &StoredContent) -> Result<(), Error> {
        self.insert(
            "INSERT INTO content (id, size, digest, inodes, reclaimable) \
             VALUES (?1, ?2, ?3, ?4, ?5)",
            params![
                row.id,
                row.size.cast_signed(),
                row.digest.map(|digest| digest.0),
                row.inodes,
                row.reclaimable.cast_signed()
            ],
        )
    }

    /// Adds batches of files until the sender closes `batches`. Adding files in the order of
    /// directories and names is fastest.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be written, or if a directory has two files of one name.
    pub fn files(&self, batches: Receiver<Vec<NewFile<'_>>>) -> Result<(), Error> {
        store_files(self.0, Existing::None, batches)
    }

    fn insert(&self, sql: &str, values: impl rusqlite::Params) -> Result<(), Error> {
        let mut insert = self.0.db.prepare_cached(sql).at(&self.0.path)?;
        insert.execute(values).at(&self.0.path)?;
        Ok(())
    }
}
