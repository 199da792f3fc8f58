//! Lists the scans of each root that stored sizes and can be compared, and the file systems of
//! remembered files.

use fsops::Volume;

use crate::error::{At, Error};
use crate::open::Catalog;
use crate::read::sizes::SizedScan;

/// The scans of a root that stored the sizes of its directories.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// The absolute path of the root.
    pub root: Vec<u8>,
    /// End of the last scan of the root, in milliseconds since the epoch. If this scan found the
    /// same sizes as the one before, it stored none.
    pub last_ms: i64,
    /// The scans, newest first.
    pub scans: Vec<SizedScan>,
}

/// The last scan of a root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastScan {
    /// The absolute path of the root.
    pub root: Vec<u8>,
    /// End of the scan, in milliseconds since the epoch.
    pub finished_ms: i64,
    /// False if the scan was interrupted before it had compared all files.
    pub is_complete: bool,
}

impl Catalog {
    /// Returns the last scan of each root, newest first. Does not read the files.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn last_scans(&self) -> Result<Vec<LastScan>, Error> {
        let sql = "SELECT path, finished_ms, complete FROM root JOIN scan ON scan.id = root.scan \
                   ORDER BY finished_ms DESC, path";
        let mut query = self.db.prepare(sql).at(&self.path)?;
        let scans = query.query_map([], |row| {
            let (root, finished_ms) = (row.get(0)?, row.get(1)?);
            Ok(LastScan { root, finished_ms, is_complete: row.get(2)? })
        });
        scans.and_then(Iterator::collect).at(&self.path)
    }

    /// Returns the history of each scanned root, sorted by root. Leaves out scans whose options
    /// differ from those of the last scan of the root, because they selected other files.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn histories(&self) -> Result<Vec<History>, Error> {
        let sql = "SELECT root.path, last.finished_ms, scan.id, scan.finished_ms FROM root \
                   JOIN scan AS last ON last.id = root.scan \
                   JOIN scan_space ON scan_space.root = root.path \
                   JOIN scan ON scan.id = scan_space.scan AND scan.options = last.options \
                   ORDER BY root.path, scan.id DESC";
        let mut query = self.db.prepare(sql).at(&self.path)?;
        let mut rows = query.query([]).at(&self.path)?;
        let mut histories: Vec<History> = Vec::new();
        while let Some(row) = rows.next().at(&self.path)? {
            let (root, last_ms, scan, finished_ms) =
                (|| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))().at(&self.path)?;
            let scan = SizedScan { scan, finished_ms };
            match histories.last_mut() {
                Some(last) if last.root == root => last.scans.push(scan),
                _ => histories.push(History { root, last_ms, scans: vec![scan] }),
            }
        }
        Ok(histories)
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
