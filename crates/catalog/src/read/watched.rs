//! Reads the last scan of watched roots, and the entries that the next scan examines even if they have not changed.

use rusqlite::params;

use crate::error::{At, Error};
use crate::open::Catalog;
use crate::tables::dirs::range_below;

/// A position in the sequence of changes that a watcher (`lop watch`) notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchPosition {
    /// Identifies the watcher. Positions of different watchers cannot be compared.
    pub watcher: [u8; 16],
    /// The number of changes that the watcher had noted.
    pub number: u64,
}

/// The last scan of some roots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WatchedScan {
    /// The position of the watcher when the scan started. The scan covers all changes up to this position.
    pub position: WatchPosition,
    /// Number of regular files that the scan saw.
    pub files: u64,
    /// Total size of these files in bytes.
    pub bytes: u64,
}

/// A root, and the position and the options of its last scan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WatchedRoot {
    /// The absolute path.
    pub path: Vec<u8>,
    /// The position of the watcher when the last scan started. `None` if no watcher ran, or if the scan was
    /// interrupted.
    pub position: Option<WatchPosition>,
    /// The options of the last scan, as in [`ScannedRoot`](crate::ScannedRoot).
    pub options: String,
}

/// Maximum number of entries that a scan of changes examines although they have not changed.
const MAX_UNSETTLED: usize = 10_000;

impl Catalog {
    /// Returns the last scan of `roots` if the next scan with these options may examine only the changes since then.
    /// For this, a watcher must have run during the last scan. The last scan must have covered exactly these roots with
    /// the same options, and it must be complete.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn watched_scan(
        &self,
        roots: &[&[u8]],
        options: &str,
    ) -> Result<Option<WatchedScan>, Error> {
        let sql = "SELECT root.scan, watcher, position, files, bytes FROM root \
                   JOIN scan ON scan.id = root.scan \
                   WHERE path = ?1 AND complete AND options = ?2 AND length(watcher) = 16 \
                   AND position NOT NULL";
        let mut query = self.db.prepare(sql).at(&self.path)?;
        let mut last: Option<(i64, WatchedScan)> = None;
        for root in roots {
            let mut rows = query.query(params![root, options]).at(&self.path)?;
            let Some(row) = rows.next().at(&self.path)? else { return Ok(None) };
            let bits = |n| row.get::<_, i64>(n).map(i64::cast_unsigned);
            let found = (|| {
                let position = WatchPosition { watcher: row.get(1)?, number: bits(2)? };
                Ok((row.get(0)?, WatchedScan { position, files: bits(3)?, bytes: bits(4)? }))
            })()
            .at(&self.path)?;
            if *last.get_or_insert(found) != found {
                return Ok(None);
            }
        }
        let Some((scan, found)) = last else { return Ok(None) };
        let sql = "SELECT count(*) FROM root WHERE scan = ?1";
        let covered: i64 = self.db.query_row(sql, [scan], |row| row.get(0)).at(&self.path)?;
        Ok((usize::try_from(covered) == Ok(roots.len())).then_some(found))
    }

    /// Returns all roots, sorted by path, with the positions and the options of their last scans.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn watched_roots(&self) -> Result<Vec<WatchedRoot>, Error> {
        let sql = "SELECT path, CASE WHEN complete AND length(watcher) = 16 THEN watcher END, \
                   position, options FROM root JOIN scan ON scan.id = root.scan ORDER BY path";
        let mut query = self.db.prepare(sql).at(&self.path)?;
        let roots = query.query_map([], |row| {
            let position = row.get::<_, Option<[u8; 16]>>(1)?.zip(row.get::<_, Option<i64>>(2)?);
            let position = position
                .map(|(watcher, number)| WatchPosition { watcher, number: number.cast_unsigned() });
            Ok(WatchedRoot { path: row.get(0)?, position, options: row.get(3)? })
        });
        roots.and_then(Iterator::collect).at(&self.path)
    }

    /// Returns the absolute paths of the remembered files with the given device and inode numbers.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn paths_of_inodes(&self, inodes: &[(u64, u64)]) -> Result<Vec<Vec<u8>>, Error> {
        let sql = "SELECT dir, name FROM file WHERE inode = ?2 \
                   AND volume IN (SELECT id FROM volume WHERE device = ?1)";
        let mut query = self.db.prepare(sql).at(&self.path)?;
        let mut paths = Vec::new();
        for (device, inode) in inodes {
            let values = params![device.cast_signed(), inode.cast_signed()];
            let rows = query.query_map(values, |row| Ok((row.get(0)?, row.get::<_, Vec<u8>>(1)?)));
            for row in rows.at(&self.path)? {
                let (dir, name) = row.at(&self.path)?;
                paths.push(self.path_in(dir, &name)?);
            }
        }
        Ok(paths)
    }

    /// Returns the absolute paths below `roots` that a full scan would examine again even if nothing has changed:
    /// entries that could not be examined, files that were found damaged or unreadable, files that have not been
    /// compared, and files that changed shortly before they were scanned. Returns `None` if there are too many.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged, or if it lacks the indexes that
    /// [`crate::Writer::index_for_changes`] creates.
    pub fn unsettled(&self, roots: &[&[u8]]) -> Result<Option<Vec<Vec<u8>>>, Error> {
        let mut paths = Vec::new();
        let mut query = self.db.prepare("SELECT path FROM problem").at(&self.path)?;
        for path in query.query_map([], |row| row.get(0)).at(&self.path)?.take(MAX_UNSETTLED + 1) {
            paths.push(path.at(&self.path)?);
        }
        let sql = "SELECT dir, name FROM file WHERE state <> 0 UNION ALL \
                   SELECT dir, name FROM file INDEXED BY file_unsettled \
                   WHERE head IS NULL AND content IS NOT NULL";
        let mut query = self.db.prepare(sql).at(&self.path)?;
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get::<_, Vec<u8>>(1)?)));
        for row in rows.at(&self.path)?.take(MAX_UNSETTLED + 1) {
            let (dir, name) = row.at(&self.path)?;
            paths.push(self.path_in(dir, &name)?);
        }
        // The lists may be cut off, and an entry below the roots may be missing.
        if paths.len() > MAX_UNSETTLED {
            return Ok(None);
        }
        let is_below = |path: &Vec<u8>, root: &[u8]| {
            let (from, to) = range_below(root);
            path == root || (from..to).contains(path)
        };
        paths.retain(|path| roots.iter().any(|root| is_below(path, root)));
        Ok(Some(paths))
    }
}
