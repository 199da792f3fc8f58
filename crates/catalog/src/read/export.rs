//! Reads every row of the catalog, for an export.
//!
//! Read all tables through one connection of [`Catalog::snapshots`], so that they belong to the same
//! state of the catalog.

use crate::error::{At, Error};
use crate::open::Catalog;
use crate::tables::rows::{FileRow, name};
use content::Digest;
use fsops::Volume;

/// A row of `content`, with its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredContent {
    /// Its number.
    pub id: i64,
    /// Length in bytes of each file with this content.
    pub size: u64,
    /// The digest, if it was computed.
    pub digest: Option<Digest>,
    /// Number of inodes with this content.
    pub inodes: u32,
    /// Number of bytes that keeping only one of the inodes would free.
    pub reclaimable: u64,
}

/// A row of `volume`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredVolume {
    /// Its number.
    pub id: i64,
    /// The identity of the file system.
    pub volume: Volume,
    /// Its device number when lop last saw it.
    pub device: u64,
}

/// A row of `scan`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredScan {
    /// Its number. A later scan has a greater number.
    pub id: i64,
    /// Start in milliseconds since the epoch.
    pub started_ms: i64,
    /// End in milliseconds since the epoch.
    pub finished_ms: i64,
    /// The options that determined which files were read.
    pub options: String,
    /// Number of regular files seen.
    pub files: u64,
    /// Total size of these files in bytes.
    pub bytes: u64,
    /// Number of entries that could not be examined.
    pub problems: u64,
    /// True if the scan was not interrupted.
    pub complete: bool,
}

/// An entry that could not be examined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredProblem {
    /// The scan that reported it.
    pub scan: i64,
    /// The absolute path of the entry.
    pub path: Vec<u8>,
    /// The reason.
    pub reason: String,
}

impl Catalog {
    /// Calls `each` with the id of the directory, the name and the row of every file, sorted by
    /// directory and name. Stops at the first error of `each`.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged, or with an error of `each`.
    pub fn each_file_row<E: From<Error>>(
        &self,
        mut each: impl FnMut(i64, &[u8], &FileRow) -> Result<(), E>,
    ) -> Result<(), E> {
        let sql = format!("SELECT {}, dir FROM file ORDER BY dir, name", FileRow::COLUMNS);
        let mut query = self.db.prepare(&sql).at(&self.path)?;
        let mut rows = query.query([]).at(&self.path)?;
        while let Some(row) = rows.next().at(&self.path)? {
            let file = FileRow::read(row).at(&self.path)?;
            let dir = row.get(FileRow::AFTER_COLUMNS).at(&self.path)?;
            each(dir, name(row, 0).at(&self.path)?, &file)?;
        }
        Ok(())
    }

    /// Calls `each` with every content, in ascending order of numbers.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn each_content_row(&self, mut each: impl FnMut(StoredContent)) -> Result<(), Error> {
        let sql = "SELECT id, size, digest, inodes, reclaimable FROM content ORDER BY id";
        let mut query = self.db.prepare(sql).at(&self.path)?;
        let contents = query.query_map([], |row| {
            let bits = |n| row.get::<_, i64>(n).map(i64::cast_unsigned);
            Ok(StoredContent {
                id: row.get(0)?,
                size: bits(1)?,
                digest: row.get::<_, Option<[u8; 32]>>(2)?.map(Digest),
                inodes: row.get(3)?,
                reclaimable: bits(4)?,
            })
        });
        for content in contents.at(&self.path)? {
            each(content.at(&self.path)?);
        }
        Ok(())
    }

    /// Returns the file systems, sorted by number.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn volume_rows(&self) -> Result<Vec<StoredVolume>, Error> {
        let sql = "SELECT id, magic, fsid, device FROM volume ORDER BY id";
        let mut query = self.db.prepare(sql).at(&self.path)?;
        let volumes = query.query_map([], |row| {
            let bits = |n| row.get::<_, i64>(n).map(i64::cast_unsigned);
            let volume = Volume { magic: bits(1)?, fsid: bits(2)? };
            Ok(StoredVolume { id: row.get(0)?, volume, device: bits(3)? })
        });
        volumes.and_then(Iterator::collect).at(&self.path)
    }

    /// Returns the scans that are the last ones of a root, sorted by number.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn last_scan_rows(&self) -> Result<Vec<StoredScan>, Error> {
        let sql = "SELECT id, started_ms, finished_ms, options, files, bytes, problems, complete \
                   FROM scan WHERE id IN (SELECT scan FROM root UNION SELECT scan FROM problem) \
                   ORDER BY id";
        let mut query = self.db.prepare(sql).at(&self.path)?;
        let scans = query.query_map([], |row| {
            let bits = |n| row.get::<_, i64>(n).map(i64::cast_unsigned);
            Ok(StoredScan {
                id: row.get(0)?,
                started_ms: row.get(1)?,
                finished_ms: row.get(2)?,
                options: row.get(3)?,
                files: bits(4)?,
                bytes: bits(5)?,
                problems: bits(6)?,
                complete: row.get(7)?,
            })
        });
        scans.and_then(Iterator::collect).at(&self.path)
    }

    /// Returns the path of each scanned root and the number of its last scan, sorted by path.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn root_rows(&self) -> Result<Vec<(Vec<u8>, i64)>, Error> {
        let mut query =
            self.db.prepare("SELECT path, scan FROM root ORDER BY path").at(&self.path)?;
        let roots = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        roots.and_then(Iterator::collect).at(&self.path)
    }

    /// Calls `each` with every entry that the last scan of a root could not examine, sorted by scan
    /// and path.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged, or with an error of `each`.
    pub fn each_problem_row<E: From<Error>>(
        &self,
        mut each: impl FnMut(StoredProblem) -> Result<(), E>,
    ) -> Result<(), E> {
        let sql = "SELECT scan, path, reason FROM problem ORDER BY scan, path";
        let mut query = self.db.prepare(sql).at(&self.path)?;
        let problems = query.query_map([], |row| {
            Ok(StoredProblem { scan: row.get(0)?, path: row.get(1)?, reason: row.get(2)? })
        });
        for problem in problems.at(&self.path)? {
            each(problem.at(&self.path)?)?;
        }
        Ok(())
    }
}
