//! Reads all directories, files and contents quickly, for sums over the whole catalog.
//!
//! [`SpaceRow`] has only what sums need, and no names. An aggregate function in the query adds up the
//! files, because a function reads its arguments in a third of the time that reading the columns of a
//! result takes. Ranges of directories can be read in parallel, but each connection belongs to one
//! thread: [`Catalog::snapshots`] opens several connections that see the same state.

use std::ops::Range;
use std::panic::{RefUnwindSafe, UnwindSafe};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::params;
use rusqlite::types::Null;

use crate::error::{At, Error};
use crate::open::Catalog;
use crate::tables::rows::{allocated, name};

/// A row of `file` without its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpaceRow {
    /// The file system that contains the file, as a row of `volume`.
    pub volume: i64,
    /// Inode number.
    pub inode: u64,
    /// Length in bytes.
    pub size: u64,
    /// Number of bytes that the file takes on disk.
    pub allocated: u64,
    /// Modification time in nanoseconds since the epoch.
    pub mtime_ns: i64,
    /// The number of its content in the catalog. `None` if the file was not compared with other
    /// files, or if it does not count as a copy because it was found damaged or unreadable.
    pub content: Option<i64>,
}

impl Catalog {
    /// Opens the catalog again, for queries in another thread.
    ///
    /// If a process already has a connection to a catalog, it must use this method instead of
    /// [`Catalog::open`]. That function reads the header of the file first, and closing the file
    /// releases the locks of all other connections of the process.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read, or if it was replaced by one of another format.
    pub fn reopen(&self) -> Result<Catalog, Error> {
        self.reopener()()
    }

    /// Returns a function that does the same as [`Catalog::reopen`] when it is called, for a thread that must not wait
    /// for a commit itself.
    pub fn reopener(&self) -> impl Fn() -> Result<Catalog, Error> + Send + use<> {
        let path = self.path.clone();
        move || Catalog::connect(&path)?.with_known_format()
    }

    /// Opens `count` further connections to the catalog. All of them see the current state until
    /// they are dropped. Scans cannot commit before that, so drop them soon.
    ///
    /// Returns fewer connections, but at least one, if another thread of this process is waiting to
    /// commit.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read.
    pub fn snapshots(&self, count: usize) -> Result<Vec<Catalog>, Error> {
        let mut all = vec![self.reopen()?];
        all[0].begin_reading()?;
        // While the first connection reads, no process can commit, so the others see the same
        // state. A thread that waits to commit would wait for the first connection, and therefore
        // the others must not wait for that thread.
        while all.len() < count {
            let next = Catalog::connect(&self.path)?;
            next.wait_at_most(Duration::ZERO)?;
            match next.begin_reading() {
                Ok(()) => all.push(next),
                Err(error) if error.is_busy() => break,
                Err(error) => return Err(error),
            }
        }
        Ok(all)
    }

    /// Begins a transaction, and takes the lock that a transaction takes for its first query.
    fn begin_reading(&self) -> Result<(), Error> {
        self.run("BEGIN; SELECT 1 FROM sqlite_schema LIMIT 1")
    }

    /// Calls `each` with the id, the parent and the name of every directory except the root
    /// directory, in ascending order of ids. A parent precedes its children.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read, or if the parent of a directory does not precede it.
    pub fn each_dir_row(&self, mut each: impl FnMut(i64, i64, &[u8])) -> Result<(), Error> {
        let sql = "SELECT id, parent, name FROM dir WHERE parent IS NOT NULL ORDER BY id";
        let mut query = self.db.prepare(sql).at(&self.path)?;
        let mut rows = query.query([]).at(&self.path)?;
        while let Some(row) = rows.next().at(&self.path)? {
            let (id, parent): (i64, i64) = (row.get(0).at(&self.path)?, row.get(1).at(&self.path)?);
            if parent >= id {
                return Err(Error::Orphans { path: self.path.clone(), dirs: 1, files: 0 });
            }
            each(id, parent, name(row, 2).at(&self.path)?);
        }
        Ok(())
    }

    /// Calls `each` with the number of every content with several inodes, and with the number of
    /// bytes that keeping only one of them would free.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read.
    pub fn each_reclaimable_content(&self, mut each: impl FnMut(i64, u64)) -> Result<(), Error> {
        let sql = "SELECT id, reclaimable FROM content WHERE reclaimable > 0";
        let mut query = self.db.prepare(sql).at(&self.path)?;
        let mut rows = query.query([]).at(&self.path)?;
        while let Some(row) = rows.next().at(&self.path)? {
            let reclaimable: i64 = row.get(1).at(&self.path)?;
            each(row.get(0).at(&self.path)?, reclaimable.cast_unsigned());
        }
        Ok(())
    }

    /// Returns the size of everything in the catalog in bytes, without free pages.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read.
    pub fn bytes(&self) -> Result<u64, Error> {
        let sql = "SELECT (page_count - freelist_count) * page_size \
                   FROM pragma_page_count, pragma_freelist_count, pragma_page_size";
        let bytes: i64 = self.db.query_row(sql, [], |row| row.get(0)).at(&self.path)?;
        Ok(bytes.cast_unsigned())
    }

    /// Returns the greatest id of a directory.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read.
    pub fn last_dir(&self) -> Result<i64, Error> {
        let last = self.db.query_row("SELECT ifnull(max(id), 0) FROM dir", [], |row| row.get(0));
        last.at(&self.path)
    }

    /// Adds all files in the directories with the ids `dirs` to `sum`: calls `add` with the sum so
    /// far, and the directory and the row of each file. Files of one directory follow each other.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read.
    pub fn sum_space_rows<S>(
        &self,
        dirs: Range<i64>,
        sum: S,
        add: impl Fn(&mut S, i64, &SpaceRow) + Send + 'static,
    ) -> Result<S, Error>
    where
        S: Default + Send + UnwindSafe + RefUnwindSafe + 'static,
    {
        let outside = Arc::new(Mutex::new(sum));
        let sum = Sum { add, outside: Arc::clone(&outside) };
        let flags = FunctionFlags::SQLITE_DIRECTONLY;
        self.db.create_aggregate_function("space_sum", 7, flags, sum).at(&self.path)?;
        let sql = self.space_query()?;
        let query = self.db.query_row(&sql, params![dirs.start, dirs.end], |_| Ok(()));
        query.at(&self.path)?;
        Ok(take(&outside))
    }

    /// Returns the query over the files. Reading the file system and the state of each file would
    /// take a fifth more time. The query therefore reads them only if there are several file systems,
    /// or states other than 0.
    fn space_query(&self) -> Result<String, Error> {
        let sql = "SELECT EXISTS (SELECT 1 FROM file WHERE state <> 0), \
                   (SELECT CASE count(*) WHEN 1 THEN min(id) END FROM volume)";
        let row = self.db.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)));
        let (some_are_bad, only_volume): (bool, Option<i64>) = row.at(&self.path)?;
        let content = if some_are_bad { "CASE state WHEN 0 THEN content END" } else { "content" };
        let volume = only_volume.map_or_else(|| "volume".to_owned(), |id| id.to_string());
        Ok(format!(
            "SELECT space_sum(dir, {volume}, inode, size, mtime_ns, {content}, allocated) \
             FROM file WHERE dir >= ?1 AND dir < ?2"
        ))
    }
}

/// The aggregate function of a query over the files.
struct Sum<S, F> {
    add: F,
    /// The sum before and after the query.
    outside: Arc<Mutex<S>>,
}

fn take<S: Default>(outside: &Mutex<S>) -> S {
    std::mem::take(&mut *outside.lock().unwrap_or_else(PoisonError::into_inner))
}

impl<S, F> Aggregate<S, Null> for Sum<S, F>
where
    S: Default + UnwindSafe + RefUnwindSafe,
    F: Fn(&mut S, i64, &SpaceRow),
{
    fn init(&self, _: &mut Context<'_>) -> rusqlite::Result<S> {
        Ok(take(&self.outside))
    }

    fn step(&self, row: &mut Context<'_>, sum: &mut S) -> rusqlite::Result<()> {
        let (dir, file) = space_row(row)?;
        (self.add)(sum, dir, &file);
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, sum: Option<S>) -> rusqlite::Result<Null> {
        if let Some(sum) = sum {
            *self.outside.lock().unwrap_or_else(PoisonError::into_inner) = sum;
        }
        Ok(Null)
    }
}

/// Returns the directory and the row that the function was called with.
fn space_row(row: &Context<'_>) -> rusqlite::Result<(i64, SpaceRow)> {
    let number = |n| row.get_raw(n).as_i64();
    let number_or_null = |n| row.get_raw(n).as_i64_or_null();
    let size = number(3)?.cast_unsigned();
    let file = SpaceRow {
        volume: number(1)?,
        inode: number(2)?.cast_unsigned(),
        size,
        mtime_ns: number(4)?,
        content: number_or_null(5)?,
        allocated: allocated(size, number_or_null(6)?),
    };
    Ok((number(0)?, file))
}
