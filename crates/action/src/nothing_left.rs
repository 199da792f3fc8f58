//! Runs of which an undo has nothing left to restore.

use crate::past::{Fate, Past};

/// Why nothing is left to restore of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NothingLeft {
    /// Files that were restored by an undo before.
    pub undone: u64,
    /// Files that were removed from quarantine for good.
    pub purged: u64,
    /// When the last undo ended, milliseconds since the epoch, if that is known.
    pub undone_ms: Option<i64>,
}

impl NothingLeft {
    /// Returns why nothing is left of a run, if that is so.
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
