//! Reads the last scan of watched roots, and the entries that the next scan examines even if they have not changed.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use rusqlite::{Row, params};
use thiserror::Error;

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
    /// Start of the scan, in milliseconds since the epoch.
    pub started_ms: i64,
    /// Number of files below the roots. A file with several names counts once.
    pub files: u64,
    /// Total size of these files in bytes.
    pub bytes: u64,
}

/// The reason why a scan cannot build on the last scan of a root.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UnusableScan {
    /// The root was never scanned, or only as a part of another root.
    #[error("{} was not scanned before", shown(.0))]
    New(Vec<u8>),
    /// The last scan had other options.
    #[error("the last scan of {} had other options", shown(.0))]
    OtherOptions(Vec<u8>),
    /// The last scan covered other roots, too, or not all of the roots.
    #[error("the last scan did not cover exactly the same directories")]
    OtherRoots,
    /// The last scan was interrupted.
    #[error("the last scan of {} was interrupted", shown(.0))]
    Incomplete(Vec<u8>),
    /// No watcher ran during the last scan, or lop has forgotten files since then.
    #[error("the changes in {} since its last scan are not known", shown(.0))]
    NotWatched(Vec<u8>),
}

fn shown(path: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(path)
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

/// Returns the last scan of a root and its row, from a row of the query in [`Catalog::watched_scan`].
fn last_scan(
    row: &Row<'_>,
    root: &[u8],
) -> rusqlite::Result<Result<(i64, WatchedScan), UnusableScan>> {
    let (is_complete, is_same): (bool, bool) = (row.get(1)?, row.get(2)?);
    if !is_same {
        return Ok(Err(UnusableScan::OtherOptions(root.to_vec())));
    }
    if !is_complete {
        return Ok(Err(UnusableScan::Incomplete(root.to_vec())));
    }
    let watcher: Option<Vec<u8>> = row.get(4)?;
    let watcher: Option<[u8; 16]> = watcher.and_then(|watcher| watcher.try_into().ok());
    let Some((watcher, number)) = watcher.zip(row.get::<_, Option<i64>>(3)?) else {
        return Ok(Err(UnusableScan::NotWatched(root.to_vec())));
    };
    let bits = |n| row.get::<_, i64>(n).map(i64::cast_unsigned);
    let position = WatchPosition { watcher, number: number.cast_unsigned() };
    let (files, bytes, started_ms) = (bits(5)?, bits(6)?, row.get(7)?);
    Ok(Ok((row.get(0)?, WatchedScan { position, started_ms, files, bytes })))
}

/// Returns whether a path is below another one.
fn is_below(path: &[u8], top: &[u8]) -> bool {
    let (from, to) = range_below(top);
    (from.as_slice()..to.as_slice()).contains(&path)
}

/// Returns the query of [`Catalog::count_below`] for directories with these rows.
fn count_sql(dirs: &str) -> String {
    // A sum of integers could exceed 64 bits in a damaged catalog. With the plus sign, SQLite cannot use the index by
    // size, through which it would look up every row of the catalog separately.
    format!(
        "WITH RECURSIVE below (id) AS (SELECT id FROM dir WHERE id IN ({dirs}) \
         UNION SELECT dir.id FROM dir JOIN below ON dir.parent = below.id) \
         SELECT count(*), CAST(total(size) AS INTEGER) FROM \
         (SELECT DISTINCT volume, inode, size FROM file JOIN below ON file.dir = below.id \
         WHERE +size BETWEEN ?1 AND ?2)"
    )
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
    ) -> Result<Result<WatchedScan, UnusableScan>, Error> {
        let sql = "SELECT root.scan, complete, options = ?2, position, watcher, files, bytes, \
                   started_ms FROM root JOIN scan ON scan.id = root.scan WHERE path = ?1";
        let mut query = self.db.prepare(sql).at(&self.path)?;
        let mut last: Option<(i64, WatchedScan)> = None;
        for root in roots {
            let mut rows = query.query(params![root, options]).at(&self.path)?;
            let Some(row) = rows.next().at(&self.path)? else {
                return Ok(Err(UnusableScan::New(root.to_vec())));
            };
            let found = match last_scan(row, root).at(&self.path)? {
                Ok(found) => found,
                Err(unusable) => return Ok(Err(unusable)),
            };
            if *last.get_or_insert(found) != found {
                return Ok(Err(UnusableScan::OtherRoots));
            }
        }
        let Some((scan, found)) = last else { return Ok(Err(UnusableScan::OtherRoots)) };
        let sql = "SELECT count(*) FROM root WHERE scan = ?1";
        let covered: i64 = self.db.query_row(sql, [scan], |row| row.get(0)).at(&self.path)?;
        let is_whole = usize::try_from(covered) == Ok(roots.len());
        Ok(if is_whole { Ok(found) } else { Err(UnusableScan::OtherRoots) })
    }

    /// Returns the number of the remembered files below some directories, and their total size in bytes. Counts only
    /// files whose size is in `sizes`. A file with several names counts once. Reads all rows below the directories.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn count_below(
        &self,
        dirs: &[&[u8]],
        sizes: &RangeInclusive<u64>,
    ) -> Result<(u64, u64), Error> {
        let mut rows = Vec::new();
        for dir in dirs {
            rows.extend(self.dir_row(dir)?.map(|row| row.to_string()));
        }
        let sql = count_sql(&rows.join(", "));
        let limit = |size: u64| i64::try_from(size).unwrap_or(i64::MAX);
        let values = params![limit(*sizes.start()), limit(*sizes.end())];
        let counted = self.db.query_row(&sql, values, |row| {
            Ok((row.get::<_, i64>(0)?.cast_unsigned(), row.get::<_, i64>(1)?.cast_unsigned()))
        });
        counted.at(&self.path)
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
        paths.retain(|path| roots.iter().any(|root| path == root || is_below(path, root)));
        Ok(Some(paths))
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::{Connection, params};

    use super::count_sql;
    use crate::schema::{CHANGES_INDEXES, CURRENT, INDEXES};

    #[test]
    fn files_are_counted_without_the_index_by_size() {
        let db = Connection::open_in_memory().expect("a database");
        for step in [CURRENT, INDEXES, CHANGES_INDEXES] {
            db.execute_batch(step).expect("is made");
        }
        let sql = format!("EXPLAIN QUERY PLAN {}", count_sql("1, 2"));
        let mut query = db.prepare(&sql).expect("a question");
        let steps = query.query_map(params![0, i64::MAX], |row| row.get(3)).expect("a plan");
        let steps: Vec<String> = steps.collect::<Result<_, _>>().expect("text");
        let files: Vec<_> = steps.iter().filter(|step| step.contains("file")).collect();
        assert_eq!(files, ["SEARCH file USING PRIMARY KEY (dir=?)"], "{steps:?}");
    }
}
