//! The folder of journals: starts, lists, undoes and recovers runs.
//!
//! Only one process at a time works on a folder. Other processes wait for its lock. Functions that
//! only read take no lock.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use fsops::{Lock, create_dir_private, remove_file};
use runtime::epoch::now_ms;
use runtime::{Mutex, Progress};

use crate::error::{Error, worse};
use crate::journal::ids::{
    FILES_SUFFIX, create_next_journal, journal_path, new_run_id, run_numbers,
};
use crate::journal::leftovers::count_leftovers_as_done;
use crate::journal::lines::FORMAT;
use crate::journal::log::Journal;
use crate::journal::record::Record;
use crate::journal::replay::{Fate, Replay};
use crate::plan::kind::Kind;
use crate::quarantine::dirs::{RestoreOutcome, restore_runs};
use crate::quarantine::manifest::Manifests;
use crate::quarantine::purge::{PurgeOutcome, RemoveTree, purge_runs};
use crate::recover::recover;
use crate::run::apply::{ApplyOptions, DiskBatch, RunContext, apply_groups};
use crate::run::outcome::ApplyOutcome;
use crate::run::pick::pick;
use crate::staging::placement::StagingDirs;
use crate::undo::outcome::{NothingLeft, UndoOutcome};
use crate::undo::run::undo_run;

/// A run that has begun.
#[derive(Debug)]
pub(crate) struct Begun {
    pub(crate) run: u64,
    pub(crate) journal: Journal,
    pub(crate) staging_dirs: StagingDirs,
    /// The manifests of the staging directories. `None` unless the run fills the quarantine.
    pub(crate) manifests: Option<Manifests>,
}

impl Begun {
    /// Records the end of the run, unless the next [`Runs::open`] must recover the run first.
    /// `answer` is the result of the run.
    ///
    /// # Errors
    ///
    /// The error in `answer`, or the error of writing the journal.
    pub(crate) fn end(
        &self,
        outcome: &ApplyOutcome,
        answer: Result<(), Error>,
    ) -> Result<(), Error> {
        let ApplyOutcome { done, freed, ref refused, .. } = *outcome;
        let failed = refused.len() as u64;
        // The next [`Runs::open`] recovers changes that are missing from the journal.
        let is_recorded = matches!(answer, Ok(()) | Err(Error::Interrupted(_)));
        if !is_recorded || refused.iter().any(|refusal| refusal.reason.is_stranded()) {
            return answer;
        }
        let ended = Record::End { ended_ms: now_ms(), done, failed, freed };
        worse(answer, self.journal.append_record(&ended))
    }
}

/// The name of the lock in the folder of journals.
pub(crate) const LOCK: &str = "lock";

/// The locked folder of journals.
#[derive(Debug)]
pub struct Runs {
    folder: PathBuf,
    _lock: Lock,
}

impl Runs {
    /// Opens the folder, creates it if it is missing, and recovers runs that were cut off. Recovery
    /// moves the files that such a run had taken out back to their former names.
    ///
    /// If another process holds the lock, calls `waiting` once with the ID of that process, if
    /// known.
    ///
    /// # Errors
    ///
    /// Fails if the folder or its lock cannot be used, or the journal of a run cannot be written. Runs
    /// before that one are recovered. A journal that cannot be read is not an error. Its files stay
    /// as they are.
    pub fn open(folder: &Path, waiting: impl FnOnce(Option<u32>)) -> Result<Runs, Error> {
        create_dir_private(folder)?;
        let lock = Lock::take(&folder.join(LOCK), waiting)?;
        let runs = Runs { folder: folder.into(), _lock: lock };
        for run in run_numbers(&runs.folder, FILES_SUFFIX)? {
            if matches!(Replay::is_over(&runs.path(run)), Ok(true)) {
                continue;
            }
            match Replay::read(&runs.path(run)) {
                Ok(Some(replay)) => recover(&replay, &Journal::open(runs.path(run), 1)?)?,
                Ok(None) => remove_file(&runs.path(run))?,
                // An unreadable journal does not prevent other runs from starting. Its files stay
                // as they are.
                Err(_) => {}
            }
        }
        Ok(runs)
    }

    /// Carries out groups as a new run. Returns the number of the run, its outcome, and whether it
    /// completed.
    ///
    /// # Errors
    ///
    /// The outer error means that no journal could be created, and nothing was done. The inner
    /// error means that the run stopped early because the journal could not be written or the user
    /// asked to stop. The outcome contains all actions up to that point. The journal contains those
    /// that could be written. Each file either has its own name or is in a staging directory. The
    /// next [`Runs::open`] restores files in staging directories.
    pub fn apply(
        &self,
        options: &ApplyOptions,
        batches: Vec<DiskBatch<'_>>,
        progress: &Progress,
    ) -> Result<(u64, ApplyOutcome, Result<(), Error>), Error> {
        let begun = self.begin(options.kind)?;
        let shared = RunContext {
            options,
            journal: &begun.journal,
            staging_dirs: &begun.staging_dirs,
            manifests: begun.manifests.as_ref(),
            progress,
            times: Mutex::new(HashMap::new()),
        };
        let (outcome, answer) = apply_groups(&shared, batches);
        let answer = begun.end(&outcome, answer);
        Ok((begun.run, outcome, answer))
    }

    /// Begins a run: creates its journal and writes the first record.
    ///
    /// # Errors
    ///
    /// Fails if the journal cannot be created or written.
    pub(crate) fn begin(&self, by: Kind) -> Result<Begun, Error> {
        let (run, journal) = create_next_journal(&self.folder, FILES_SUFFIX)?;
        let started_ms = now_ms();
        let id = new_run_id(started_ms);
        let staging_dirs = StagingDirs::new(&id, Some(by));
        let begin = Record::Begin { format_version: FORMAT, run, id, by, started_ms };
        journal.append_record(&begin)?;
        let manifests = by.fills_quarantine().then(|| Manifests::new(begin));
        Ok(Begun { run, journal, staging_dirs, manifests })
    }

    /// Returns the folder.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Restores what a run changed. Returns the number of the run, the outcome, and whether the
    /// undo completed.
    ///
    /// If `run` is `None`, undoes the last run that has something to restore. Journals that cannot
    /// be read are then skipped, and their errors are passed to `unreadable`. If `paths` is not
    /// empty, restores only files at or below one of the paths.
    ///
    /// # Errors
    ///
    /// The outer error means that there is no such run, that it cannot be undone, or that its
    /// journal cannot be read or written. Nothing was restored. The inner error means that the undo
    /// stopped early. Restored files stay restored, and the undo can be repeated.
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

    /// Restores files from quarantine, regardless of the run that moved them there. If `paths` is
    /// not empty, restores only files that were at or below one of the paths. Journals that cannot
    /// be read are skipped, and their errors are passed to `unreadable`.
    ///
    /// # Errors
    ///
    /// Same as for [`Runs::undo`]. Files restored before an error stay restored.
    pub fn restore(
        &self,
        paths: &[Vec<u8>],
        progress: &Progress,
        unreadable: impl FnMut(Error),
    ) -> Result<(RestoreOutcome, Result<(), Error>), Error> {
        let numbers = run_numbers(&self.folder, FILES_SUFFIX)?.into_iter().rev();
        restore_runs(self.quarantined_runs(numbers, unreadable), paths, progress)
    }

    /// Permanently removes the quarantined files of runs that began before `before_ms`, in
    /// milliseconds since the epoch. Journals that cannot be read are skipped, and their errors are
    /// passed to `unreadable`. `remove_tree` removes directory trees that a sweep moved.
    ///
    /// # Errors
    ///
    /// The outer error means that the folder or a journal cannot be used. The inner error means
    /// that the purge stopped early. In both cases, files that were already removed are gone.
    pub fn purge(
        &self,
        before_ms: i64,
        progress: &Progress,
        remove_tree: &mut RemoveTree<'_>,
        unreadable: impl FnMut(Error),
    ) -> Result<(PurgeOutcome, Result<(), Error>), Error> {
        let numbers = run_numbers(&self.folder, FILES_SUFFIX)?.into_iter();
        let runs = self.quarantined_runs(numbers, unreadable);
        let due = runs.filter(|(.., replay)| replay.started_ms < before_ms);
        purge_runs(due, progress, remove_tree)
    }

    /// Reads the journals of runs that have files in quarantine, one at a time. Returns the number
    /// of each run, the path of its journal, and its replay. Journals that cannot be read are
    /// skipped, and their errors are passed to `unreadable`.
    fn quarantined_runs(
        &self,
        numbers: impl Iterator<Item = u64>,
        mut unreadable: impl FnMut(Error),
    ) -> impl Iterator<Item = (u64, PathBuf, Replay)> {
        numbers.filter_map(move |run| match self.read(run) {
            Ok(replay) => replay
                .filter(|replay| replay.kind.fills_quarantine() && replay.has_done())
                .map(|replay| (run, self.path(run), replay)),
            Err(error) => {
                unreadable(error);
                None
            }
        })
    }

    /// Reads the journal of a run. Files that are found in its staging directories count as not
    /// restored. If the run has open intents, recovers the run first.
    fn read(&self, run: u64) -> Result<Option<Replay>, Error> {
        let Some(mut replay) = Replay::read(&self.path(run))? else { return Ok(None) };
        if replay.with_fate(Fate::Open).next().is_some() {
            // The intent could not be finished when the folder was opened, or the line with its
            // outcome is damaged.
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
