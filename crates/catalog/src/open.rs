//! Opens catalogs, for queries or for writing under a lock.
//!
//! # Journals
//!
//! A catalog has a rollback journal and no write-ahead log. The index of a write-ahead log is a
//! file in shared memory. If the disk is full, a process that touches an unallocated page of this
//! index is killed by `SIGBUS`. Between commits, a catalog is a single file that queries never have
//! to write to.
//!
//! A writer keeps changed pages in memory until it commits (`cache_spill` is off). The changed
//! pages take about 110 bytes per changed file, and never more than the size of the catalog. A
//! bound would cost more than it saves: with a rollback journal, `SQLite` locks readers out from
//! the first spilled page until the end of the commit. The following figures were measured with 4
//! million changed files. With a bound of 128 MiB, the process peaked at 868 MB instead of 1,141
//! MB. However, the commit took 66 s of processor time instead of 49 s, and queries gave up after
//! [`QUESTION_TIMEOUT`]. Without a bound, queries waited 0.6 s.
//!
//! # Locks
//!
//! The lock file keeps writers apart and exists only while a writer is open. Only the process that
//! holds the lock may remove the file. [`Lock::take`] relies on that.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fsops::{Lock, Op};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::error::{At, Error};
use crate::header::{APPLICATION, Found, identity, inspect};
use crate::schema::{CHANGES_INDEXES, CURRENT, INDEXES, MIGRATIONS, VERSION};

/// Suffix of the lock file. No other program uses this suffix for its own locks.
const LOCK_SUFFIX: &str = ".lop-lock";

/// Suffix of the certificate.
const CERTIFICATE_SUFFIX: &str = ".tls";

/// Suffixes of the socket and of the lock of `lop watch`.
const WATCHER_SUFFIX: &str = ".lop-watch";
const WATCHER_LOCK_SUFFIX: &str = ".lop-watch-lock";

/// Sets the page cache of a writer to 8 MiB.
pub(crate) const CACHE_SIZE: &str = "PRAGMA cache_size = -8192";

/// Sets the page cache to 1 MiB, for reading all rows once and in order.
pub(crate) const SMALL_CACHE_SIZE: &str = "PRAGMA cache_size = -1024";

/// Sets the page cache to 128 MiB, for reading few rows in random order. Otherwise, `SQLite` would read most pages
/// several times.
const CHANGES_CACHE_SIZE: &str = "PRAGMA cache_size = -131072";

/// Maximum time that a query waits for a commit to finish.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(30);
/// Maximum time that a commit waits for open queries. It is long because the results of a scan of
/// many hours are at stake.
pub(crate) const COMMIT_TIMEOUT: Duration = Duration::from_secs(3600);

/// A catalog that is open for queries.
#[derive(Debug)]
pub struct Catalog {
    pub(crate) db: Connection,
    pub(crate) path: PathBuf,
    /// Device and inode number of the file, if they are known.
    pub(crate) file: Option<(u64, u64)>,
}

/// A catalog that is open for changes. No other process can change it at the same time.
#[derive(Debug)]
pub struct Writer {
    pub(crate) catalog: Catalog,
    /// The file in which a new catalog is built until it is complete.
    pub(crate) building: Option<Building>,
    /// True if the database has to be opened again before it can be used.
    needs_reopen: bool,
    /// Declared last, so that the lock is released after the other fields are dropped.
    _lock: LockFile,
}

/// A file that is removed on drop, unless it was renamed to its final name.
#[derive(Debug)]
pub(crate) struct Building(pub(crate) PathBuf);

impl Drop for Building {
    fn drop(&mut self) {
        // Failures are ignored here, because the next scan removes the file.
        drop(fsops::remove_file(&self.0));
    }
}

/// The lock of a catalog. Dropping it removes the lock file.
#[derive(Debug)]
struct LockFile {
    path: PathBuf,
    /// Released after the file has been removed.
    _lock: Lock,
}

impl LockFile {
    fn take(catalog: &Path, waiting: impl FnOnce(Option<u32>)) -> Result<LockFile, fsops::Error> {
        let path = with_suffix(catalog, LOCK_SUFFIX);
        Ok(LockFile { _lock: Lock::take(&path, waiting)?, path })
    }
}

impl Drop for LockFile {
    fn drop(&mut self) {
        // A leftover lock file does no harm, because the next writer locks it.
        drop(fsops::remove_file(&self.path));
    }
}

impl Catalog {
    /// Returns the paths of all files that a catalog at `path` may have. These files can appear and
    /// vanish while a scan reads their directory.
    pub fn files(path: &Path) -> Vec<PathBuf> {
        const SUFFIXES: [&str; 10] = [
            "",
            "-journal",
            "-wal",
            "-shm",
            LOCK_SUFFIX,
            ".new",
            CERTIFICATE_SUFFIX,
            ".tls.new",
            WATCHER_SUFFIX,
            WATCHER_LOCK_SUFFIX,
        ];
        SUFFIXES.iter().map(|suffix| with_suffix(path, suffix)).collect()
    }

    /// Returns the paths of everything that belongs to a catalog at `path`: its files, and the
    /// folder with the journals of runs. If `path` is a symbolic link, `SQLite` may use files
    /// beside the link or beside its target, so both sets are returned.
    pub fn own_paths(path: &Path) -> Vec<PathBuf> {
        let resolved = path.canonicalize().ok().filter(|resolved| resolved != path);
        let all = [Some(path.to_path_buf()), resolved].into_iter().flatten();
        all.flat_map(|path| [Catalog::files(&path), vec![Catalog::runs_dir(&path)]].concat())
            .collect()
    }

    /// Returns the folder with the journals of the runs that changed files of a catalog at `path`.
    pub fn runs_dir(path: &Path) -> PathBuf {
        with_suffix(path, ".runs")
    }

    /// Returns the path of the certificate with which the catalog at `path` is served.
    pub fn certificate(path: &Path) -> PathBuf {
        with_suffix(path, CERTIFICATE_SUFFIX)
    }

    /// Opens the catalog at `path` for queries.
    ///
    /// # Errors
    ///
    /// Fails if there is no catalog, if the file is not a catalog or is damaged, if it has an older
    /// or newer format than this version uses, or if it cannot be read. The catalog is unchanged,
    /// except that `SQLite` may have rolled back the commit of a process that was killed.
    pub fn open(path: &Path) -> Result<Catalog, Error> {
        Catalog::open_within(path, QUESTION_TIMEOUT)
    }

    /// Opens the catalog like [`Catalog::open`]. Each query waits at most for `timeout` until another process has
    /// finished a commit, and fails with a busy error ([`Error::is_busy`]) then.
    ///
    /// # Errors
    ///
    /// Fails like [`Catalog::open`].
    pub fn open_within(path: &Path, timeout: Duration) -> Result<Catalog, Error> {
        match inspect(path)? {
            Found::Nothing => Err(Error::Missing(path.into())),
            Found::Empty => Err(Error::Damaged { path: path.into(), source: None }),
            Found::Catalog => {
                let catalog = Catalog::connect(path)?;
                catalog.wait_at_most(timeout)?;
                catalog.with_known_format()
            }
        }
    }

    /// Sets how long a query or a change waits until another process has finished a commit.
    ///
    /// # Errors
    ///
    /// Fails if `SQLite` refuses the time.
    pub fn wait_at_most(&self, timeout: Duration) -> Result<(), Error> {
        self.db.busy_timeout(timeout).at(&self.path)
    }

    /// Returns the path of the catalog.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens a database. With write access, `SQLite` rolls back the commit of a killed process.
    /// Without write access, it opens the database read-only.
    pub(crate) fn connect(path: &Path) -> Result<Catalog, Error> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(path, flags).at(path)?;
        db.busy_timeout(QUESTION_TIMEOUT).at(path)?;
        // Without this, SQLite would plan a statement again for each value of a parameter, because
        // a partial index may not apply to every value.
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).at(path)?;
        Ok(Catalog { db, path: path.into(), file: identity(path) })
    }

    /// Fails unless the catalog has the current format.
    pub(crate) fn with_known_format(self) -> Result<Catalog, Error> {
        match self.version()? {
            VERSION => Ok(self),
            found if found > VERSION => {
                Err(Error::TooNew { path: self.path, found, known: VERSION })
            }
            found if found > 0 => Err(Error::TooOld { path: self.path, found, known: VERSION }),
            _ => Err(Error::Damaged { path: self.path, source: None }),
        }
    }

    /// Returns the format version; 0 for an empty database.
    fn version(&self) -> Result<i64, Error> {
        self.db.query_row("PRAGMA user_version", [], |row| row.get(0)).at(&self.path)
    }

    /// Returns a number that changes whenever another connection has changed the catalog.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read.
    pub fn data_version(&self) -> Result<i64, Error> {
        self.db.query_row("PRAGMA data_version", [], |row| row.get(0)).at(&self.path)
    }

    /// Runs several queries on one snapshot, even if another process commits between them.
    pub(crate) fn in_one_snapshot<T>(
        &self,
        ask: impl FnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        if !self.db.is_autocommit() {
            return ask();
        }
        self.run("BEGIN")?;
        let answer = ask();
        self.run("COMMIT")?;
        answer
    }

    /// Answers many questions about few files on one snapshot. Pages that were read stay in memory until the next
    /// commit, at most 128 MiB of them.
    ///
    /// # Errors
    ///
    /// Fails if `ask` fails, or if the catalog cannot be read. The catalog is unchanged.
    pub fn look_up<T, E: From<Error>>(&self, ask: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        self.run(CHANGES_CACHE_SIZE)?;
        self.run("BEGIN")?;
        let answer = ask();
        self.run("COMMIT")?;
        answer
    }

    /// Makes changes in one transaction. If `change` or the commit fails, nothing has changed.
    pub(crate) fn in_transaction<T, E: From<Error>>(
        &self,
        change: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        self.run("BEGIN IMMEDIATE")?;
        let changed =
            change().and_then(|value| self.run("COMMIT").map(|()| value).map_err(E::from));
        if changed.is_err() {
            // The error may have ended the transaction already. Then there is nothing to roll back.
            let _ended = self.run("ROLLBACK");
        }
        changed
    }

    pub(crate) fn run(&self, sql: &str) -> Result<(), Error> {
        self.db.execute_batch(sql).at(&self.path)
    }

    /// Creates the tables in an empty file, or migrates an older catalog to the current format. The caller must have
    /// begun a transaction.
    fn migrate(&self, from: i64) -> Result<(), Error> {
        match usize::try_from(from).unwrap_or(0) {
            // The migrations would do the same, but take longer.
            0 => self.run(CURRENT)?,
            from => MIGRATIONS[from..].iter().try_for_each(|step| self.run(step))?,
        }
        self.run(&format!("PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}"))
    }
}

impl Writer {
    /// Opens the catalog at `path` for changes. If another process has the catalog open for
    /// changes, calls `waiting` with the id of that process, if known, and waits.
    ///
    /// Creates a missing catalog and its parent directories. A new catalog appears under its final
    /// name when it is committed.
    ///
    /// # Errors
    ///
    /// Fails if the file is not a catalog or is damaged, if it has a newer format than this version
    /// uses, or if the directory, the lock or the catalog cannot be created or written. If the call
    /// fails, an existing catalog is unchanged, but missing parent directories may have been
    /// created.
    pub fn open(path: &Path, waiting: impl FnOnce(Option<u32>)) -> Result<Writer, Error> {
        inspect(path)?;
        if let Some(dir) = path.parent().filter(|dir| !dir.as_os_str().is_empty()) {
            fsops::create_dir_private(dir)?;
        }
        // If `path` is a symbolic link, the lock is next to the target of the link.
        let real = path.canonicalize();
        let lock = LockFile::take(real.as_deref().unwrap_or(path), waiting)?;
        // This inspects the path again, because another process may have created a catalog before
        // the lock was taken.
        let (catalog, building) = open_to_write(path)?;
        Ok(Writer { catalog, building, needs_reopen: false, _lock: lock })
    }

    /// Returns whether the catalog is new and has not been committed yet.
    pub fn is_new(&self) -> bool {
        self.building.is_some()
    }

    /// Returns the catalog, for queries.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }
}

/// Opens the catalog, or starts a new one under another name. The caller must hold the lock.
fn open_to_write(path: &Path) -> Result<(Catalog, Option<Building>), Error> {
    Ok(match inspect(path)? {
        Found::Nothing => {
            create_aside(path).map(|(catalog, building)| (catalog, Some(building)))?
        }
        Found::Empty | Found::Catalog => (open_existing(path)?, None),
    })
}

fn open_existing(path: &Path) -> Result<Catalog, Error> {
    let catalog = Catalog::connect(path)?;
    if catalog.db.is_readonly("main").at(path)? {
        let source = io::Error::from(io::ErrorKind::PermissionDenied);
        return Err(fsops::Error { op: Op::Open, path: path.into(), source }.into());
    }
    let version = catalog.version()?;
    if version < VERSION {
        catalog.run("BEGIN EXCLUSIVE")?;
        catalog.migrate(version)?;
        catalog.run(INDEXES)?;
        catalog.run("COMMIT")?;
    }
    let catalog = catalog.with_known_format()?;
    catalog.run(
        "PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL; PRAGMA foreign_keys = OFF;
         PRAGMA cache_spill = OFF",
    )?;
    catalog.run(CACHE_SIZE)?;
    catalog.db.busy_timeout(COMMIT_TIMEOUT).at(path)?;
    Ok(catalog)
}

/// Creates a new catalog under another name, readable only by its owner. The new catalog needs no
/// journal, because no other process uses it before it is renamed.
fn create_aside(path: &Path) -> Result<(Catalog, Building), Error> {
    let aside = with_suffix(path, ".new");
    // If a removed catalog left a journal, SQLite would apply it to the new catalog.
    for left in [".new", "-wal", "-shm", "-journal"] {
        fsops::remove_file(&with_suffix(path, left))?;
    }
    fsops::create_file_private(&aside)?;
    let building = Building(aside.clone());
    let catalog = Catalog::connect(&aside)?;
    catalog.run(
        "PRAGMA page_size = 8192; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
         PRAGMA locking_mode = EXCLUSIVE; PRAGMA foreign_keys = OFF",
    )?;
    catalog.run(CACHE_SIZE)?;
    catalog.migrate(0)?;
    Ok((catalog, building))
}

impl Writer {
    /// Renames a new catalog to its final name. The database then has to be opened again
    /// ([`Writer::reopen_if_needed`]).
    pub(crate) fn publish(&mut self) -> Result<(), Error> {
        if !self.is_new() {
            return Ok(());
        }
        let Catalog { db, path, .. } = self.detach()?;
        let building = self.building.take();
        db.close().map_err(|(_, e)| e).at(&path)?;
        if let Some(Building(aside)) = &building {
            fsops::publish_new(aside, &self.catalog.path)?;
        }
        Ok(())
    }

    /// Opens the database again if needed: after a new catalog was renamed to its final name, or
    /// after a write to a new catalog failed. A new catalog has no journal, so a failed write
    /// cannot be rolled back.
    pub(crate) fn reopen_if_needed(&mut self) -> Result<(), Error> {
        if !self.needs_reopen {
            return Ok(());
        }
        let path = self.catalog.path.clone();
        (self.catalog, self.building) = open_to_write(&path)?;
        self.needs_reopen = false;
        Ok(())
    }

    /// Returns to the last committed state after a write failed.
    pub(crate) fn roll_back(&mut self) {
        // If even the rollback fails, nothing in the database can be used.
        let undone = !self.is_new() && self.catalog.run("ROLLBACK").is_ok();
        if !undone {
            drop(self.detach());
            self.building = None;
        }
    }

    /// Takes the database out of the writer, which has to be reopened before it is used again.
    fn detach(&mut self) -> Result<Catalog, Error> {
        let path = self.final_path();
        let placeholder = Catalog { db: Connection::open_in_memory().at(&path)?, path, file: None };
        self.needs_reopen = true;
        Ok(std::mem::replace(&mut self.catalog, placeholder))
    }

    /// Returns the path that the catalog has or will have.
    fn final_path(&self) -> PathBuf {
        let path = self.catalog.path.as_os_str().as_bytes();
        let name = if self.is_new() { path.strip_suffix(b".new") } else { None };
        OsString::from_vec(name.unwrap_or(path).to_vec()).into()
    }

    /// Creates the indexes that scans of changes need ([`Catalog::match_changes`]), unless they exist.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be written. It is then unchanged.
    pub fn index_for_changes(&self) -> Result<(), Error> {
        self.catalog.run(CHANGES_INDEXES)
    }

    /// Creates the indexes of a new catalog.
    pub(crate) fn create_indexes(&self) -> Result<(), Error> {
        if self.is_new() { self.catalog.run(INDEXES) } else { Ok(()) }
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
