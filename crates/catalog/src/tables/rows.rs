//! Reads rows of the table `file`, and the contents that they refer to.

use std::collections::HashMap;
use std::num::NonZeroU64;

use content::{ContentId, Digest, Fingerprints, Head};
use rusqlite::{CachedStatement, Row};

use crate::error::{At, Error};
use crate::open::Catalog;
use crate::state::FileState;

/// A row of `file`, without its directory and name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileRow {
    /// The file system, as a row of `volume`.
    pub volume: i64,
    /// Inode number.
    pub inode: u64,
    /// Length in bytes.
    pub size: u64,
    /// Modification time in nanoseconds since the epoch.
    pub mtime_ns: i64,
    /// Change time in nanoseconds since the epoch.
    pub ctime_ns: i64,
    /// The head, if it was read.
    pub head: Option<Head>,
    /// Number of bytes on disk.
    pub allocated: u64,
    /// The row in `content`.
    pub content: Option<i64>,
    /// If the state is not [`FileState::Known`], head and content have their last known values.
    pub state: FileState,
}

impl FileRow {
    /// The columns in the order in which [`FileRow::read`] expects them.
    pub(crate) const COLUMNS: &str =
        "name, volume, inode, size, mtime_ns, ctime_ns, head, content, state, allocated";

    /// The index of the first column after [`FileRow::COLUMNS`].
    pub(crate) const AFTER_COLUMNS: usize = 10;

    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<FileRow> {
        let bits = |n| row.get::<_, i64>(n).map(i64::cast_unsigned);
        let (size, head): (u64, Option<i64>) = (bits(3)?, row.get(6)?);
        Ok(FileRow {
            volume: row.get(1)?,
            inode: bits(2)?,
            size,
            mtime_ns: row.get(4)?,
            ctime_ns: row.get(5)?,
            allocated: allocated(size, row.get(9)?),
            head: head.and_then(|h| NonZeroU64::new(h.cast_unsigned())).map(Head),
            content: row.get(CONTENT)?,
            state: FileState::of(row.get(8)?),
        })
    }

    /// Returns whether both rows are the same version of one inode.
    pub(crate) fn same_version(&self, other: &FileRow) -> bool {
        let key = |f: &FileRow| (f.volume, f.inode, f.size, f.mtime_ns, f.ctime_ns);
        key(self) == key(other)
    }
}

impl Catalog {
    pub(crate) fn files_in_statement(&self) -> Result<CachedStatement<'_>, Error> {
        let sql = format!("SELECT {} FROM file WHERE dir = ?1 ORDER BY name", FileRow::COLUMNS);
        self.db.prepare_cached(&sql).at(&self.path)
    }

    /// Calls `each` for every file in directory `dir`, sorted by name.
    pub(crate) fn each_file_in(
        &self,
        statement: &mut CachedStatement<'_>,
        dir: i64,
        each: impl FnMut(&[u8], FileRow),
    ) -> Result<(), Error> {
        self.each_file_with(statement, dir, |_| true, each)
    }

    /// Calls `each` for the files in directory `dir` whose `content` column is wanted, sorted by
    /// name. For all other files, reads only this column, which takes a quarter of the time.
    pub(crate) fn each_file_with(
        &self,
        statement: &mut CachedStatement<'_>,
        dir: i64,
        mut is_wanted: impl FnMut(Option<i64>) -> bool,
        mut each: impl FnMut(&[u8], FileRow),
    ) -> Result<(), Error> {
        let mut rows = statement.query([dir]).at(&self.path)?;
        while let Some(row) = rows.next().at(&self.path)? {
            if is_wanted(row.get(CONTENT).at(&self.path)?) {
                let file = FileRow::read(row).at(&self.path)?;
                each(name(row, 0).at(&self.path)?, file);
            }
        }
        Ok(())
    }
}

/// Returns the number of bytes that a file takes on disk, given its size and the value of the column
/// `allocated`.
pub(crate) fn allocated(size: u64, column: Option<i64>) -> u64 {
    column.map_or_else(|| walk::usual_allocation(size), i64::cast_unsigned)
}

/// Returns the value of the column `allocated` for a file: NULL if the disk space is the usual one.
pub(crate) fn allocated_column(size: u64, allocated: u64) -> Option<i64> {
    (allocated != walk::usual_allocation(size)).then(|| allocated.cast_signed())
}

/// The index of the column `content` in [`FileRow::COLUMNS`].
const CONTENT: usize = 7;

/// Returns the name in a column.
///
/// # Errors
///
/// Fails if the name is not valid for a directory entry. A forged or damaged catalog must not be
/// able to refer to files outside its directories.
pub(crate) fn name<'r>(row: &'r Row<'_>, column: usize) -> rusqlite::Result<&'r [u8]> {
    let value = row.get_ref(column)?;
    let name = value.as_blob().unwrap_or_default();
    // `contains` on byte slices compares many bytes at a time.
    if matches!(name, b"" | b"." | b"..") || name.contains(&0) || name.contains(&b'/') {
        let error = "not the name of a directory entry".into();
        return Err(rusqlite::Error::FromSqlConversionFailure(column, value.data_type(), error));
    }
    Ok(name)
}

/// If the next wanted directory is more than this many rows away, it is looked up by index. A
/// lookup costs about as much as skipping this many rows.
const MAX_SKIPPED_ROWS: u32 = 16;

impl Catalog {
    /// Calls `each` for every file of the directories `dirs`, sorted by directory and name. `dirs`
    /// must be in ascending order.
    ///
    /// Adjacent wanted directories are read with a single run of the statement. Restarting the
    /// statement for every directory would make matching a tree a third slower.
    pub(crate) fn each_file_of(
        &self,
        dirs: impl Iterator<Item = i64>,
        mut each: impl FnMut(i64, &[u8], FileRow),
    ) -> Result<(), Error> {
        let columns = FileRow::COLUMNS;
        let sql = format!("SELECT {columns}, dir FROM file WHERE dir >= ?1 ORDER BY dir, name");
        let mut statement = self.db.prepare(&sql).at(&self.path)?;
        let mut wanted = dirs.peekable();
        while let Some(&start) = wanted.peek() {
            let mut rows = statement.query([start]).at(&self.path)?;
            let mut passed = 0;
            while passed < MAX_SKIPPED_ROWS {
                let Some(row) = rows.next().at(&self.path)? else { return Ok(()) };
                let dir: i64 = row.get(FileRow::AFTER_COLUMNS).at(&self.path)?;
                while wanted.next_if(|&next| next < dir).is_some() {}
                match wanted.peek() {
                    None => return Ok(()),
                    Some(&next) if next == dir => {
                        passed = 0;
                        let file = FileRow::read(row).at(&self.path)?;
                        each(dir, name(row, 0).at(&self.path)?, file);
                    }
                    Some(_) => passed += 1,
                }
            }
        }
        Ok(())
    }
}

/// A row of `content`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ContentRow {
    pub(crate) digest: Option<Digest>,
    pub(crate) inodes: u32,
    pub(crate) reclaimable: u64,
}

/// The contents of the catalog, and their numbers in [`Fingerprints`].
#[derive(Debug, Default)]
pub(crate) struct Contents {
    rows: HashMap<i64, ContentRow>,
    ids: HashMap<i64, ContentId>,
    /// The row in `content` of each numbered content, by [`ContentId::index`].
    pub(crate) row_of: Vec<i64>,
}

impl Contents {
    pub(crate) fn load(catalog: &Catalog) -> Result<Contents, Error> {
        let sql = "SELECT id, digest, inodes, reclaimable FROM content";
        let mut query = catalog.db.prepare(sql).at(&catalog.path)?;
        let rows = query
            .query_map([], |row| {
                let digest: Option<[u8; 32]> = row.get(1)?;
                let reclaimable: i64 = row.get(3)?;
                let content = ContentRow {
                    digest: digest.map(Digest),
                    inodes: row.get(2)?,
                    reclaimable: reclaimable.cast_unsigned(),
                };
                Ok((row.get(0)?, content))
            })
            .and_then(Iterator::collect)
            .at(&catalog.path)?;
        Ok(Contents { rows, ..Contents::default() })
    }

    /// Adds contents that have been stored.
    pub(crate) fn extend(&mut self, contents: Vec<(i64, ContentRow)>) {
        self.rows.extend(contents);
    }

    /// Returns all contents in any order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (i64, &ContentRow)> {
        self.rows.iter().map(|(&id, row)| (id, row))
    }

    pub(crate) fn row(&self, id: i64) -> Option<&ContentRow> {
        self.rows.get(&id)
    }

    /// Adds what is remembered about a file to `fingerprints`.
    ///
    /// Adds nothing if the file was found damaged or unreadable, or if the row has no head because
    /// the file's times were too recent to reveal another change.
    pub(crate) fn attach(&mut self, fingerprints: &Fingerprints, file: u32, row: &FileRow) {
        let Some(head) = row.head.filter(|_| !row.state.is_bad()) else { return };
        fingerprints.set_head(file, head);
        if let Some(content) = row.content.filter(|_| row.state == FileState::Known) {
            fingerprints.set_content(file, self.id(fingerprints, content));
        }
    }

    /// Returns the number of a content in `fingerprints`. Assigns one if needed.
    pub(crate) fn id(&mut self, fingerprints: &Fingerprints, row: i64) -> ContentId {
        let digest = self.rows.get(&row).and_then(|content| content.digest);
        let row_of = &mut self.row_of;
        *self.ids.entry(row).or_insert_with(|| {
            row_of.push(row);
            fingerprints.new_content(digest)
        })
    }
}
