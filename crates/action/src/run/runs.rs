//! The folder of journals: starts, lists, undoes and recovers runs.
//!
//! Only one process at a time works on a folder; others wait for its lock. Functions that only read take no lock.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use fsops::{Lock, create_dir_private, remove_file};
use runtime::{Mutex, Progress};

use crate::error::Error;
use crate::journal::ids::{
    FILES_SUFFIX, create_next_journal, journal_path, new_run_id, now_ms, run_numbers,
};
use crate::journal::leftovers::count_leftovers_as_done;
use crate::journal::lines::FORMAT;
use crate::journal::log::Journal;
use crate::journal::record::Record;
use crate::journal::replay::{Fate, Replay};
use crate::plan::kind::Kind;
use crate::quarantine::dirs::{RestoreOutcome, restore_runs};
use crate::quarantine::manifest::Manifests;
use crate::quarantine::purge::{PurgeOutcome, purge_runs};
use crate::recover::recover;
use crate::run::apply::{ApplyOptions, DiskBatch, RunContext, apply_groups};
use crate::run::outcome::ApplyOutcome;
use crate::run::pick::pick;
use crate::staging::placement::StagingDirs;
use crate::undo::outcome::{NothingLeft, UndoOutcome};
use crate::undo::run::undo_run;

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
                Ok(Some(replay)) => recover(&replay, &Journal::open(runs.path(run), 1)?)?,
                Ok(None) => remove_file(&runs.path(run))?,
                // An unreadable journal does not keep other runs from starting. Its files stay as they are.
                Err(_) => {}
            }
        }
        Ok(runs)
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
        // The next [`Runs::open`] recovers the changes that the journal does not record.
        let is_recorded = !matches!(answer, Err(Error::File(_)));
        let ended = if !is_recorded || refused.iter().any(|refusal| refusal.reason.is_stranded()) {
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
        unreadable: impl FnMut(Error),
    ) -> Result<(RestoreOutcome, Result<(), Error>), Error> {
        let numbers = run_numbers(&self.folder, FILES_SUFFIX)?.into_iter().rev();
        restore_runs(self.quarantined_runs(numbers, unreadable), paths, progress)
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
        unreadable: impl FnMut(Error),
    ) -> Result<(PurgeOutcome, Result<(), Error>), Error> {
        let numbers = run_numbers(&self.folder, FILES_SUFFIX)?.into_iter();
        let runs = self.quarantined_runs(numbers, unreadable);
        purge_runs(runs.filter(|(.., replay)| replay.started_ms < before_ms), progress)
    }

    /// Reads, one after the other, the journals of those runs that have files in quarantine. Returns the number, the
    /// path of the journal and its replay. Passes the errors of journals that it skipped to `unreadable`.
    fn quarantined_runs(
        &self,
        numbers: impl Iterator<Item = u64>,
        mut unreadable: impl FnMut(Error),
    ) -> impl Iterator<Item = (u64, PathBuf, Replay)> {
        numbers.filter_map(move |run| match self.read(run) {
            Ok(replay) => replay
                .filter(|replay| replay.kind == Kind::Quarantine && replay.has_done())
                .map(|replay| (run, self.path(run), replay)),
            Err(error) => {
                unreadable(error);
                None
            }
        })
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

    fn path(&self, run: u64) -> PathBuf {
        journal_path(&self.folder, run, FILES_SUFFIX)
    }
}
