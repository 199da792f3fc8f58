//! The errors of this crate.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode::{DatabaseBusy, DatabaseCorrupt, DiskFull, NotADatabase, ReadOnly};

/// The reason why a catalog cannot be used. Unless documented otherwise, the catalog is unchanged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no catalog yet.
    #[error("no catalog at {}", .0.display())]
    Missing(PathBuf),
    /// The file is not a catalog, or it is damaged.
    #[error("{} is not a lop catalog, or is damaged", path.display())]
    Damaged {
        /// The catalog.
        path: PathBuf,
        /// The error from `SQLite`.
        #[source]
        source: Option<rusqlite::Error>,
    },
    /// Tables of the catalog contradict each other.
    #[error(
        "{} is damaged: {dirs} directories and {files} files in it have no parent directory",
        path.display()
    )]
    Orphans {
        /// The catalog.
        path: PathBuf,
        /// Number of directories without a parent directory.
        dirs: u64,
        /// Number of files without a directory; 0 if lop has not counted them.
        files: u64,
    },
    /// There is a catalog already, and a new one was to be made.
    #[error("{} exists already", .0.display())]
    Exists(PathBuf),
    /// The catalog was written by a later version of lop.
    #[error("{} has format {found}; this lop knows formats up to {known}", path.display())]
    TooNew {
        /// The catalog.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The newest format that this version knows.
        known: i64,
    },
    /// The catalog was written by an earlier version of lop. A scan brings the catalog up to date.
    #[error("{} has the old format {found}; this lop needs format {known}", path.display())]
    TooOld {
        /// The catalog.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The format that this version reads.
        known: i64,
    },
    /// A file or directory that belongs to the catalog cannot be used.
    #[error(transparent)]
    File(#[from] fsops::Error),
    /// `SQLite` failed, for example because the disk is full, the file is read-only, or the
    /// database is locked.
    #[error("cannot use the catalog {}", path.display())]
    Database {
        /// The catalog.
        path: PathBuf,
        /// The error from `SQLite`.
        #[source]
        source: rusqlite::Error,
    },
}

impl Error {
    /// Returns whether the disk was full or a quota was used up.
    pub fn is_full(&self) -> bool {
        match self {
            Error::File(error) => {
                matches!(error.source.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
            }
            Error::Database { source, .. } => source.sqlite_error_code() == Some(DiskFull),
            _ => false,
        }
    }
}

impl Error {
    /// Returns whether another process was using the catalog for too long.
    pub fn is_busy(&self) -> bool {
        matches!(self, Error::Database { source, .. }
            if source.sqlite_error_code() == Some(DatabaseBusy))
    }

    /// Returns whether an interrupted commit has to be rolled back first. Only a user with write
    /// access to the catalog can roll it back.
    pub fn needs_rollback(&self) -> bool {
        matches!(self, Error::Database { source, .. }
            if source.sqlite_error_code() == Some(ReadOnly))
    }
}

/// Adds the catalog's path to a `SQLite` error.
pub(crate) trait At<T> {
    fn at(self, path: &Path) -> Result<T, Error>;
}

impl<T> At<T> for rusqlite::Result<T> {
    fn at(self, path: &Path) -> Result<T, Error> {
        self.map_err(|source| match source.sqlite_error_code() {
            Some(DatabaseCorrupt | NotADatabase) => {
                Error::Damaged { path: path.into(), source: Some(source) }
            }
            _ if contradicts_the_schema(&source) => {
                Error::Damaged { path: path.into(), source: Some(source) }
            }
            _ => Error::Database { path: path.into(), source },
        })
    }
}

/// Returns whether the error shows damage: a missing row, or a value that contradicts the schema or
/// that lop cannot have written.
fn contradicts_the_schema(source: &rusqlite::Error) -> bool {
    use rusqlite::Error::{
        FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, QueryReturnedNoRows,
        Utf8Error,
    };
    matches!(
        source,
        FromSqlConversionFailure(..)
            | IntegralValueOutOfRange(..)
            | InvalidColumnType(..)
            | QueryReturnedNoRows
            | Utf8Error(..)
    )
}
