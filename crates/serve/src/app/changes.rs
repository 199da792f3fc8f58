//! Records which decisions this server has changed.
//!
//! A page MUST NOT overwrite a decision that was changed after the page showed it, for example in another
//! window. Decisions of other processes need no entry, because they change the version of the catalog and
//! therefore the revision that a page sends.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use catalog::Scope;

use crate::error::PageError;

/// The changes of decisions since the start of the server. Lock the groups first, because changes are checked
/// and noted while no other request reads or changes decisions.
#[derive(Debug, Default)]
pub(crate) struct Changes(Mutex<Noted>);

#[derive(Debug, Default)]
struct Noted {
    /// Number of the last change. Changes are counted from 1.
    last: u64,
    /// The last change of all decisions at once.
    all: u64,
    /// The last change about each scope.
    about: HashMap<Scope, u64>,
}

impl Changes {
    /// Returns the number of the last change. A page sends it with a change of what it showed then.
    pub(crate) fn last(&self) -> u64 {
        self.lock().last
    }

    /// Fails if the decision about this scope has changed after change number `seen`.
    ///
    /// # Errors
    ///
    /// Fails if a later change was about the scope or about all decisions.
    pub(crate) fn check(&self, scope: &Scope, seen: u64) -> Result<(), PageError> {
        let noted = self.lock();
        let about = noted.about.get(scope).copied().unwrap_or(0);
        if about.max(noted.all) > seen { Err(overtaken()) } else { Ok(()) }
    }

    /// Fails if any decision has changed after change number `seen`.
    ///
    /// # Errors
    ///
    /// Fails if there was a later change.
    pub(crate) fn check_all(&self, seen: u64) -> Result<(), PageError> {
        if self.lock().last > seen { Err(overtaken()) } else { Ok(()) }
    }

    /// Notes that the decision about a scope was made or withdrawn.
    pub(crate) fn note(&self, scope: Scope) {
        let mut noted = self.lock();
        noted.last += 1;
        let last = noted.last;
        noted.about.insert(scope, last);
    }

    /// Notes that all decisions were withdrawn.
    pub(crate) fn note_all(&self) {
        let mut noted = self.lock();
        noted.last += 1;
        noted.all = noted.last;
        noted.about.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Noted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the error for a change of what a page no longer shows correctly.
pub(crate) fn overtaken() -> PageError {
    PageError::conflict(
        "Another window has changed this decision since this page showed it",
        "The list is loaded again. Check your choice before you repeat it.",
    )
    .overtaken()
}
