//! Moves entries into quarantine, one batch after the other.
//!
//! The intents of a batch are on the disk before its first rename. The outcomes follow without a sync,
//! because after a crash the file system shows which entries were moved.

use std::collections::{BTreeMap, HashSet};
use std::ffi::CString;
use std::io;
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

use fsops::{Dir, Op, Stat};
use runtime::Progress;
use walk::{PathOpener, split_path};

use crate::error::{Error, Reason, Refusal, clone_io_error};
use crate::journal::json_bytes::JsonBytes;
use crate::journal::lines::Lines;
use crate::journal::record::{Record, Take};
use crate::plan::obstacle::has_quarantine_name;
use crate::quarantine::manifest::{OpenManifests, PendingIntents};
use crate::run::outcome::ApplyOutcome;
use crate::run::runs::Begun;
use crate::staging::dir::Staging;
use crate::staging::name_swap::{NameSwap, Substitute};
use crate::staging::placement::{StagingFailure, WorkerStagings};
use crate::sweep::check::{Checker, Parent, has_arrived};
use crate::sweep::{SweepEntry, SweepOptions, is_in_a_tree};

/// Number of entries in a batch. Each batch takes two syncs, which may last several milliseconds each, and
/// about 3 MiB of memory.
const MAX_BATCH: usize = 4096;

/// An entry whose intent waits to be written.
struct Planned {
    entry: SweepEntry,
    n: u64,
    staging: Staging,
}

/// A directory from which entries are being moved.
struct Origin {
    path: Vec<u8>,
    dir: Rc<Dir>,
    /// The metadata before the moves.
    before: Stat,
}

/// The state of a sweep.
pub(crate) struct Sweeper<'a> {
    begun: &'a Begun,
    progress: &'a Progress,
    checker: Checker<'a>,
    reach: PathOpener,
    stagings: WorkerStagings,
    /// The parent of the last entry. Most entries have the same parent as the one before.
    parent: Option<Rc<Parent>>,
    batch: Vec<Planned>,
    /// The paths of the trees in the batch.
    trees: HashSet<Vec<u8>>,
    /// Lines to append to the journal with the next write.
    lines: Lines,
    manifest_lines: PendingIntents,
    manifests: OpenManifests,
    /// The first and the last number of moved entries whose outcome is not in `lines` yet.
    moved: Option<(u64, u64)>,
    pub(crate) outcome: ApplyOutcome,
}

impl<'a> Sweeper<'a> {
    /// Creates the state for a run that has begun. `folder` is the folder of journals.
    pub(crate) fn new(
        options: &'a SweepOptions<'a>,
        begun: &'a Begun,
        folder: &Path,
        progress: &'a Progress,
    ) -> Sweeper<'a> {
        Sweeper {
            begun,
            progress,
            checker: Checker::new(options, folder),
            reach: PathOpener::new(options.open_dirs),
            stagings: WorkerStagings::default(),
            parent: None,
            batch: Vec::new(),
            trees: HashSet::new(),
            lines: Lines::default(),
            manifest_lines: BTreeMap::new(),
            manifests: OpenManifests::default(),
            moved: None,
            outcome: ApplyOutcome::default(),
        }
    }

    /// Moves all entries.
    ///
    /// # Errors
    ///
    /// Fails if the journal cannot be written, or the user asked to stop. Each entry is then either
    /// under its name, or in quarantine and in the journal.
    pub(crate) fn run(&mut self, entries: impl Iterator<Item = SweepEntry>) -> Result<(), Error> {
        for entry in entries {
            // An entry in a tree of the batch is checked only after the tree was moved.
            if self.batch.len() >= MAX_BATCH || is_in_a_tree(&self.trees, &entry.path) {
                self.carry_out()?;
            }
            match self.check(&entry) {
                Ok(staging) => self.plan(entry, staging),
                Err(StagingFailure::File(reason)) => self.refuse(entry.path, None, reason),
                Err(StagingFailure::Run(error)) => return Err(error),
            }
        }
        self.carry_out()
    }

    /// Checks an entry. Returns its staging directory.
    fn check(&mut self, entry: &SweepEntry) -> Result<Staging, StagingFailure> {
        let here = StagingFailure::File;
        let (dir_path, name) = split_path(&entry.path);
        let name = CString::new(name).map_err(|e| here(Reason::failed(Op::Open)(e.into())))?;
        let parent = self.parent(dir_path)?;
        self.checker.check(entry, &parent, &name).map_err(here)?;
        if entry.is_tree() && self.begun.staging_dirs.any_below(&entry.path) {
            return Err(here(Reason::InQuarantine));
        }
        Ok(parent.staging.clone())
    }

    /// Opens the directory at a path, and the staging directory for its entries.
    fn parent(&mut self, path: &[u8]) -> Result<Rc<Parent>, StagingFailure> {
        if let Some(parent) = self.parent.as_ref().filter(|parent| parent.path == path) {
            return Ok(Rc::clone(parent));
        }
        let failed = |op| move |source| StagingFailure::File(Reason::Failed { op, source });
        if has_quarantine_name(path) {
            return Err(StagingFailure::File(Reason::InQuarantine));
        }
        let dir = self.reach.dir(path).map_err(failed(Op::Open))?;
        // An entry that is a subvolume has its own device number, so that of the directory counts.
        let stat = dir.stat().map_err(failed(Op::Stat))?;
        let Begun { staging_dirs, journal, .. } = self.begun;
        let staging = self.stagings.staging(staging_dirs, &stat, path, &mut self.reach, journal)?;
        let parent = Rc::new(Parent { path: path.to_vec(), dir, stat, staging });
        self.parent = Some(Rc::clone(&parent));
        Ok(parent)
    }

    /// Adds an entry to the batch, and its intent to the pending lines.
    fn plan(&mut self, entry: SweepEntry, staging: Staging) {
        let n = self.begun.journal.number();
        let SweepEntry { path, was, rule, files, bytes } = &entry;
        let is_tree = entry.is_tree();
        let mut intent = Lines::default();
        intent.push(&Record::Take(Box::new(Take {
            n,
            store: staging.number,
            path: JsonBytes(path.clone()),
            rule: rule.clone(),
            device: was.device,
            inode: was.inode,
            born_ns: was.born_ns,
            size: was.size,
            mtime_ns: was.mtime_ns(),
            allocated: if is_tree { *bytes } else { was.allocated },
            files: is_tree.then_some(*files),
        })));
        self.lines.append(&intent);
        let pending = self.manifest_lines.entry(staging.number);
        pending.or_insert_with(|| (staging.clone(), Lines::default())).1.append(&intent);
        if is_tree {
            self.trees.insert(path.clone());
        }
        self.batch.push(Planned { entry, n, staging });
    }

    /// Writes the intents of the batch, and moves its entries.
    fn carry_out(&mut self) -> Result<(), Error> {
        if self.batch.is_empty() {
            return Ok(());
        }
        self.progress.check()?;
        self.begun.journal.append(&self.lines, true)?;
        self.lines.clear();
        let pending = std::mem::take(&mut self.manifest_lines);
        let manifests = self.begun.manifests.as_ref();
        let unlisted = manifests.map(|all| all.append_all(&mut self.manifests, pending));
        let answer = self.move_batch(&unlisted.unwrap_or_default());
        self.record_moved();
        self.begun.journal.append(&self.lines, false)?;
        self.lines.clear();
        if !std::mem::take(&mut self.trees).is_empty() {
            // Open directories may be inside of the moved trees.
            self.reach.forget();
            self.parent = None;
        }
        answer
    }

    /// Moves the entries of the batch, except for those whose staging directory is in `unlisted`.
    fn move_batch(&mut self, unlisted: &BTreeMap<u32, io::Error>) -> Result<(), Error> {
        let mut answer = Ok(());
        let mut origin = None;
        for planned in std::mem::take(&mut self.batch) {
            answer = answer.and_then(|()| self.progress.check());
            let moved = match (&answer, unlisted.get(&planned.staging.number)) {
                (Err(_), _) => Err(Reason::stopped()),
                (_, Some(error)) => {
                    Err(Reason::Failed { op: Op::Write, source: clone_io_error(error) })
                }
                _ => self.move_entry(&planned, &mut origin),
            };
            match moved {
                Ok(()) => self.record_done(planned.n),
                Err(reason) => self.refuse(planned.entry.path, Some(planned.n), reason),
            }
        }
        self.leave(origin);
        Ok(answer?)
    }

    /// Records the changes to a directory once the following entries are in other directories.
    fn leave(&mut self, origin: Option<Origin>) {
        if let Some(Origin { dir, before, .. }) = origin {
            self.checker.record_change(&dir, &before);
        }
    }

    /// Moves an entry into quarantine.
    fn move_entry(
        &mut self,
        Planned { entry, n, staging }: &Planned,
        origin: &mut Option<Origin>,
    ) -> Result<(), Reason> {
        let (dir_path, name) = split_path(&entry.path);
        let name = CString::new(name).map_err(|e| Reason::failed(Op::Open)(e.into()))?;
        let dir = match origin {
            Some(origin) if origin.path == dir_path => Rc::clone(&origin.dir),
            _ => {
                self.leave(origin.take());
                let dir = self.reach.dir(dir_path).map_err(Reason::failed(Op::Open))?;
                let before = dir.stat().map_err(Reason::failed(Op::Stat))?;
                *origin = Some(Origin { path: dir_path.to_vec(), dir: Rc::clone(&dir), before });
                dir
            }
        };
        if entry.is_tree() {
            self.checker.check_tree(entry, &dir, &name)?;
        }
        let staged = staging.name_of(*n);
        dir.take_out(&name, &staging.dir, &staged).map_err(Reason::failed(Op::Rename))?;
        let arrived = staging.dir.stat_child_uncached(&staged).map_err(Reason::failed(Op::Stat));
        arrived.and_then(|now| has_arrived(&entry.was, &now)).or_else(|reason| {
            let names = NameSwap::for_action(&dir, &name, staging, *n);
            names.roll_back(&Substitute::Nothing).and(Err(reason))
        })
    }

    fn record_done(&mut self, n: u64) {
        self.outcome.done += 1;
        self.progress.files_done.fetch_add(1, Relaxed);
        match &mut self.moved {
            Some((_, last)) if *last + 1 == n => *last = n,
            _ => {
                self.record_moved();
                self.moved = Some((n, n));
            }
        }
    }

    /// Adds the outcome of the last moved entries to the pending lines.
    fn record_moved(&mut self) {
        if let Some((first, last)) = self.moved.take() {
            self.lines.push(&Record::Took { first, last });
        }
    }

    /// Records that an entry was left alone.
    fn refuse(&mut self, path: Vec<u8>, intent: Option<u64>, reason: Reason) {
        self.progress.files_done.fetch_add(1, Relaxed);
        // If an entry is stranded, its intent stays open, so that the next run finishes the intent.
        if let Some(n) = intent.filter(|_| !reason.is_stranded()) {
            self.lines.push(&Record::Not { n, why: reason.to_string() });
        }
        self.outcome.refused.push(Refusal { path, reason });
    }
}
