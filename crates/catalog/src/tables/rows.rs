//! Reads rows of the table `file`.

use std::num::NonZeroU64;
use std::sync::mpsc::SyncSender;

use content::Head;
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

/// Number of rows per batch; large enough to make the cost of messages negligible.
pub(crate) const ROWS_PER_BATCH: usize = 2048;

/// Rows of `file` that one thread reads and another one processes.
#[derive(Debug, Default)]
pub(crate) struct RowBatch {
    names: Vec<u8>,
    /// The directory of each row, the end of its name in `names`, and its other columns.
    rows: Vec<(i64, usize, FileRow)>,
    /// True for the last batch of a run of directories.
    pub(crate) ends_run: bool,
}

impl RowBatch {
    pub(crate) fn push(&mut self, dir: i64, name: &[u8], row: FileRow) {
        self.names.extend_from_slice(name);
        self.rows.push((dir, self.names.len(), row));
    }

    /// Returns the directory, the name and the other columns of each row.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (i64, &[u8], FileRow)> {
        let mut start = 0;
        self.rows.iter().map(move |&(dir, end, row)| {
            let name = &self.names[start..end];
            start = end;
            (dir, name, row)
        })
    }
}

/// If the next wanted directory is more than this many rows away, it is looked up by index. A
/// lookup costs about as much as skipping this many rows.
const MAX_SKIPPED_ROWS: u32 = 16;

impl Catalog {
    /// Calls `each` for every file of the directories `dirs`, sorted by directory and name. `dirs`
    /// must be in ascending order and may contain duplicates.
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
        let mut statement = self.db.prepare_cached(&sql).at(&self.path)?;
        let mut wanted = dirs.peekable();
        while let Some(&start) = wanted.peek() {
            let mut rows = statement.query([start]).at(&self.path)?;
            let mut passed = 0;
            while passed < MAX_SKIPPED_ROWS {
                let Some(row) = rows.next().at(&self.path)? else { return Ok(()) };
                let dir: i64 = row.get(FileRow::AFTER_COLUMNS).at(&self.path)?;
                if dir < start {
                    // The index is damaged: the rows are out of order. Going on could loop forever.
                    return Err(Error::Damaged { path: self.path.clone(), source: None });
                }
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

    /// Reads each run of directories with [`Catalog::each_file_of`], and sends the rows in batches.
    /// The directories of a run must be in ascending order. If the receiver is gone, stops at the
    /// end of the current run.
    pub(crate) fn send_files_of(
        &self,
        runs: impl Iterator<Item = impl Iterator<Item = i64>>,
        to: &SyncSender<RowBatch>,
    ) -> Result<(), Error> {
        for run in runs {
            let mut batch = RowBatch::default();
            self.each_file_of(run, |dir, name, row| {
                batch.push(dir, name, row);
                if batch.rows.len() == ROWS_PER_BATCH {
                    // If the receiver is gone, the loop ends after this run.
                    drop(to.send(std::mem::take(&mut batch)));
                }
            })?;
            batch.ends_run = true;
            if to.send(batch).is_err() {
                break;
            }
        }
        Ok(())
    }
}
