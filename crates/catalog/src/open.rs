//! Opens catalogs: to ask, or to write under a lock.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use fsops::{Context, Lock, Op};
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::error::{At, Error, no_shared_memory};

/// `application_id` of a catalog: "lop1".
const APPLICATION: i32 = 0x6c6f_7031;
/// `user_version` of the catalogs this version writes: one more than the last migration.
const VERSION: i64 = 1;

/// The length of the header of a database (sqlite.org/fileformat.html, 1.3).
const HEADER_BYTES: u64 = 100;

/// Steps from one format to the next, by the version they start from. Append only.
const MIGRATIONS: [&str; 1] = [include_str!("schema.sql")];
const INDEXES: &str = include_str!("schema_index.sql");

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
    /// Last, so that the others are closed under it.
    _lock: Lock,
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

impl Catalog {
    /// Returns the paths of all files that a catalog at `path` may have: it changes while its own
    /// directory is scanned.
    pub fn files(path: &Path) -> Vec<PathBuf> {
        const SUFFIXES: [&str; 8] =
            ["", "-wal", "-shm", "-journal", ".lock", ".new", ".new-wal", ".new-shm"];
        SUFFIXES.iter().map(|suffix| with_suffix(path, suffix)).collect()
    }

    /// Returns the folder for the journals of what was done with files of a catalog at `path`.
    pub fn runs(path: &Path) -> PathBuf {
        with_suffix(path, ".runs")
    }

    /// Opens the catalog at `path` for questions.
    pub fn open(path: &Path) -> Result<Catalog, Error> {
        let missing = |e: &io::Error| e.kind() == io::ErrorKind::NotFound;
        match std::fs::metadata(path) {
            Err(e) if missing(&e) => return Err(Error::Missing(path.into())),
            Err(e) => return Err(e).context(Op::Open, || path).map_err(Error::from),
            Ok(found) => refuse_other_kinds(path, &found)?,
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let catalog = Connection::open_with_flags(path, flags)
            .at(path)
            .and_then(|db| Catalog { db, path: path.into() }.checked());
        match catalog {
            Err(Error::Database { source, .. }) if wants_to_write(&source) && settled(path) => {
                immutable(path)
            }
            other => other,
        }
    }

    /// Makes sure that this is a catalog of a known format.
    fn checked(self) -> Result<Catalog, Error> {
        let timeout = std::time::Duration::from_secs(30);
        self.db.busy_timeout(timeout).at(&self.path)?;
        match self.version()? {
            Some(VERSION) => Ok(self),
            Some(found) if found > VERSION => {
                Err(Error::TooNew { path: self.path, found, known: VERSION })
            }
            _ => Err(Error::Damaged { path: self.path, source: None }),
        }
    }

    /// Returns the format, 0 for an empty database, `None` for somebody else's.
    fn version(&self) -> Result<Option<i64>, Error> {
        let number = |sql: &str| self.db.query_row(sql, [], |row| row.get::<_, i64>(0));
        let application = number("PRAGMA application_id").at(&self.path)?;
        let version = number("PRAGMA user_version").at(&self.path)?;
        if application == i64::from(APPLICATION) {
            return Ok(Some(version));
        }
        let tables = number("SELECT count(*) FROM sqlite_schema").at(&self.path)?;
        Ok((application == 0 && version == 0 && tables == 0).then_some(0))
    }

    /// Answers several questions from one state, whatever is committed meanwhile.
    pub(crate) fn at_once<T>(&self, ask: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
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
        if let Some(dir) = path.parent().filter(|dir| !dir.as_os_str().is_empty()) {
            fsops::create_dir_private(dir)?;
        }
        match std::fs::metadata(path) {
            Ok(found) => refuse_other_kinds(path, &found)?,
            // A link to nothing: what is built aside could never take its name.
            Err(e) if path.is_symlink() => {
                return Err(e).context(Op::Open, || path).map_err(Error::from);
            }
            Err(_) => {}
        }
        let lock = Lock::take(&with_suffix(path, ".lock"), waiting)?;
        // Looked at again now that nobody else can be making it.
        let exists = path.try_exists().context(Op::Open, || path)?;
        let (catalog, building) = if exists {
            (existing(path)?, None)
        } else {
            fresh(path).map(|(c, b)| (c, Some(b)))?
        };
        Ok(Writer { catalog, building, _lock: lock })
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

fn existing(path: &Path) -> Result<Catalog, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags).at(path)?;
    let catalog = Catalog { db, path: path.into() };
    match catalog.version()? {
        Some(version) if version < VERSION => {
            catalog.run("BEGIN EXCLUSIVE")?;
            catalog.migrate(version)?;
            catalog.run(INDEXES)?;
            catalog.run("COMMIT")?;
        }
        _ => {}
    }
    let catalog = catalog.checked()?;
    if catalog.db.is_readonly("main").at(path)? {
        let source = io::Error::from(io::ErrorKind::PermissionDenied);
        return Err(fsops::Error { op: Op::Open, path: path.into(), source }.into());
    }
    // WAL lets questions be asked during a commit; a file system that has no shared memory for it
    // (most network ones) answers with the mode it keeps.
    catalog.run(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = OFF;
         PRAGMA cache_size = -8192",
    )?;
    Ok(catalog)
}

/// Starts a new catalog aside. It needs no journal: it is nothing until it is renamed.
fn fresh(path: &Path) -> Result<(Catalog, Building), Error> {
    let aside = with_suffix(path, ".new");
    // Journals of a catalog that was removed without them would be taken for the new one's.
    for left in [".new", ".new-wal", ".new-shm", "-wal", "-shm", "-journal"] {
        fsops::remove_file(&with_suffix(path, left))?;
    }
    let db = Connection::open(&aside).at(&aside)?;
    let building = Building(aside.clone());
    let catalog = Catalog { db, path: aside };
    catalog.run(
        "PRAGMA page_size = 32768; PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
         PRAGMA locking_mode = EXCLUSIVE; PRAGMA foreign_keys = OFF; PRAGMA cache_size = -8192",
    )?;
    catalog.migrate(0)?;
    Ok((catalog, building))
}

impl Writer {
    /// Builds what a new catalog still lacks and gives it its name.
    pub(crate) fn publish(self) -> Result<(), Error> {
        // Bound first, so that it ends last.
        let Writer { _lock, building, catalog } = self;
        let Some(building) = building else { return Ok(()) };
        catalog.run("PRAGMA journal_mode = WAL")?;
        let path = catalog.path.clone();
        catalog.db.close().map_err(|(_, e)| e).at(&path)?;
        let name = path.as_os_str().as_bytes();
        let name = name.strip_suffix(b".new").unwrap_or(name).to_vec();
        fsops::publish_new(&building.0, Path::new(&OsString::from_vec(name)))?;
        Ok(())
    }

    /// Creates the indexes of a new catalog.
    pub(crate) fn index(&self) -> Result<(), Error> {
        if self.is_new() { self.catalog.run(INDEXES) } else { Ok(()) }
    }
}

/// Refuses what is no regular file (opening a FIFO, for one, would wait for its other end), and what
/// is too short for a database and yet not empty: `SQLite` would take one byte for none.
fn refuse_other_kinds(path: &Path, found: &std::fs::Metadata) -> Result<(), Error> {
    let source = match found.file_type() {
        kind if kind.is_file() && (1..HEADER_BYTES).contains(&found.len()) => {
            return Err(Error::Damaged { path: path.into(), source: None });
        }
        kind if kind.is_file() => return Ok(()),
        kind if kind.is_dir() => io::ErrorKind::IsADirectory.into(),
        _ => io::Error::other("not a regular file"),
    };
    Err(fsops::Error { op: Op::Open, path: path.into(), source }.into())
}

/// Returns whether `SQLite` failed because it cannot make the files that WAL needs: it may not, or
/// there is no room for them.
fn wants_to_write(source: &rusqlite::Error) -> bool {
    let code = source.sqlite_error_code();
    no_shared_memory(source)
        || matches!(
            code,
            Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied)
        )
}

/// Returns whether the whole catalog is in its file, nothing in a journal beside it.
fn settled(path: &Path) -> bool {
    std::fs::metadata(with_suffix(path, "-wal")).map_or(true, |wal| wal.len() == 0)
}

/// Opens a settled catalog in a place where nothing can be written, so that nothing changes it
/// either.
fn immutable(path: &Path) -> Result<Catalog, Error> {
    let mut uri = b"file:".to_vec();
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'%' | b'?' | b'#' => uri.extend(format!("%{byte:02x}").bytes()),
            _ => uri.push(byte),
        }
    }
    uri.extend_from_slice(b"?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let db = Connection::open_with_flags(PathBuf::from(OsString::from_vec(uri)), flags).at(path)?;
    Catalog { db, path: path.into() }.checked()
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
