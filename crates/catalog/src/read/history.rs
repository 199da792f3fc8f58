//! Lists the earlier scans of each root whose directory sizes are recorded, and the file systems of
//! remembered files.

use fsops::Volume;
use rusqlite::{OptionalExtension, params};

use crate::error::{At, Error};
use crate::open::Catalog;

/// A scan of a root with recorded directory sizes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedScan {
    /// The absolute path of the root.
    pub root: Vec<u8>,
    /// The number of the scan.
    pub scan: i64,
    /// End of the scan in milliseconds since the epoch.
    pub finished_ms: i64,
}

impl Catalog {
    /// Returns the recorded scans of all scanned roots: sorted by root, newest first. Leaves out
    /// scans whose options differ from those of the last scan of the root, because they selected
    /// other files.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn recorded_scans(&self) -> Result<Vec<RecordedScan>, Error> {
        let sql = "SELECT root.path, scan.id, scan.finished_ms FROM root \
                   JOIN scan AS last ON last.id = root.scan \
                   JOIN scan_space ON scan_space.root = root.path \
                   JOIN scan ON scan.id = scan_space.scan AND scan.options = last.options \
                   ORDER BY root.path, scan.id DESC";
        let mut query = self.db.prepare(sql).at(&self.path)?;
        let scans = query.query_map([], |row| {
            Ok(RecordedScan { root: row.get(0)?, scan: row.get(1)?, finished_ms: row.get(2)? })
        });
        scans.and_then(Iterator::collect).at(&self.path)
    }

    /// Returns what the crate `space` recorded about a scan of a root.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read.
    pub fn recorded_sizes(&self, scan: &RecordedScan) -> Result<Option<Vec<u8>>, Error> {
        let sql = "SELECT data FROM scan_space WHERE scan = ?1 AND root = ?2";
        let data = self.db.query_row(sql, params![scan.scan, scan.root], |row| row.get(0));
        data.optional().at(&self.path)
    }

    /// Returns the number and the identity of each file system with remembered files, as in
    /// [`crate::SpaceRow`].
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn volumes(&self) -> Result<Vec<(i64, Volume)>, Error> {
        let mut query = self.db.prepare("SELECT id, magic, fsid FROM volume").at(&self.path)?;
        let volumes = query.query_map([], |row| {
            let bits = |n| row.get::<_, i64>(n).map(i64::cast_unsigned);
            Ok((row.get(0)?, Volume { magic: bits(1)?, fsid: bits(2)? }))
        });
        volumes.and_then(Iterator::collect).at(&self.path)
    }
}
