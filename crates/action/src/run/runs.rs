//! The folder of journals: starts, lists, undoes and recovers runs.
//!
//! Only one process at a time works on a folder; others wait for its lock. Functions that only read take no lock.

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

/// A run, as its journal describes it.
#[derive(Clone, Debug)]
pub struct RunSummary {
    /// The number of the run.
    pub run: u64,
    /// What the run did with files.
    pub kind: Kind,
    /// When the run began, in milliseconds since the epoch.
    pub started_ms: i64,
    /// When the run ended; `None` if it was cut off.
    pub ended_ms: Option<i64>,
    /// How many files were acted on.
    pub done: u64,
    /// How many of those were restored.
    pub undone: u64,
    /// How many of those were purged from quarantine.
    pub purged: u64,
    /// How many files already were what the action makes of them.
    pub already: u64,
    /// How many files were left alone.
    pub failed: u64,
    /// How many bytes were freed.
    pub freed: u64,
    /// How many lines of the journal are damaged. They are ignored.
    pub damaged: u64,
}

/// The folder of journals, locked.
#[derive(Debug)]
pub struct Runs {
    folder: PathBuf,
    _lock: Lock,
}

impl Runs {
    /// Opens the folder, creates it if it is missing, and recovers runs that were cut off: files that they had taken
    /// out get their names back.
    ///
    /// If another process holds the lock, calls `waiting` once with that process's number.
    ///
    /// # Errors
    ///
    /// If the folder or its lock cannot be used, or the journal of a recovered run cannot be written. Runs before
    /// that one are recovered. A journal that cannot be read is no error; its files stay as they are.
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
                // An unreadable journal does not keep other runs from starting. Its files stay as they are.
                Err(_) => {}
            }
        }
        Ok(runs)
    }

    /// Returns all runs of a folder, oldest first; none if the folder does not exist. A run whose journal cannot be
    /// read is an error in the list.
    ///
    /// # Errors
    ///
    /// If the folder cannot be listed. Nothing on disk changes.
    pub fn list(folder: &Path) -> Result<Vec<Result<RunSummary, Error>>, Error> {
        let replay = |run| Replay::read(&journal_path(folder, run, FILES_SUFFIX));
        let summary = |run| Ok(replay(run)?.map(|replay| summary(run, &replay)));
        Ok(run_numbers(folder, FILES_SUFFIX)?
            .into_iter()
            .filter_map(|run| summary(run).transpose())
            .collect())
    }

    /// Carries out groups as a new run. Returns the number of the run, its outcome, and whether it completed.
    ///
    /// # Errors
    ///
    /// The outer error means that no journal could be created; nothing was done. The inner one means that the run
    /// stopped early because the journal could not be written or the user asked to stop. Whatever was done until
    /// then is in the outcome and, as far as it could be written, in the journal; each file has its own name or is
    /// in a staging directory, from where the next [`Runs::open`] restores it.
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
        journal.append_record(&begin)?;
        let manifests = (by == Kind::Quarantine).then(|| Manifests::new(begin));
        let staging_dirs = StagingDirs::new(&id, Some(by));
        let times = Mutex::new(HashMap::new());
        let shared = RunContext {
            options,
            journal: &journal,
            staging_dirs: &staging_dirs,
            manifests,
            progress,
            times,
        };
        let (outcome, answer) = apply_groups(&shared, batches);
        let ApplyOutcome { done, freed, ref refused, .. } = outcome;
        let failed = refused.len() as u64;
        // What the journal lacks is found out by the next [`Runs::open`].
        let is_noted = !matches!(answer, Err(Error::File(_)));
        let ended = if !is_noted || refused.iter().any(|refusal| refusal.reason.is_stranded()) {
            Ok(())
        } else {
            journal.append_record(&Record::End { ended_ms: now_ms(), done, failed, freed })
        };
        Ok((run, outcome, answer.and(ended)))
    }

    /// Restores what a run changed. Returns the number of the run, the outcome, and whether the undo completed.
    /// Without a number, it undoes the last run that has something to restore, and passes the errors of journals
    /// that it skipped to `unreadable`. With paths, it restores only files at or below one of them.
    ///
    /// # Errors
    ///
    /// The outer error means that there is no such run, that it cannot be undone, or that its journal cannot be read
    /// or written; nothing was restored. The inner one means that the undo stopped early; restored files stay
    /// restored, and the undo can be repeated.
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

    /// Passes to `each`, file by file, how [`Runs::undo`] would restore it. Changes nothing.
    ///
    /// # Errors
    ///
    /// If there is no such run, it cannot be undone, or its journal cannot be read. Nothing on disk changes.
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

    /// Returns what a run did with each file, according to its journal and its staging directories.
    ///
    /// # Errors
    ///
    /// If there is no such run, or its journal cannot be read. Nothing on disk changes.
    pub fn actions(folder: &Path, run: u64) -> Result<(RunSummary, FileActions), Error> {
        let replay = read_only(folder, run)?.ok_or(Error::NoRun(run))?;
        Ok((summary(run, &replay), FileActions::all(replay)))
    }

    /// Returns what a run did with the files that an undo of it restored.
    ///
    /// # Errors
    ///
    /// If there is no such run, or its journal cannot be read. Nothing on disk changes.
    pub fn undone_actions(
        folder: &Path,
        run: u64,
        undone: &UndoOutcome,
    ) -> Result<FileActions, Error> {
        let replay =
            Replay::read(&journal_path(folder, run, FILES_SUFFIX))?.ok_or(Error::NoRun(run))?;
        Ok(FileActions::of(replay, undone.back.clone()))
    }

    /// Returns, run by run, what runs did with files that were restored from quarantine.
    ///
    /// # Errors
    ///
    /// If the journal of one of the runs cannot be read. Nothing on disk changes.
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

    /// Returns the files in quarantine, those of the oldest run first. Passes the errors of journals that it skipped
    /// to `unreadable`.
    ///
    /// # Errors
    ///
    /// If the folder cannot be listed. Nothing on disk changes.
    pub fn quarantined(
        folder: &Path,
        mut unreadable: impl FnMut(Error),
    ) -> Result<Vec<QuarantinedFile>, Error> {
        let mut all = Vec::new();
        for run in run_numbers(folder, FILES_SUFFIX)? {
            let listed =
                Replay::read(&journal_path(folder, run, FILES_SUFFIX)).and_then(|replay| {
                    match replay {
                        Some(mut replay) if replay.kind == Kind::Quarantine => {
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

    /// Restores files from quarantine, whichever run moved them there. With paths, restores only files that were at
    /// or below one of them. Passes the errors of journals that it skipped to `unreadable`.
    ///
    /// # Errors
    ///
    /// As for [`Runs::undo`]: files restored before an error stay restored.
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
                    replay.filter(|replay| replay.kind == Kind::Quarantine && replay.has_done())
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

    /// Permanently removes files that were moved to quarantine before `before_ms`, in milliseconds since the epoch.
    /// Passes the errors of journals that it skipped to `unreadable`.
    ///
    /// # Errors
    ///
    /// The outer error means that the folder or a journal cannot be used. The inner one means that the purge stopped
    /// early. In both cases, files that were removed until then are gone.
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
            let is_due = replay.kind == Kind::Quarantine && replay.started_ms < before_ms;
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

    /// Reads the journal of a run, and counts files found in its staging directories as not restored. Recovers the
    /// run first if it has open intents.
    fn read(&self, run: u64) -> Result<Option<Replay>, Error> {
        let Some(mut replay) = Replay::read(&self.path(run))? else { return Ok(None) };
        if replay.with_fate(Fate::Open).next().is_some() {
            // The intent could not be finished when the folder was opened, or the line about its outcome is damaged.
            recover(&replay, &Journal::open(self.path(run), replay.next())?)?;
            let Some(again) = Replay::read(&self.path(run))? else { return Ok(None) };
            replay = again;
        }
        count_leftovers_as_done(&mut replay);
        Ok(Some(replay))
    }

    /// Recovers a run that was cut off.
    fn finish(&self, run: u64, replay: &Replay) -> Result<(), Error> {
        let journal = Journal::open(self.path(run), 1)?;
        recover(replay, &journal)
    }

    fn path(&self, run: u64) -> PathBuf {
        journal_path(&self.folder, run, FILES_SUFFIX)
    }
}

/// Like [`Runs::read`], but recovers nothing and changes nothing.
fn read_only(folder: &Path, run: u64) -> Result<Option<Replay>, Error> {
    if !run_numbers(folder, FILES_SUFFIX)?.contains(&run) {
        return Ok(None);
    }
    let mut replay = Replay::read(&journal_path(folder, run, FILES_SUFFIX))?;
    replay.as_mut().map(count_leftovers_as_done);
    Ok(replay)
}

/// Returns the run to undo: the one with this number, or the last one that has something to restore.
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
            replay if replay.kind == Kind::Reflink => {
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
            // Undoing an older run instead is not what the user asked for.
            (Some(replay), _) if replay.kind == Kind::Reflink => drop(shared.get_or_insert(run)),
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
        kind: replay.kind,
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
