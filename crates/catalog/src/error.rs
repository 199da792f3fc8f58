//! Why a catalog cannot be used.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode::{DatabaseCorrupt, DiskFull, NotADatabase, ReadOnly};

/// Why a catalog cannot be used. Unless said otherwise the catalog is as it was before.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is none yet.
    #[error("no catalog at {}", .0.display())]
    Missing(PathBuf),
    /// The file is not a catalog, or damaged.
    #[error("{} is not a lop catalog, or is damaged", path.display())]
    Damaged {
        /// The catalog.
        path: PathBuf,
        /// What `SQLite` says.
        #[source]
        source: Option<rusqlite::Error>,
    },
    /// Its tables contradict each other.
    #[error(
        "{} is damaged: {dirs} directories and {files} files in it have no parent directory",
        path.display()
    )]
    Orphans {
        /// The catalog.
        path: PathBuf,
        /// How many directories.
        dirs: u64,
        /// How many files; 0 where they were not counted.
        files: u64,
    },
    /// It was written by a later version of lop.
    #[error("{} has format {found}; this lop knows formats up to {known}", path.display())]
    TooNew {
        /// The catalog.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The newest known one.
        known: i64,
    },
    /// It was written by an earlier version of lop. A scan brings it up to date.
    #[error("{} has the old format {found}; this lop needs format {known}", path.display())]
    TooOld {
        /// The catalog.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The one this version reads.
        known: i64,
    },
    /// A file or directory of the catalog cannot be used.
    #[error(transparent)]
    File(#[from] fsops::Error),
    /// `SQLite` failed: a full disk, a read-only file, a lock.
    #[error("cannot use the catalog {}", path.display())]
    Database {
        /// The catalog.
        path: PathBuf,
        /// What `SQLite` says.
        #[source]
        source: rusqlite::Error,
    },
}

impl Error {
    /// Returns whether there was no room for what had to be written.
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
    /// Returns whether a commit was cut off that only somebody who may write to the catalog can take back.
    pub fn needs_rollback(&self) -> bool {
        matches!(self, Error::Database { source, .. }
            if source.sqlite_error_code() == Some(ReadOnly))
    }
}

/// Adds the catalog's path to an error of `SQLite`.
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

/// Returns whether there is a value, or no row, where the schema and what lop writes allow for none such.
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
