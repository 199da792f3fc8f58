//! Trash runs rename trees into a staging directory immediately, so that they can be removed later.
//!
//! Renaming a tree takes no longer for a million files than for one. It requires a directory on the
//! same file system that no other user can access. It also requires a journal, so that no tree is
//! forgotten. If a process is killed, the next process that claims the run removes the rest.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use fsops::{Lock, Op, Stat, create_dir_private, remove_file};
use runtime::epoch::now_ms;
use walk::{PathOpener, split_path};

use crate::error::{Error, Reason, Refusal};
use crate::journal::ids::{
    TREES_SUFFIX, create_next_journal, journal_path, new_run_id, run_numbers,
};
use crate::journal::json_bytes::JsonBytes;
use crate::journal::lines::FORMAT;
use crate::journal::log::Journal;
use crate::staging::dir::{parent_of_outer, remove_staging_if_empty};
use crate::staging::placement::{StagingDirs, StagingFailure, WorkerStagings};
use crate::trash::journal::{TrashRecord, TrashReplay, TreeIdentity, TreeRecord, lock_path};

/// Maximum number of directories kept open.
pub(crate) const MAX_OPEN_DIRS: usize = 16;

/// Number of times that [`TrashRun::claim`] tries to take the lock, and the pause between attempts.
/// Another process may hold the lock briefly for a query.
const CLAIM_ATTEMPTS: u32 = 10;
const CLAIM_PAUSE: Duration = Duration::from_millis(10);

/// A tree or any other single entry to trash.
#[derive(Clone, Debug)]
pub struct Tree {
    /// The absolute path, without symbolic links.
    pub path: Vec<u8>,
    /// The metadata of the entry when the user chose it.
    pub was: Stat,
}

/// A trash run that this process has claimed. No other process may remove its trees meanwhile.
#[derive(Debug)]
pub struct TrashRun {
    pub(crate) folder: PathBuf,
    pub(crate) run: u64,
    pub(crate) journal: Journal,
    /// Number of entries removed by this process that are already recorded in the journal.
    recorded_entries: AtomicU64,
    _lock: Lock,
}

/// The result of claiming a run.
#[derive(Debug)]
pub enum Claim {
    /// This process has claimed the run.
    Claimed(Box<TrashRun>),
    /// Another process is working on the run. Contains its process ID, if known.
    Busy(Option<u32>),
    /// The run is over.
    Over,
}

/// The result of starting a run.
#[derive(Debug)]
pub struct Started {
    /// The run with the trees.
    pub run: TrashRun,
    /// Number of trees that were moved.
    pub moved: u64,
    /// Trees that were not moved, with the reasons.
    pub refused: Vec<Refusal>,
    /// An error if a write to the journal failed. No further trees were moved in that case.
    pub ended: Result<(), Error>,
}

impl TrashRun {
    /// Starts a run and moves trees into staging directories. Ignores trees that are already gone.
    ///
    /// # Errors
    ///
    /// Fails if no journal can be created or written. No tree was moved.
    pub fn begin(folder: &Path, trees: &[Tree]) -> Result<Started, Error> {
        create_dir_private(folder)?;
        let (run, journal) = create_next_journal(folder, TREES_SUFFIX)?;
        let lock = Lock::take(&lock_path(folder, run), |_| {})?;
        let started_ms = now_ms();
        let id = new_run_id(started_ms);
        journal.append_record(&TrashRecord::Begin {
            format_version: FORMAT,
            run,
            id: id.clone(),
            started_ms,
        })?;
        let run = TrashRun::new(folder, run, journal, lock);
        let mut begun = Started { run, moved: 0, refused: Vec::new(), ended: Ok(()) };
        let staging_dirs = StagingDirs::new(&id, None);
        let mut stagings = WorkerStagings::default();
        let mut reach = PathOpener::new(MAX_OPEN_DIRS);
        for tree in trees {
            match begun.run.move_aside(tree, &staging_dirs, &mut stagings, &mut reach) {
                Ok(moved) => begun.moved += u64::from(moved),
                Err(StagingFailure::File(reason)) => {
                    begun.refused.push(Refusal { path: tree.path.clone(), reason });
                }
                Err(StagingFailure::Run(error)) => {
                    begun.ended = Err(error);
                    break;
                }
            }
        }
        Ok(begun)
    }

    /// Moves a tree into a staging directory. Returns whether the tree existed.
    fn move_aside(
        &self,
        tree: &Tree,
        staging_dirs: &StagingDirs,
        stagings: &mut WorkerStagings,
        reach: &mut PathOpener,
    ) -> Result<bool, StagingFailure> {
        let failed = |op| move |source| StagingFailure::File(Reason::Failed { op, source });
        let dir_path = split_path(&tree.path).0;
        let found = reach.parent_and_name(&tree.path).and_then(|(dir, name)| {
            let held = dir.hold(&name)?;
            Ok((dir, name, held))
        });
        let (dir, name, held) = match found {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(false),
            found => found.map_err(failed(Op::Open))?,
        };
        let is = held.stat().map_err(failed(Op::Stat))?;
        if !is.same_file(&tree.was) {
            return Err(StagingFailure::File(Reason::Swapped));
        }
        // The metadata of the parent directory is used, because a subvolume has its own device
        // number.
        let around = dir.stat().map_err(failed(Op::Stat))?;
        let staging = stagings.staging(staging_dirs, &around, dir_path, reach, &self.journal)?;
        let record = TreeRecord {
            n: self.journal.number(),
            store: staging.number,
            path: JsonBytes(tree.path.clone()),
            is: TreeIdentity::from(&is),
            was_in: TreeIdentity::from(&around),
            store_in: reach
                .dir(parent_of_outer(&staging.path))
                .and_then(|dir| dir.stat())
                .ok()
                .as_ref()
                .map(TreeIdentity::from),
            is_verified: false,
            is_settled: false,
        };
        self.journal.append_record(&TrashRecord::Tree(record.clone()))?;
        if let Err(source) = dir.take_out(&name, &staging.dir, &staging.name_of(record.n)) {
            self.journal.append_record(&TrashRecord::Not { n: record.n })?;
            return Err(failed(Op::Rename)(source));
        }
        self.verify_arrived(&record, &staging, reach, Some(&held))
            .map_err(StagingFailure::File)
            .map(|_| true)
    }

    /// Claims an unfinished run.
    ///
    /// # Errors
    ///
    /// Fails if the lock or the journal cannot be used. No tree was touched.
    pub fn claim(folder: &Path, run: u64) -> Result<Claim, Error> {
        let path = lock_path(folder, run);
        let mut lock = Lock::try_take(&path)?;
        for _ in 1..CLAIM_ATTEMPTS {
            if lock.is_ok() {
                break;
            }
            std::thread::sleep(CLAIM_PAUSE);
            lock = Lock::try_take(&path)?;
        }
        let lock = match lock {
            Ok(lock) => lock,
            Err(holder) => return Ok(Claim::Busy(holder)),
        };
        let Some(replay) = TrashReplay::read(folder, run)? else {
            // There is no usable journal, so no tree was moved. Another process may be about to
            // start this run.
            remove_file(&path)?;
            return Ok(Claim::Over);
        };
        if replay.ended_ms.is_some() {
            cleanup(&replay, &path)?;
            return Ok(Claim::Over);
        }
        let journal = Journal::open(journal_path(folder, run, TREES_SUFFIX), 0)?;
        Ok(Claim::Claimed(Box::new(TrashRun::new(folder, run, journal, lock))))
    }

    /// Returns the numbers of the unfinished runs in a folder, oldest first. Runs whose journals
    /// cannot be read are included.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be listed. Nothing on disk changes.
    pub fn unfinished(folder: &Path) -> Result<Vec<u64>, Error> {
        let mut runs = run_numbers(folder, TREES_SUFFIX)?;
        // If the lock file still exists, a process was killed before the cleanup.
        let is_over = |replay: TrashReplay| replay.ended_ms.is_some();
        runs.retain(|&run| {
            Stat::of_path(&lock_path(folder, run)).is_ok()
                || !matches!(
                    TrashReplay::read(folder, run).map(|replay| replay.is_none_or(is_over)),
                    Ok(true)
                )
        });
        Ok(runs)
    }

    /// Returns the number of the run.
    pub fn run(&self) -> u64 {
        self.run
    }

    pub(crate) fn replay(&self) -> Result<TrashReplay, Error> {
        Ok(TrashReplay::read(&self.folder, self.run)?.unwrap_or_default())
    }

    fn new(folder: &Path, run: u64, journal: Journal, lock: Lock) -> TrashRun {
        TrashRun {
            folder: folder.into(),
            run,
            journal,
            recorded_entries: AtomicU64::new(0),
            _lock: lock,
        }
    }

    /// Records how many entries this process has removed so far. At the end, also records how many
    /// it could not remove.
    ///
    /// # Errors
    ///
    /// Fails if the journal cannot be written.
    pub fn note_progress(&self, removed: u64, failed: Option<u64>) -> Result<(), Error> {
        let recorded_entries = self.recorded_entries.load(Relaxed);
        let entries = removed.saturating_sub(recorded_entries);
        if entries > 0 || failed.is_some() {
            self.journal.append_record(&TrashRecord::Removed { entries, failed })?;
            self.recorded_entries.store(recorded_entries + entries, Relaxed);
        }
        Ok(())
    }

    /// Ends the run if no tree is left. Returns whether the run ended. If the run moved nothing,
    /// removes its journal.
    ///
    /// # Errors
    ///
    /// Fails if the journal cannot be read or written, or a file of the run cannot be removed. The trees
    /// are gone or unchanged.
    pub fn finish(self) -> Result<bool, Error> {
        let replay = self.replay()?;
        let (left, unknown) = self.remaining_of(&replay);
        if !(left.is_empty() && unknown.is_empty()) {
            return Ok(false);
        }
        let lock = lock_path(&self.folder, self.run);
        if !replay.trees.is_empty() {
            self.journal.append_record(&TrashRecord::End { ended_ms: now_ms() })?;
            cleanup(&replay, &lock)?;
            return Ok(true);
        }
        if remove_staging_dirs(&replay) {
            remove_file(&journal_path(&self.folder, self.run, TREES_SUFFIX))?;
            remove_file(&lock)?;
        }
        Ok(true)
    }
}

/// Removes the run's staging directories, and then its lock. The cleanup is repeated as long as the
/// lock exists.
fn cleanup(replay: &TrashReplay, lock: &Path) -> Result<(), Error> {
    if remove_staging_dirs(replay) { Ok(remove_file(lock)?) } else { Ok(()) }
}

/// Removes the run's staging directories that are empty. Returns true unless the removal of one of
/// them failed.
fn remove_staging_dirs(replay: &TrashReplay) -> bool {
    let mut reach = PathOpener::new(MAX_OPEN_DIRS);
    let mut all_gone = true;
    for path in replay.staging_dirs.values() {
        all_gone &= remove_staging_if_empty(path, &mut reach).is_ok();
    }
    all_gone
}
