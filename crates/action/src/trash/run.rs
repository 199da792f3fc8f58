//! Runs that discard trees: moved aside at once, removed when there is time.
//!
//! A rename takes no longer for a million files than for one. What it needs is a directory on the same file
//! system that nobody else can reach into, and a journal, so that what was moved is not forgotten: a
//! process that is killed leaves the rest to the next one that takes the run up.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use fsops::{Lock, Op, Stat, create_dir_private, remove_file};
use walk::{Reach, split};

use crate::error::{Error, Reason, Refusal};
use crate::journal::ids::{
    TREES_SUFFIX, create_next_journal, journal_path, new_run_id, now_ms, run_numbers,
};
use crate::journal::json_bytes::JsonBytes;
use crate::journal::lines::FORMAT;
use crate::journal::log::Journal;

use crate::staging::dir::{parent_of_store, remove_staging_if_empty};
use crate::staging::placement::{StagingDirs, StagingFailure, WorkerStagings};
use crate::trash::journal::{TrashRecord, TrashReplay, TreeIdentity, TreeRecord, lock_path};

/// Directories kept open.
pub(crate) const OPEN_DIRS: usize = 16;

/// How often a run is looked for that somebody else may only be asking about, and the rest between.
const LOOKS: u32 = 10;
const REST: Duration = Duration::from_millis(10);

/// A tree that is to go, or anything else that has a name.
#[derive(Clone, Debug)]
pub struct Tree {
    /// Absolute path, no link in it.
    pub path: Vec<u8>,
    /// What was there when that was decided.
    pub was: Stat,
}

/// A run whose trees this process may remove, and no other one.
#[derive(Debug)]
pub struct TrashRun {
    pub(crate) folder: PathBuf,
    pub(crate) run: u64,
    pub(crate) journal: Journal,
    /// Entries removed by this process that the journal tells of.
    noted_entries: AtomicU64,
    _lock: Lock,
}

/// What came of taking up a run.
#[derive(Debug)]
pub enum Claim {
    /// It is this process's.
    Ours(Box<TrashRun>),
    /// Another process, of this number, is at it.
    Busy(Option<u32>),
    /// There is nothing left of it.
    Over,
}

/// What came of moving trees aside.
#[derive(Debug)]
pub struct Started {
    /// The run that has them.
    pub discard: TrashRun,
    /// How many were moved.
    pub moved: u64,
    /// Those that were not, which are where they were.
    pub refused: Vec<Refusal>,
    /// Whether the journal could be written until the end. If not, nothing more was moved.
    pub ended: Result<(), Error>,
}

impl TrashRun {
    /// Moves trees aside as a new run. Those that are gone are none of its business.
    ///
    /// # Errors
    ///
    /// That there can be no journal. Nothing was moved.
    pub fn begin(folder: &Path, trees: &[Tree]) -> Result<Started, Error> {
        create_dir_private(folder)?;
        let (run, journal) = create_next_journal(folder, TREES_SUFFIX)?;
        let lock = Lock::take(&lock_path(folder, run), |_| {})?;
        let started_ms = now_ms();
        let id = new_run_id(started_ms);
        journal.note(&TrashRecord::Begin {
            format_version: FORMAT,
            run,
            id: id.clone(),
            started_ms,
        })?;
        let discard = TrashRun::new(folder, run, journal, lock);
        let (moved, refused, ended) = (0, Vec::new(), Ok(()));
        let mut begun = Started { discard, moved, refused, ended };
        let (stores, mut used, mut reach) =
            (StagingDirs::new(&id, None), WorkerStagings::default(), Reach::new(OPEN_DIRS));
        for tree in trees {
            match begun.discard.move_aside(tree, &stores, &mut used, &mut reach) {
                Ok(moved) => begun.moved += u64::from(moved),
                Err(StagingFailure::Here(reason)) => {
                    begun.refused.push(Refusal { path: tree.path.clone(), reason });
                }
                Err(StagingFailure::Anywhere(error)) => {
                    begun.ended = Err(error);
                    break;
                }
            }
        }
        Ok(begun)
    }

    /// Moves a tree aside; returns whether it was there.
    fn move_aside(
        &self,
        tree: &Tree,
        stores: &StagingDirs,
        used: &mut WorkerStagings,
        reach: &mut Reach,
    ) -> Result<bool, StagingFailure> {
        let failed = |op| move |source| StagingFailure::Here(Reason::Failed { op, source });
        let dir_path = split(&tree.path).0;
        let found = reach.site(&tree.path).and_then(|(dir, name)| {
            let held = dir.hold(&name)?;
            Ok((dir, name, held))
        });
        let (dir, name, held) = match found {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(false),
            found => found.map_err(failed(Op::Open))?,
        };
        let is = held.stat().map_err(failed(Op::Stat))?;
        if !is.same_file(&tree.was) {
            return Err(StagingFailure::Here(Reason::Swapped));
        }
        // The directory's, as a subvolume has a device number of its own.
        let around = dir.stat().map_err(failed(Op::Stat))?;
        let staging = used.staging(stores, &around, dir_path, reach, &self.journal)?;
        let noted = TreeRecord {
            n: self.journal.number(),
            store: staging.number,
            path: JsonBytes(tree.path.clone()),
            is: TreeIdentity::from(&is),
            was_in: TreeIdentity::from(&around),
            store_in: reach
                .dir(parent_of_store(&staging.path))
                .and_then(|dir| dir.stat())
                .ok()
                .as_ref()
                .map(TreeIdentity::from),
            moved: false,
            over: false,
        };
        self.journal.note(&TrashRecord::Tree(noted.clone()))?;
        if let Err(source) = dir.take_out(&name, &staging.dir, &staging.name_of(noted.n)) {
            self.journal.note(&TrashRecord::Not { n: noted.n })?;
            return Err(failed(Op::Rename)(source));
        }
        self.look_at(&noted, &staging, reach, Some(&held))
            .map_err(StagingFailure::Here)
            .map(|_| true)
    }

    /// Takes up a run that is not over.
    pub fn claim(folder: &Path, run: u64) -> Result<Claim, Error> {
        let path = lock_path(folder, run);
        let mut lock = Lock::try_take(&path)?;
        for _ in 1..LOOKS {
            if lock.is_ok() {
                break;
            }
            std::thread::sleep(REST);
            lock = Lock::try_take(&path)?;
        }
        let lock = match lock {
            Ok(lock) => lock,
            Err(holder) => return Ok(Claim::Busy(holder)),
        };
        let Some(replay) = TrashReplay::read(folder, run)? else {
            // Nothing was moved, and perhaps it is just about to begin.
            remove_file(&path)?;
            return Ok(Claim::Over);
        };
        if replay.ended_ms.is_some() {
            cleanup(&replay, &path)?;
            return Ok(Claim::Over);
        }
        let journal = Journal::open(journal_path(folder, run, TREES_SUFFIX), 0)?;
        Ok(Claim::Ours(Box::new(TrashRun::new(folder, run, journal, lock))))
    }

    /// Returns the numbers of the runs in a folder that something is left of, the oldest first. Those whose
    /// journal cannot be read are among them.
    pub fn unfinished(folder: &Path) -> Result<Vec<u64>, Error> {
        let mut runs = run_numbers(folder, TREES_SUFFIX)?;
        // One that was killed before it could tidy has its lock.
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

    /// Returns its number.
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
            noted_entries: AtomicU64::new(0),
            _lock: lock,
        }
    }

    /// Notes how many entries this process has removed so far and, at the end, how many it could not.
    pub fn note_progress(&self, removed: u64, failed: Option<u64>) -> Result<(), Error> {
        let noted_entries = self.noted_entries.load(Relaxed);
        let entries = removed.saturating_sub(noted_entries);
        if entries > 0 || failed.is_some() {
            self.journal.note(&TrashRecord::Removed { entries, failed })?;
            self.noted_entries.store(noted_entries + entries, Relaxed);
        }
        Ok(())
    }

    /// Ends the run if nothing is left of it; returns whether. One that moved nothing leaves no journal.
    pub fn finish(self) -> Result<bool, Error> {
        let replay = self.replay()?;
        let (left, unknown) = self.remaining_of(&replay);
        if !(left.is_empty() && unknown.is_empty()) {
            return Ok(false);
        }
        let lock = lock_path(&self.folder, self.run);
        if !replay.trees.is_empty() {
            self.journal.note(&TrashRecord::End { ended_ms: now_ms() })?;
            cleanup(&replay, &lock)?;
            return Ok(true);
        }
        if remove_stores(&replay) {
            remove_file(&journal_path(&self.folder, self.run, TREES_SUFFIX))?;
            remove_file(&lock)?;
        }
        Ok(true)
    }
}

/// Removes what a run needs no more, the lock at last: who finds that tidies.
fn cleanup(replay: &TrashReplay, lock: &Path) -> Result<(), Error> {
    if remove_stores(replay) { Ok(remove_file(lock)?) } else { Ok(()) }
}

/// Removes a run's directories; returns whether all are gone that nothing is in.
fn remove_stores(replay: &TrashReplay) -> bool {
    let mut reach = Reach::new(OPEN_DIRS);
    let mut all_gone = true;
    for store in &replay.stores {
        all_gone &= remove_staging_if_empty(&store.path, &mut reach);
    }
    all_gone
}
