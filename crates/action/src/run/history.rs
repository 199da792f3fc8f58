//! Reads the history from a folder of journals: the changes made by each run, a preview of each
//! undo, and the contents of the quarantine.
//!
//! These functions take no lock and change nothing, so they also work while another process uses
//! the folder.

use std::path::Path;

use fsops::{Context, Lock, Op, Stat};
use runtime::quantity::{append_counts, counted, size};

use crate::error::Error;
use crate::journal::actions::FileActions;
use crate::journal::ids::{FILES_SUFFIX, journal_path, run_numbers};
use crate::journal::leftovers::count_leftovers_as_done;
use crate::journal::replay::{Fate, Replay};
use crate::plan::kind::Kind;
use crate::quarantine::dirs::RestoreOutcome;
use crate::quarantine::purge::{QuarantinedFile, list_quarantined};
use crate::run::pick::{pick, read_only};
use crate::run::runs::{LOCK, Runs};
use crate::undo::method::FilePreview;
use crate::undo::outcome::{NothingLeft, UndoOutcome, UndoPreview};
use crate::undo::run::preview_undo;

/// Summary of a run according to its journal.
#[derive(Clone, Debug)]
pub struct RunSummary {
    /// The number of the run.
    pub run: u64,
    /// The action of the run on each file.
    pub kind: Kind,
    /// The time when the run began, in milliseconds since the epoch.
    pub started_ms: i64,
    /// The time when the run ended, in milliseconds since the epoch. `None` if it was cut off or is still running.
    pub ended_ms: Option<i64>,
    /// Number of files that were acted on.
    pub done: u64,
    /// Number of files that were acted on and later restored.
    pub undone: u64,
    /// Number of files that were purged from quarantine.
    pub purged: u64,
    /// Number of files that needed no action.
    pub already: u64,
    /// Number of files that were left alone.
    pub failed: u64,
    /// Number of these files that failed the first checks. The journal contains only their number, so [`Runs::actions`]
    /// omits them.
    pub unrecorded: u64,
    /// Number of bytes that were freed.
    pub freed: u64,
    /// Number of damaged lines in the journal. They are ignored.
    pub damaged: u64,
}

impl RunSummary {
    /// Returns the number of files that the run changed and that are still changed.
    pub fn still_changed(&self) -> u64 {
        self.done.saturating_sub(self.undone + self.purged)
    }

    /// Returns whether an undo can restore files. A reflink leaves nothing to restore.
    pub fn can_be_undone(&self) -> bool {
        self.still_changed() > 0 && self.kind != Kind::Reflink
    }

    /// Returns whether the run may still be in progress. `first` is the result of [`Runs::first_that_may_run`].
    pub fn may_run(&self, first: u64) -> bool {
        self.ended_ms.is_none() && self.run >= first
    }

    /// Returns what the run did, in words. `may_run` tells whether a run without an end may still be in progress.
    pub fn result(&self, may_run: bool) -> String {
        let mut text = match self.kind {
            Kind::Sweep => counted(self.done, "entry", "entries"),
            _ => counted(self.done, "file", "files"),
        };
        if self.freed > 0 {
            text.push_str(&format!(", {} freed", size(self.freed)));
        }
        let others = [
            (self.already, "already done"),
            (self.failed, "left alone"),
            (self.undone, "undone"),
            (self.purged, "purged"),
        ];
        append_counts(&mut text, others);
        text.push_str(match self.ended_ms {
            None if may_run => ", may still be running",
            None => ", interrupted",
            Some(_) => "",
        });
        if self.damaged > 0 {
            let lines = counted(self.damaged, "line", "lines");
            text.push_str(&format!(", {lines} of its journal damaged"));
        }
        text
    }
}

impl Runs {
    /// Returns all runs of a folder, oldest first. The list is empty if the folder does not exist.
    /// If the journal of a run cannot be read, the list contains the error in place of the run.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be listed. Nothing on disk changes.
    pub fn list(folder: &Path) -> Result<Vec<Result<RunSummary, Error>>, Error> {
        let summary = |run| Ok(read(folder, run)?.map(|replay| summary(run, &replay)));
        Ok(run_numbers(folder, FILES_SUFFIX)?
            .into_iter()
            .filter_map(|run| summary(run).transpose())
            .collect())
    }

    /// Returns the time when a run, an undo or a removal from the quarantine last changed a file, in
    /// milliseconds since the epoch: the modification time of the newest journal. Returns `None` if
    /// there are no journals.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be listed, or a journal cannot be examined. Nothing on disk
    /// changes.
    pub fn last_change_ms(folder: &Path) -> Result<Option<i64>, Error> {
        let mut newest = None;
        for run in run_numbers(folder, FILES_SUFFIX)? {
            let journal = journal_path(folder, run, FILES_SUFFIX);
            let stat = Stat::of_path(&journal).context(Op::Stat, || &journal)?;
            newest = newest.max(Some(stat.mtime_ns() / 1_000_000));
        }
        Ok(newest)
    }

    /// Returns the id of the process that is working on a run, an undo or a purge right now, or 0 if it
    /// is unknown. Returns `None` if no process is.
    pub fn process(folder: &Path) -> Option<u32> {
        Lock::holder_at(&folder.join(LOCK))
    }

    /// Returns the number of the first run that may still be in progress: the newest run if a process holds the lock,
    /// and otherwise the next run. A caller MUST call this before it reads the journals. A run that ends in between has
    /// an end in its journal, and a run that begins in between has a higher number.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be listed. Nothing on disk changes.
    pub fn first_that_may_run(folder: &Path) -> Result<u64, Error> {
        let newest = run_numbers(folder, FILES_SUFFIX)?.last().copied().unwrap_or(0);
        // This reads the lock after the list, so if it is free, all runs in the list are over.
        Ok(newest + u64::from(Runs::process(folder).is_none()))
    }

    /// Calls `each` for every file of a run with a preview of how [`Runs::undo`] would restore the
    /// file.
    ///
    /// # Errors
    ///
    /// Fails if there is no such run, it cannot be undone, or its journal cannot be read. Nothing on disk
    /// changes.
    pub fn preview(
        folder: &Path,
        run: Option<u64>,
        paths: &[Vec<u8>],
        unreadable: impl FnMut(Error),
        each: impl FnMut(FilePreview),
    ) -> Result<UndoPreview, Error> {
        let (run, replay) = pick(folder, run, |run| read_only(folder, run), unreadable)?;
        let unmatched = preview_undo(&replay, paths, each)?;
        let is_cut_off = replay.with_fate(Fate::Open).next().is_some();
        let nothing_left = NothingLeft::of(&replay);
        Ok(UndoPreview { run, unmatched, is_cut_off, damaged: replay.damaged, nothing_left })
    }

    /// Returns what a run did to each file, according to its journal and its staging directories.
    ///
    /// # Errors
    ///
    /// Fails if there is no such run, or its journal cannot be read. Nothing on disk changes.
    pub fn actions(folder: &Path, run: u64) -> Result<(RunSummary, FileActions), Error> {
        let replay = read_only(folder, run)?.ok_or(Error::NoRun(run))?;
        let numbers = replay.entries.keys().copied().collect();
        Ok((summary(run, &replay), FileActions::of(replay, numbers)))
    }

    /// Returns what a run had done to the files that an undo restored.
    ///
    /// # Errors
    ///
    /// Fails if there is no such run, or its journal cannot be read. Nothing on disk changes.
    pub fn undone_actions(
        folder: &Path,
        run: u64,
        undone: &UndoOutcome,
    ) -> Result<FileActions, Error> {
        actions_of(folder, run, &undone.back)
    }

    /// Returns, for each run, what the run had done to the files that were restored from
    /// quarantine.
    ///
    /// # Errors
    ///
    /// Fails if the journal of one of the runs cannot be read. Nothing on disk changes.
    pub fn restored_actions(
        folder: &Path,
        restored: &RestoreOutcome,
    ) -> Result<Vec<FileActions>, Error> {
        restored.back.iter().map(|(run, back)| actions_of(folder, *run, back)).collect()
    }

    /// Returns the files in quarantine, starting with those of the oldest run. Journals that cannot
    /// be read are skipped, and their errors are passed to `unreadable`.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be listed. Nothing on disk changes.
    pub fn quarantined(
        folder: &Path,
        mut unreadable: impl FnMut(Error),
    ) -> Result<Vec<QuarantinedFile>, Error> {
        let mut all = Vec::new();
        for run in run_numbers(folder, FILES_SUFFIX)? {
            let listed = read(folder, run).and_then(|replay| match replay {
                Some(mut replay) if replay.kind.fills_quarantine() => {
                    count_leftovers_as_done(&mut replay);
                    list_quarantined(run, &replay)
                }
                _ => Ok(Vec::new()),
            });
            match listed {
                Ok(files) => all.extend(files),
                Err(error) => unreadable(error),
            }
        }
        Ok(all)
    }
}

fn read(folder: &Path, run: u64) -> Result<Option<Replay>, Error> {
    Replay::read(&journal_path(folder, run, FILES_SUFFIX))
}

fn actions_of(folder: &Path, run: u64, intents: &[u64]) -> Result<FileActions, Error> {
    let replay = read(folder, run)?.ok_or(Error::NoRun(run))?;
    Ok(FileActions::of(replay, intents.to_vec()))
}

fn summary(run: u64, replay: &Replay) -> RunSummary {
    let count =
        |fates: &[Fate]| fates.iter().map(|&fate| replay.with_fate(fate).count() as u64).sum();
    let recorded: u64 = count(&[Fate::NotDone]);
    // A damaged line may be the one that names a file.
    let refused = replay.failed.filter(|_| replay.damaged == 0).unwrap_or(0);
    let has_reason = |n: &u64| replay.reasons.contains_key(n);
    let unrecorded =
        refused.saturating_sub(replay.with_fate(Fate::NotDone).filter(has_reason).count() as u64);
    RunSummary {
        run,
        kind: replay.kind,
        started_ms: replay.started_ms,
        ended_ms: replay.ended_ms,
        done: count(&[Fate::Done, Fate::Undone, Fate::Purged]),
        undone: count(&[Fate::Undone]),
        purged: count(&[Fate::Purged]),
        already: count(&[Fate::Same]),
        failed: recorded + unrecorded,
        unrecorded,
        freed: replay.freed,
        damaged: replay.damaged,
    }
}
