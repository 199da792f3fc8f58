//! Counts the files whose current content is unknown.

use crate::error::{At, Error};
use crate::open::Catalog;
use crate::state::FileState;

/// Numbers of files that cannot be relied on, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UnreliableCounts {
    /// Number of files that have not been compared yet.
    pub pending: u64,
    /// Number of files that were found damaged.
    pub damaged: u64,
    /// Number of files that could not be read.
    pub unreadable: u64,
    /// True if a scan was interrupted and has not been repeated since.
    pub interrupted: bool,
}

impl Catalog {
    /// Counts the files that cannot be relied on.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn unreliable_counts(&self) -> Result<UnreliableCounts, Error> {
        let count = |sql: &str| -> Result<u64, Error> {
            let number = self.db.query_row(sql, [], |row| row.get::<_, i64>(0)).at(&self.path)?;
            Ok(number.cast_unsigned())
        };
        let in_state = |state: FileState| {
            let number = state.number();
            // The first condition makes SQLite use the partial index.
            count(&format!("SELECT count(*) FROM file WHERE state <> 0 AND state = {number}"))
        };
        let interrupted = "SELECT count(*) FROM root JOIN scan ON scan.id = root.scan \
                           WHERE NOT scan.complete";
        Ok(UnreliableCounts {
            pending: in_state(FileState::Pending)?,
            damaged: in_state(FileState::Damaged)?,
            unreadable: in_state(FileState::Unreadable)?,
            interrupted: count(interrupted)? > 0,
        })
    }
}
