//! Records decisions without waiting for a scan.
//!
//! Like [`crate::Marker`], a [`Decider`] does not take the lock of the catalog, because a scan may
//! hold that lock for a whole night. Each change is a single short transaction that touches no other
//! table, and scans do not touch the table of decisions.

use std::path::Path;

use rusqlite::params;

use crate::decisions::{Choice, Decision, Scope};
use crate::error::{At, Error};
use crate::open::Catalog;

/// A catalog that is open for recording decisions.
#[derive(Debug)]
pub struct Decider(Catalog);

impl Decider {
    /// Opens the catalog at `path`.
    ///
    /// # Errors
    ///
    /// Fails like [`Catalog::open`].
    pub fn open(path: &Path) -> Result<Decider, Error> {
        Ok(Decider(Catalog::open(path)?))
    }

    /// Records decisions through an open catalog.
    pub fn new(catalog: Catalog) -> Decider {
        Decider(catalog)
    }

    /// Returns the catalog, for queries on the same connection.
    pub fn catalog(&self) -> &Catalog {
        &self.0
    }

    /// Records a decision that was made at `made_ms`, in milliseconds since the epoch. The decision
    /// replaces an earlier one about the same scope, and becomes the latest of all. Its id is at least
    /// `made_ms`, so the id of a decision that was withdrawn is not used again.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be written. It is then unchanged.
    pub fn decide(&self, scope: Scope, choice: Choice, made_ms: i64) -> Result<Decision, Error> {
        let Decider(Catalog { db, path, .. }) = self;
        let (scope_word, subject) = scope.columns();
        let (choice_word, value) = choice.columns();
        let id = self.0.in_transaction(|| {
            let sql = "INSERT OR REPLACE INTO decision (id, made_ms, scope, subject, choice, value) \
                       VALUES ((SELECT max(coalesce(max(id), 0) + 1, ?1) FROM decision), ?1, ?2, ?3, ?4, ?5)";
            let row = params![made_ms, scope_word, subject, choice_word, value];
            db.execute(sql, row).at(path)?;
            Ok::<_, Error>(db.last_insert_rowid())
        })?;
        Ok(Decision { id, made_ms, scope, choice })
    }

    /// Removes a decision. Returns whether there was one with this number.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be written. It is then unchanged.
    pub fn withdraw(&self, id: i64) -> Result<bool, Error> {
        let Decider(Catalog { db, path, .. }) = self;
        let removed = db.execute("DELETE FROM decision WHERE id = ?1", [id]).at(path)?;
        Ok(removed > 0)
    }

    /// Removes all decisions. Returns their number.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be written. It is then unchanged.
    pub fn clear(&self) -> Result<u64, Error> {
        let Decider(Catalog { db, path, .. }) = self;
        Ok(db.execute("DELETE FROM decision", []).at(path)? as u64)
    }
}
