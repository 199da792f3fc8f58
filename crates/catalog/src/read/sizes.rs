//! Finds the sizes of directories that earlier scans stored.

use rusqlite::{OptionalExtension, params};

use crate::error::{At, Error};
use crate::open::Catalog;

/// A scan that stored the sizes of the directories below a root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SizedScan {
    /// The row of the scan.
    pub scan: i64,
    /// End of the scan in milliseconds since the epoch.
    pub finished_ms: i64,
}

impl Catalog {
    /// Returns the scans that stored sizes for the root at an absolute path, newest first. A scan
    /// that found the same as the one before it stored none.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read.
    pub fn scan_sizes(&self, root: &[u8]) -> Result<Vec<SizedScan>, Error> {
        let sql = "SELECT scan.id, finished_ms FROM scan_space JOIN scan ON scan.id = scan_space.scan \
                   WHERE root = ?1 ORDER BY scan.id DESC";
        let mut query = self.db.prepare(sql).at(&self.path)?;
        let scan =
            |row: &rusqlite::Row<'_>| Ok(SizedScan { scan: row.get(0)?, finished_ms: row.get(1)? });
        query.query_map([root], scan).and_then(Iterator::collect).at(&self.path)
    }

    /// Returns the sizes that a scan stored for the root at an absolute path.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read.
    pub fn scan_size_data(&self, scan: i64, root: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let sql = "SELECT data FROM scan_space WHERE scan = ?1 AND root = ?2";
        let data = self.db.query_row(sql, params![scan, root], |row| row.get(0)).optional();
        data.at(&self.path)
    }
}
