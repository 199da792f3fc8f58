//! The outcome of an undo, the preview of an undo, and the reason why there is nothing to undo.

use crate::error::Refusal;
use crate::journal::replay::{Fate, Replay};
use crate::statuses::Statuses;

/// The reason why a run has nothing to restore.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NothingLeft {
    /// Number of files that an earlier undo restored.
    pub undone: u64,
    /// Number of files that were purged from quarantine.
    pub purged: u64,
    /// The time when the last undo ended, in milliseconds since the epoch, if the journal records
    /// it.
    pub undone_ms: Option<i64>,
}

impl NothingLeft {
    /// Returns the reason why a run has nothing to restore, or `None` if it has something to
    /// restore.
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
    /// Number of entries that were restored.
    pub done: u64,
    /// Number of directories among them. Each was restored with everything in it.
    pub trees: u64,
    /// Files that were not restored, with the reasons.
    pub refused: Vec<Refusal>,
    /// Number of damaged lines in the journal. The undo ignored the files in these lines.
    pub damaged: u64,
    /// The given paths that match no file of the run.
    pub unmatched: Vec<Vec<u8>>,
    /// The reason why there was nothing to restore. `None` if there was something.
    pub nothing_left: Option<NothingLeft>,
    /// The numbers of the intents whose files were restored.
    pub(crate) back: Vec<u64>,
    /// The status change times that the undo caused.
    pub statuses: Statuses,
}

/// A preview of [`Runs::undo`](crate::run::Runs::undo) without the individual files.
#[derive(Debug)]
pub struct UndoPreview {
    /// The run that would be undone.
    pub run: u64,
    /// The given paths that match no file of the run.
    pub unmatched: Vec<Vec<u8>>,
    /// Whether the run was cut off. An undo would then recover the run first.
    pub is_cut_off: bool,
    /// Number of damaged lines in the journal.
    pub damaged: u64,
    /// The reason why there is nothing to restore. `None` if there is something.
    pub nothing_left: Option<NothingLeft>,
}
