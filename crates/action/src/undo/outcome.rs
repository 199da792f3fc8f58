//! Explains why a run has nothing left to undo.

use crate::error::Refusal;
use crate::journal::replay::{Fate, Replay};
use crate::statuses::Statuses;

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
    pub(crate) fn of(replay: &Replay) -> Option<NothingLeft> {
        let count = |fate| replay.with_fate(fate).count() as u64;
        let is_at_rest = !replay.undoing && replay.copies.is_empty() && replay.damaged == 0;
        (is_at_rest && count(Fate::Done) + count(Fate::Open) == 0).then(|| NothingLeft {
            undone: count(Fate::Undone),
            purged: count(Fate::Purged),
            undone_ms: replay.undone_ms,
        })
    }
}

/// What came of an undo.
#[derive(Debug, Default)]
pub struct UndoOutcome {
    /// Files that are what they were before the run.
    pub done: u64,
    /// Files that are not, with the reason.
    pub refused: Vec<Refusal>,
    /// Lines of the journal that are damaged: nothing was done about the files that they tell of.
    pub damaged: u64,
    /// Paths that were named and that no file of the run is at or below.
    pub unmatched: Vec<Vec<u8>>,
    /// Why there was nothing to restore, if that is so.
    pub nothing_left: Option<NothingLeft>,
    /// The files that are what they were, by the numbers of their intents.
    pub(crate) back: Vec<u64>,
    /// The status change times that the undo gave to inodes.
    pub statuses: Statuses,
}

/// What [`Runs::undo`] would do, as far as it is not about single files.
#[derive(Debug)]
pub struct UndoPreview {
    /// The run that would be undone.
    pub run: u64,
    /// Paths that were named and that no file of the run is at or below.
    pub unmatched: Vec<Vec<u8>>,
    /// Whether the run was cut off, so that what it had begun is taken back first.
    pub is_cut_off: bool,
    /// Lines of the journal that are damaged.
    pub damaged: u64,
    /// Why there is nothing to restore, if that is so.
    pub nothing_left: Option<NothingLeft>,
}
