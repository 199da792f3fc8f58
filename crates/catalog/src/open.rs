//! Opens catalogs: to ask, or to write under a lock.
//!
//! # Journals
//!
//! A catalog has a rollback journal, and no write-ahead log: the index of such a log is a file in shared
//! rows, and on a full disk whoever touches a page of it that has no block is killed by `SIGBUS`.
//! Between commits, a catalog is one file that questions never have to write to.
//!
//! A writer keeps the pages it changes in rows until it commits (`cache_spill` is off): about 110 bytes for a
//! changed file, and never more than the size of the catalog. A bound would cost more than it saves: with a
//! rollback journal, `SQLite` locks readers out from the first page that it spills to the end of the commit.
//! With 4 million changed files and a bound of 128 MiB, the process peaked at 868 MB instead of 1,141, the commit took
//! 66 s of processor time instead of 49, and questions gave up after [`QUESTION_TIMEOUT`]; without a bound they waited 0.6 s.
//!
//! # Locks
//!
//! The lock file keeps writers apart and is there only while somebody writes. Who holds it removes it, and
//! nobody else may: that is what [`Lock::take`] relies on.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use fsops::{Lock, Op};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use crate::error::{At, Error};
use crate::header::{APPLICATION, Found, inspect};
use crate::schema::{INDEXES, MIGRATIONS, VERSION};

/// What the lock file's name ends in: nothing that another program would take for its own lock.
const LOCK_SUFFIX: &str = ".lop-lock";

/// How long a question waits for a commit to be written out.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a commit waits for those who ask: what a scan of many hours found is at stake.
const COMMIT_TIMEOUT: Duration = Duration::from_secs(3600);

/// A catalog open for questions.
#[derive(Debug)]
pub struct Catalog {
    pub(crate) db: Connection,
    pub(crate) path: PathBuf,
}

/// A catalog open to be changed; no other process can change it meanwhile.
#[derive(Debug)]
pub struct Writer {
    pub(crate) catalog: Catalog,
    /// Where a new catalog is built, until it is whole.
    pub(crate) building: Option<Building>,
    /// Whether the database has to be opened again before it is of any use.
    needs_reopen: bool,
    /// Last, so that the others are closed under it.
    _lock: LockFile,
}

/// A file that is removed unless it was given its final name.
#[derive(Debug)]
pub(crate) struct Building(pub(crate) PathBuf);

impl Drop for Building {
    fn drop(&mut self) {
        // Nothing can be done about a failure here; the next scan removes the file.
        drop(fsops::remove_file(&self.0));
    }
}

/// The lock of a catalog; its file is removed with it.
#[derive(Debug)]
struct LockFile {
    path: PathBuf,
    /// Let go of after the file was removed.
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
        // One that stays does no harm: the next writer locks it.
        drop(fsops::remove_file(&self.path));
    }
}

impl Catalog {
    /// Returns the paths of all files that a catalog at `path` may have: it changes while its own
    /// directory is scanned.
    pub fn files(path: &Path) -> Vec<PathBuf> {
        const SUFFIXES: [&str; 6] = ["", "-journal", "-wal", "-shm", LOCK_SUFFIX, ".new"];
        SUFFIXES.iter().map(|suffix| with_suffix(path, suffix)).collect()
    }

    /// Returns the paths of everything that belongs to a catalog at `path`: its files and the folder with the journals.
    /// For a symbolic link, `SQLite` may use files beside the link or beside its target. Both sets are returned.
    pub fn own_paths(path: &Path) -> Vec<PathBuf> {
        let resolved = path.canonicalize().ok().filter(|resolved| resolved != path);
        let all = [Some(path.to_path_buf()), resolved].into_iter().flatten();
        all.flat_map(|path| [Catalog::files(&path), vec![Catalog::runs_dir(&path)]].concat())
            .collect()
    }

    /// Returns the folder for the journals of what was done with files of a catalog at `path`.
    pub fn runs_dir(path: &Path) -> PathBuf {
        with_suffix(path, ".runs")
    }

    /// Opens the catalog at `path` for questions.
    pub fn open(path: &Path) -> Result<Catalog, Error> {
        match inspect(path)? {
            Found::Nothing => Err(Error::Missing(path.into())),
            Found::Empty => Err(Error::Damaged { path: path.into(), source: None }),
            Found::Catalog => Catalog::connect(path)?.with_known_format(),
        }
    }

    /// Opens a database. Who may write to it can take back what a process that was killed had begun;
    /// `SQLite` does without where it may not.
    fn connect(path: &Path) -> Result<Catalog, Error> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(path, flags).at(path)?;
        db.busy_timeout(QUESTION_TIMEOUT).at(path)?;
        // SQLite would plan a statement anew for each value of a parameter, as another one might not suit a partial index.
        db.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).at(path)?;
        Ok(Catalog { db, path: path.into() })
    }

    /// Makes sure that its format is a known one.
    fn with_known_format(self) -> Result<Catalog, Error> {
        match self.version()? {
            VERSION => Ok(self),
            found if found > VERSION => {
                Err(Error::TooNew { path: self.path, found, known: VERSION })
            }
            found if found > 0 => Err(Error::TooOld { path: self.path, found, known: VERSION }),
            _ => Err(Error::Damaged { path: self.path, source: None }),
        }
    }

    /// Returns the format, 0 for an empty database.
    fn version(&self) -> Result<i64, Error> {
        self.db.query_row("PRAGMA user_version", [], |row| row.get(0)).at(&self.path)
    }

    /// Answers several questions from one state, whatever is committed meanwhile.
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

    pub(crate) fn run(&self, sql: &str) -> Result<(), Error> {
        self.db.execute_batch(sql).at(&self.path)
    }

    /// Brings an empty or older catalog to the current format; the caller has a transaction.
    fn migrate(&self, from: i64) -> Result<(), Error> {
        for step in MIGRATIONS.iter().skip(usize::try_from(from).unwrap_or(0)) {
            self.run(step)?;
        }
        self.run(&format!("PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {VERSION}"))
    }
}

impl Writer {
    /// Opens the catalog at `path` to change it, waiting for another process that does.
    ///
    /// `waiting` is told the other process's number, if it is known. A missing catalog, and the
    /// directories it is in, are made; it appears under its name once it is committed.
    pub fn open(path: &Path, waiting: impl FnOnce(Option<u32>)) -> Result<Writer, Error> {
        inspect(path)?;
        if let Some(dir) = path.parent().filter(|dir| !dir.as_os_str().is_empty()) {
            fsops::create_dir_private(dir)?;
        }
        // Beside the file itself, whatever links lead to it.
        let real = path.canonicalize();
        let lock = LockFile::take(real.as_deref().unwrap_or(path), waiting)?;
        // Looked at again now that nobody else can be making it.
        let (catalog, building) = open_to_write(path)?;
        Ok(Writer { catalog, building, needs_reopen: false, _lock: lock })
    }

    /// Returns whether there was no catalog before.
    pub fn is_new(&self) -> bool {
        self.building.is_some()
    }

    /// Returns the catalog, for questions.
    pub fn catalog(&self) -> &Catalog {
        &self.catalog
    }
}

/// Opens the catalog, or begins a new one aside; the caller has the lock.
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
         PRAGMA cache_size = -8192; PRAGMA cache_spill = OFF",
    )?;
    catalog.db.busy_timeout(COMMIT_TIMEOUT).at(path)?;
    Ok(catalog)
}

/// Starts a new catalog aside, for its owner alone. It needs no journal: it is nothing until it is renamed.
fn create_aside(path: &Path) -> Result<(Catalog, Building), Error> {
    let aside = with_suffix(path, ".new");
    // A journal of a catalog that was removed without it would be taken for the new one's.
    for left in [".new", "-wal", "-shm", "-journal"] {
        fsops::remove_file(&with_suffix(path, left))?;
    }
    fsops::create_file_private(&aside)?;
    let building = Building(aside.clone());
    let catalog = Catalog::connect(&aside)?;
    catalog.run(
        "PRAGMA page_size = 32768; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
         PRAGMA locking_mode = EXCLUSIVE; PRAGMA foreign_keys = OFF; PRAGMA cache_size = -8192",
    )?;
    catalog.migrate(0)?;
    Ok((catalog, building))
}

impl Writer {
    /// Gives a new catalog its name; it has to be opened again after that ([`Writer::reopen_if_needed`]).
    pub(crate) fn publish(&mut self) -> Result<(), Error> {
        if !self.is_new() {
            return Ok(());
        }
        let Catalog { db, path } = self.detach()?;
        let building = self.building.take();
        db.close().map_err(|(_, e)| e).at(&path)?;
        if let Some(Building(aside)) = &building {
            fsops::publish_new(aside, &self.catalog.path)?;
        }
        Ok(())
    }

    /// Opens the database again if that is needed: a new catalog that was given its name, or one to which writing
    /// failed, as it has no journal to go back by.
    pub(crate) fn reopen_if_needed(&mut self) -> Result<(), Error> {
        if !self.needs_reopen {
            return Ok(());
        }
        let path = self.catalog.path.clone();
        (self.catalog, self.building) = open_to_write(&path)?;
        self.needs_reopen = false;
        Ok(())
    }

    /// Goes back to what was committed before, after writing failed.
    pub(crate) fn roll_back(&mut self) {
        // If even this fails there is nothing in the database that could be made use of.
        let undone = !self.is_new() && self.catalog.run("ROLLBACK").is_ok();
        if !undone {
            drop(self.detach());
            self.building = None;
        }
    }

    /// Takes the database out; what is left has to be made ready.
    fn detach(&mut self) -> Result<Catalog, Error> {
        let path = self.final_path();
        let placeholder = Catalog { db: Connection::open_in_memory().at(&path)?, path };
        self.needs_reopen = true;
        Ok(std::mem::replace(&mut self.catalog, placeholder))
    }

    /// Returns where the catalog is, or will be.
    fn final_path(&self) -> PathBuf {
        let path = self.catalog.path.as_os_str().as_bytes();
        let name = if self.is_new() { path.strip_suffix(b".new") } else { None };
        OsString::from_vec(name.unwrap_or(path).to_vec()).into()
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
