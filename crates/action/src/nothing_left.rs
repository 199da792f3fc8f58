//! Explains why a run has nothing left to undo.

use crate::past::{Fate, Past};

/// Why a run has nothing left to restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NothingLeft {
    /// Files that an earlier undo restored.
    pub undone: u64,
    /// Files that were removed from quarantine for good.
    pub purged: u64,
    /// When the last undo ended, in milliseconds since the epoch, if the journal has the time.
    pub undone_ms: Option<i64>,
}

impl NothingLeft {
    /// Returns why a run has nothing left to restore, or `None` if it does have something.
    pub(crate) fn of(past: &Past) -> Option<NothingLeft> {
        let count = |fate| past.with_fate(fate).count() as u64;
        let is_at_rest = !past.undoing && past.copies.is_empty() && past.damaged == 0;
        (is_at_rest && count(Fate::Done) + count(Fate::Open) == 0).then(|| NothingLeft {
            undone: count(Fate::Undone),
            purged: count(Fate::Purged),
            undone_ms: past.undone_ms,
        })
    }
}
