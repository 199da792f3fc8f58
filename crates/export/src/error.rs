//! The errors of this crate.

use std::io;
use std::path::{Path, PathBuf};

use fsops::Op;
use parquet::errors::ParquetError;
use runtime::Interrupted;

/// The reason why an export or an import failed. Unless documented otherwise, it left nothing behind
/// but directories that it had to create.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The catalog cannot be used.
    #[error(transparent)]
    Catalog(#[from] catalog::Error),
    /// A file or directory cannot be used.
    #[error(transparent)]
    File(#[from] fsops::Error),
    /// The user asked to stop.
    #[error(transparent)]
    Interrupted(#[from] Interrupted),
    /// The name of the host cannot be the name of a folder of exports.
    #[error(
        "'{0}' cannot be the name of a host: use letters, digits, '.', '-' and '_', beginning with a letter or a digit"
    )]
    Host(String),
    /// A file cannot be used as a key.
    #[error("cannot use the key {}: {reason}", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// Another process writes to the same folder.
    #[error("another process is writing to {}", .0.display())]
    Busy(PathBuf),
    /// A table cannot be written or read.
    #[error("{}", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// The error of the Parquet library.
        #[source]
        source: ParquetError,
    },
    /// The folder is no export, or the export is damaged or incomplete.
    #[error("{}: {reason}", path.display())]
    Invalid {
        /// The folder or file.
        path: PathBuf,
        /// The reason.
        reason: String,
    },
    /// An export without names, or with keyed digests and names, cannot become a catalog.
    #[error("{}: {reason}", path.display())]
    Unreadable {
        /// The folder.
        path: PathBuf,
        /// The reason.
        reason: &'static str,
    },
}

impl Error {
    pub(crate) fn invalid(path: &Path, reason: impl Into<String>) -> Error {
        Error::Invalid { path: path.into(), reason: reason.into() }
    }
}

/// Adds the operation and the path to an I/O error.
pub(crate) trait At<T> {
    fn at(self, op: Op, path: &Path) -> Result<T, Error>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, op: Op, path: &Path) -> Result<T, Error> {
        self.map_err(|source| fsops::Error { op, path: path.into(), source }.into())
    }
}

/// Adds the operation and the path to an error of the Parquet library.
pub(crate) trait OfTable<T> {
    fn of(self, op: Op, path: &Path) -> Result<T, Error>;
}

impl<T> OfTable<T> for Result<T, ParquetError> {
    fn of(self, op: Op, path: &Path) -> Result<T, Error> {
        self.map_err(|source| match source {
            // The library wraps the errors of files.
            ParquetError::External(source) if source.is::<io::Error>() => {
                let source = *source.downcast::<io::Error>().expect("checked");
                fsops::Error { op, path: path.into(), source }.into()
            }
            source => Error::Table { path: path.into(), source },
        })
    }
}
