//! The folder with the journals: runs that are begun, listed, and brought to an end after a crash.
//!
//! One process at a time changes anything on behalf of a folder; others wait for its lock.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use fsops::{Lock, create_dir_private, remove_file};
use runtime::Progress;

use crate::error::Error;
use crate::journal::actions::FileActions;
use crate::journal::ids::{
    FILES_SUFFIX, TREES_SUFFIX, create_next_journal, journal_path, new_run_id, now_ms, run_numbers,
};
use crate::journal::leftovers::count_leftovers_as_done;
use crate::journal::lines::FORMAT;
use crate::journal::log::Journal;
use crate::journal::record::Record;
use crate::journal::replay::{Fate, Replay};
use crate::plan::kind::Kind;
use crate::quarantine::dirs::RestoreOutcome;
use crate::quarantine::manifest::Manifests;
use crate::quarantine::purge::{PurgeOutcome, QuarantinedFile, list_quarantined, purge_run};
use crate::recover::recover;
use crate::run::apply::{ApplyOptions, DiskBatch, RunContext, apply_groups};
use crate::run::outcome::ApplyOutcome;
use crate::staging::placement::StagingDirs;
use crate::undo::method::FilePreview;
use crate::undo::outcome::{NothingLeft, UndoOutcome, UndoPreview};
use crate::undo::run::{preview_undo, undo_run};

/// A run as its journal tells of it.
#[derive(Clone, Debug)]
pub struct RunSummary {
    /// Its number.
    pub run: u64,
    /// What was done with files.
    pub kind: Kind,
    /// When it began, milliseconds since the epoch.
    pub started_ms: i64,
    /// When it ended; nothing if it was cut off.
    pub ended_ms: Option<i64>,
    /// Files that were acted on.
    pub done: u64,
    /// Of those, files that were brought back.
    pub undone: u64,
    /// Of those, files that were removed from quarantine.
    pub purged: u64,
    /// Files that already were what they were to become.
    pub already: u64,
    /// Files that were left as they were.
    pub failed: u64,
    /// Bytes that were freed.
    pub freed: u64,
    /// Lines of its journal that are damaged, and count for nothing.
    pub damaged: u64,
}

/// The folder with the journals, locked.
#[derive(Debug)]
pub struct Runs {
    folder: PathBuf,
    _lock: Lock,
}

impl Runs {
    /// Opens the folder, made if it is missing, and brings runs to an end that were cut off: what they
    /// had taken out of its place gets its name back.
    ///
    /// If another process holds the lock, `waiting` is called once with that process's number.
    pub fn open(folder: &Path, waiting: impl FnOnce(Option<u32>)) -> Result<Runs, Error> {
        create_dir_private(folder)?;
        let lock = Lock::take(&folder.join("lock"), waiting)?;
        let runs = Runs { folder: folder.into(), _lock: lock };
        for run in run_numbers(&runs.folder, FILES_SUFFIX)? {
            if matches!(Replay::is_over(&runs.path(run)), Ok(true)) {
                continue;
            }
            match Replay::read(&runs.path(run)) {
                Ok(Some(replay)) => runs.finish(run, &replay)?,
                Ok(None) => remove_file(&runs.path(run))?,
                // No reason not to go on: what it tells of stays as it is.
                Err(_) => {}
            }
        }
        Ok(runs)
    }

    /// Returns all runs of a folder, the oldest first; none if there is no such folder.
    ///
    /// An error in place of a run tells that its journal cannot be read.
    pub fn list(folder: &Path) -> Result<Vec<Result<RunSummary, Error>>, Error> {
        let replay = |run| Replay::read(&journal_path(folder, run, FILES_SUFFIX));
        let summary = |run| Ok(replay(run)?.map(|replay| summary(run, &replay)));
        Ok(run_numbers(folder, FILES_SUFFIX)?
            .into_iter()
            .filter_map(|run| summary(run).transpose())
            .collect())
    }

    /// Carries out groups as a new run; returns its number and what came of it.
    ///
    /// The second value tells whether the run went to its end.
    pub fn apply(
        &self,
        options: &ApplyOptions,
        batches: Vec<DiskBatch<'_>>,
        progress: &Progress,
    ) -> Result<(u64, ApplyOutcome, Result<(), Error>), Error> {
        let (run, journal) = create_next_journal(&self.folder, FILES_SUFFIX)?;
        let started_ms = now_ms();
        let id = new_run_id(started_ms);
        let by = options.kind;
        let begin = Record::Begin { format_version: FORMAT, run, id: id.clone(), by, started_ms };
        journal.note(&begin)?;
        let manifests = (by == Kind::Quarantine).then(|| Manifests::new(begin));
        let stores = StagingDirs::new(&id, Some(by));
        let times = Mutex::new(HashMap::new());
        let shared =
            RunContext { options, journal: &journal, stores: &stores, manifests, progress, times };
        let (outcome, answer) = apply_groups(&shared, batches);
        let ApplyOutcome { done, freed, ref refused, .. } = outcome;
        let failed = refused.len() as u64;
        // What the journal does not tell, the next one finds out.
        let is_noted = !matches!(answer, Err(Error::File(_)));
        let ended = if !is_noted || refused.iter().any(|refusal| refusal.reason.is_stranded()) {
            Ok(())
        } else {
            journal.note(&Record::End { ended_ms: now_ms(), done, failed, freed })
        };
        Ok((run, outcome, answer.and(ended)))
    }

    /// Restores what a run changed; returns the number of the run. Without a number it is the last run that
    /// something is left to restore of; `unreadable` is told of journals that were passed over. With paths only
    /// files at or below one of those are restored.
    ///
    /// # Errors
    ///
    /// As for [`Runs::apply`].
    pub fn undo(
        &self,
        run: Option<u64>,
        paths: &[Vec<u8>],
        progress: &Progress,
        unreadable: impl FnMut(Error),
    ) -> Result<(u64, UndoOutcome, Result<(), Error>), Error> {
        let (run, replay) = pick(&self.folder, run, |run| self.read(run), unreadable)?;
        let nothing_left = NothingLeft::of(&replay);
        if nothing_left.is_some() {
            let unmatched = paths.to_vec();
            return Ok((
                run,
                UndoOutcome { unmatched, nothing_left, ..UndoOutcome::default() },
                Ok(()),
            ));
        }
        let journal = Journal::open(self.path(run), replay.next())?;
        let (undone, answer) = undo_run(&replay, paths, &journal, progress)?;
        Ok((run, undone, answer))
    }

    /// Tells `each` of the files of a run how [`Runs::undo`] would restore it. Changes nothing.
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

    /// Returns what a run did with each file, as its journal and its stores tell.
    pub fn actions(folder: &Path, run: u64) -> Result<(RunSummary, FileActions), Error> {
        let replay = read_only(folder, run)?.ok_or(Error::NoRun(run))?;
        Ok((summary(run, &replay), FileActions::all(replay)))
    }

    /// Returns what a run did with the files that an undo of it has restored.
    pub fn undone_actions(
        folder: &Path,
        run: u64,
        undone: &UndoOutcome,
    ) -> Result<FileActions, Error> {
        let replay =
            Replay::read(&journal_path(folder, run, FILES_SUFFIX))?.ok_or(Error::NoRun(run))?;
        Ok(FileActions::of(replay, undone.back.clone()))
    }

    /// Returns what runs did with the files that were given their names back, run by run.
    pub fn restored_actions(
        folder: &Path,
        restored: &RestoreOutcome,
    ) -> Result<Vec<FileActions>, Error> {
        let of = |(run, back): &(u64, Vec<u64>)| {
            let replay = Replay::read(&journal_path(folder, *run, FILES_SUFFIX))?
                .ok_or(Error::NoRun(*run))?;
            Ok(FileActions::of(replay, back.clone()))
        };
        restored.back.iter().map(of).collect()
    }

    /// Returns the files in quarantine, those of the oldest run first; `unreadable` is told of journals that
    /// were passed over.
    pub fn quarantined(
        folder: &Path,
        mut unreadable: impl FnMut(Error),
    ) -> Result<Vec<QuarantinedFile>, Error> {
        let mut all = Vec::new();
        for run in run_numbers(folder, FILES_SUFFIX)? {
            let listed =
                Replay::read(&journal_path(folder, run, FILES_SUFFIX)).and_then(|replay| {
                    match replay {
                        Some(mut replay) if replay.by == Kind::Quarantine => {
                            count_leftovers_as_done(&mut replay);
                            list_quarantined(run, &replay)
                        }
                        _ => Ok(Vec::new()),
                    }
                });
            match listed {
                Ok(files) => all.extend(files),
                Err(error) => unreadable(error),
            }
        }
        Ok(all)
    }

    /// Gives files in quarantine their names back, whichever run moved them there; with paths only those that were
    /// at or below one of them. `unreadable` is told of journals that were passed over.
    ///
    /// # Errors
    ///
    /// As for [`Runs::apply`].
    pub fn restore(
        &self,
        paths: &[Vec<u8>],
        progress: &Progress,
        mut unreadable: impl FnMut(Error),
    ) -> Result<(RestoreOutcome, Result<(), Error>), Error> {
        let mut all = RestoreOutcome { unmatched: paths.to_vec(), ..RestoreOutcome::default() };
        for run in run_numbers(&self.folder, FILES_SUFFIX)?.into_iter().rev() {
            let replay = match self.read(run) {
                Ok(replay) => {
                    replay.filter(|replay| replay.by == Kind::Quarantine && replay.has_done())
                }
                Err(error) => {
                    unreadable(error);
                    None
                }
            };
            let Some(replay) = replay else { continue };
            let journal = Journal::open(self.path(run), replay.next())?;
            let (undone, ended) = undo_run(&replay, paths, &journal, progress)?;
            all.add(run, undone);
            if ended.is_err() {
                return Ok((all, ended));
            }
        }
        Ok((all, Ok(())))
    }

    /// Removes files from quarantine for good that were moved there before `before_ms`, milliseconds since
    /// the epoch; `unreadable` is told of journals that were passed over.
    ///
    /// # Errors
    ///
    /// As for [`Runs::apply`].
    pub fn purge(
        &self,
        before_ms: i64,
        progress: &Progress,
        mut unreadable: impl FnMut(Error),
    ) -> Result<(PurgeOutcome, Result<(), Error>), Error> {
        let mut purged = PurgeOutcome::default();
        for run in run_numbers(&self.folder, FILES_SUFFIX)? {
            let replay = match self.read(run) {
                Ok(Some(replay)) => replay,
                Ok(None) => continue,
                Err(error) => {
                    unreadable(error);
                    continue;
                }
            };
            let is_due = replay.by == Kind::Quarantine && replay.started_ms < before_ms;
            if !is_due || !replay.has_done() {
                continue;
            }
            let journal = Journal::open(self.path(run), replay.next())?;
            if let Err(error) = purge_run(&replay, &journal, progress, &mut purged) {
                return Ok((purged, Err(error)));
            }
        }
        Ok((purged, Ok(())))
    }

    /// Reads the journal of a run, and looks into its stores for what is left there.
    fn read(&self, run: u64) -> Result<Option<Replay>, Error> {
        let Some(mut replay) = Replay::read(&self.path(run))? else { return Ok(None) };
        if replay.with_fate(Fate::Open).next().is_some() {
            // It could not be settled when the folder was opened, or the line that settles it is damaged.
            recover(&replay, &Journal::open(self.path(run), replay.next())?)?;
            let Some(again) = Replay::read(&self.path(run))? else { return Ok(None) };
            replay = again;
        }
        count_leftovers_as_done(&mut replay);
        Ok(Some(replay))
    }

    /// Brings a run that was cut off to an end.
    fn finish(&self, run: u64, replay: &Replay) -> Result<(), Error> {
        let journal = Journal::open(self.path(run), 1)?;
        recover(replay, &journal)
    }

    fn path(&self, run: u64) -> PathBuf {
        journal_path(&self.folder, run, FILES_SUFFIX)
    }
}

/// Reads the journal of a run, and looks into its stores for what is left there. Changes nothing.
fn read_only(folder: &Path, run: u64) -> Result<Option<Replay>, Error> {
    if !run_numbers(folder, FILES_SUFFIX)?.contains(&run) {
        return Ok(None);
    }
    let mut replay = Replay::read(&journal_path(folder, run, FILES_SUFFIX))?;
    replay.as_mut().map(count_leftovers_as_done);
    Ok(replay)
}

/// Returns the run that is to be undone: the one of this number, or the last one that something is left to restore
/// of.
fn pick(
    folder: &Path,
    run: Option<u64>,
    read: impl Fn(u64) -> Result<Option<Replay>, Error>,
    mut unreadable: impl FnMut(Error),
) -> Result<(u64, Replay), Error> {
    if let Some(run) = run {
        if run_numbers(folder, TREES_SUFFIX)?.contains(&run) {
            return Err(Error::WasPurge(run));
        }
        let exists = run_numbers(folder, FILES_SUFFIX)?.contains(&run);
        let replay = if exists { read(run)? } else { None };
        return match replay.ok_or(Error::NoRun(run))? {
            replay if replay.by == Kind::Reflink => {
                Err(Error::NothingToRestore { run, older: None })
            }
            replay => Ok((run, replay)),
        };
    }
    let mut shared = None;
    for run in run_numbers(folder, FILES_SUFFIX)?.into_iter().rev() {
        let replay = match read(run) {
            Ok(replay) => replay.filter(Replay::has_done),
            Err(error) => {
                unreadable(error);
                None
            }
        };
        match (replay, shared) {
            (None, _) => {}
            // To undo an older run instead is not what was asked for.
            (Some(replay), _) if replay.by == Kind::Reflink => drop(shared.get_or_insert(run)),
            (Some(replay), None) => return Ok((run, replay)),
            (Some(_), Some(shared)) => {
                return Err(Error::NothingToRestore { run: shared, older: Some(run) });
            }
        }
    }
    Err(shared.map_or(Error::NothingToUndo, |run| Error::NothingToRestore { run, older: None }))
}

fn summary(run: u64, replay: &Replay) -> RunSummary {
    let count =
        |fates: &[Fate]| fates.iter().map(|&fate| replay.with_fate(fate).count() as u64).sum();
    RunSummary {
        run,
        kind: replay.by,
        started_ms: replay.started_ms,
        ended_ms: replay.ended_ms,
        done: count(&[Fate::Done, Fate::Undone, Fate::Purged]),
        undone: count(&[Fate::Undone]),
        purged: count(&[Fate::Purged]),
        already: count(&[Fate::Same]),
        failed: count(&[Fate::NotDone]),
        freed: replay.freed,
        damaged: replay.damaged,
    }
}
