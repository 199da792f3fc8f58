//! The outcome of an undo, its preview, and why there may be nothing to undo.

use crate::error::Refusal;
use crate::journal::replay::{Fate, Replay};
use crate::statuses::Statuses;

/// Why a run has nothing to restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NothingLeft {
    /// How many files an earlier undo restored.
    pub undone: u64,
    /// How many files were purged from quarantine.
    pub purged: u64,
    /// When the last undo ended, in milliseconds since the epoch, if the journal has the time.
    pub undone_ms: Option<i64>,
}

impl NothingLeft {
    /// Returns why a run has nothing to restore, or `None` if it has something.
    pub(crate) fn of(replay: &Replay) -> Option<NothingLeft> {
        let count = |fate| replay.with_fate(fate).count() as u64;
        let is_at_rest =
            !replay.is_undoing && replay.undo_leftovers.is_empty() && replay.damaged == 0;
        (is_at_rest && count(Fate::Done) + count(Fate::Open) == 0).then(|| NothingLeft {
            undone: count(Fate::Undone),
            purged: count(Fate::Purged),
            undone_ms: replay.undone_ms,
        })
    }
}

/// The outcome of an undo.
#[derive(Debug, Default)]
pub struct UndoOutcome {
    /// How many files were restored.
    pub done: u64,
    /// Files that were not restored, with the reasons.
    pub refused: Vec<Refusal>,
    /// How many lines of the journal are damaged. The undo did nothing about the files in them.
    pub damaged: u64,
    /// The given paths that no file of the run is at or below.
    pub unmatched: Vec<Vec<u8>>,
    /// Why there was nothing to restore; `None` if there was something.
    pub nothing_left: Option<NothingLeft>,
    /// The numbers of the intents whose files were restored.
    pub(crate) back: Vec<u64>,
    /// The status change times that the undo caused.
    pub statuses: Statuses,
}

/// What [`Runs::undo`](crate::run::Runs::undo) would do, apart from single files.
#[derive(Debug)]
pub struct UndoPreview {
    /// The run that would be undone.
    pub run: u64,
    /// The given paths that no file of the run is at or below.
    pub unmatched: Vec<Vec<u8>>,
    /// Whether the run was cut off, so that an undo would first recover it.
    pub is_cut_off: bool,
    /// How many lines of the journal are damaged.
    pub damaged: u64,
    /// Why there is nothing to restore; `None` if there is something.
    pub nothing_left: Option<NothingLeft>,
}
