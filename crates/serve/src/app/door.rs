//! The server's access to its catalog: one connection, used by one thread at a time, and further
//! connections for queries that take seconds. All other code MUST use it.
//!
//! `SQLite` locks belong to the process. If a process closes any descriptor of the database, it loses the
//! locks of all its connections, and opening a catalog by its path closes one. The catalog therefore MUST
//! NOT be opened while a query is running.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, TryLockError};

use catalog::{Catalog, Decider};

use crate::error::PageError;

/// The connection to the catalog.
#[derive(Debug)]
pub(super) struct CatalogDoor {
    path: PathBuf,
    open: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    connection: Option<(Decider, Identity)>,
    /// Version that [`CatalogDoor::version`] returned last, and the version of the connection then.
    version: u64,
    data_version: Option<i64>,
}

/// Device and inode number of the file. The first scan, and a user, can replace it.
type Identity = (u64, u64);

impl CatalogDoor {
    pub(super) fn new(path: &Path) -> CatalogDoor {
        CatalogDoor { path: path.into(), open: Mutex::default() }
    }

    /// Passes the connection to `work`.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be opened, or if `work` fails.
    pub(super) fn with<T>(
        &self,
        work: impl FnOnce(&Decider) -> Result<T, PageError>,
    ) -> Result<T, PageError> {
        work(self.lock().connection(&self.path)?)
    }

    /// Returns a connection of the caller's own, for a query that takes so long that other pages must not
    /// wait for it.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be opened.
    pub(super) fn reopen(&self) -> Result<Catalog, PageError> {
        self.with(|decider| Ok(decider.catalog().reopen()?))
    }

    /// Returns a number that changes whenever another connection has changed the catalog, or the file was
    /// replaced.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be opened or read.
    pub(super) fn version(&self) -> Result<u64, PageError> {
        self.lock().next_version(&self.path)
    }

    /// Like [`CatalogDoor::version`], but returns `None` if the connection is in use.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be opened or read.
    pub(super) fn version_if_free(&self) -> Result<Option<u64>, PageError> {
        match self.open.try_lock() {
            Ok(mut state) => state.next_version(&self.path).map(Some),
            Err(TryLockError::Poisoned(_)) => self.version().map(Some),
            Err(TryLockError::WouldBlock) => Ok(None),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.open.lock().unwrap_or_else(|poisoned| {
            // A query panicked, perhaps within a transaction, which would hold its lock forever.
            self.open.clear_poison();
            let mut state = poisoned.into_inner();
            state.connection = None;
            state
        })
    }
}

impl State {
    fn next_version(&mut self, path: &Path) -> Result<u64, PageError> {
        let now = self.connection(path)?.catalog().data_version()?;
        if self.data_version.replace(now) != Some(now) {
            self.version += 1;
        }
        Ok(self.version)
    }

    /// Returns the connection. Opens the catalog first if it is not open, or if the file was replaced.
    fn connection(&mut self, path: &Path) -> Result<&Decider, PageError> {
        let found = std::fs::metadata(path).ok().map(|found| identity(&found));
        if self.connection.as_ref().map(|(_, identity)| *identity) != found || found.is_none() {
            self.connection = None;
            self.data_version = None;
            // This identity was read before the catalog was opened. If the file was replaced in between, the
            // next request finds another identity and opens the catalog again.
            let decider = Decider::open(path)?;
            self.connection = Some((decider, found.unwrap_or_default()));
        }
        let connection = self.connection.as_ref().map(|(decider, _)| decider);
        connection.ok_or_else(|| PageError::not_found("The catalog is not open"))
    }
}

fn identity(found: &Metadata) -> Identity {
    (found.dev(), found.ino())
}
