//! Lists the files of a run in quarantine, and removes them permanently.
//!
//! A duplicate is removed only if its kept file still exists, has not changed, and still has the same
//! bytes. Otherwise the file in quarantine may be the last copy. An entry that a rule chose has no
//! kept file. It is removed if it is still the entry that the run moved.

use std::borrow::Borrow;
use std::io;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::atomic::Ordering::Relaxed;

use fsops::{Dir, File, Op};
use runtime::{Interrupted, Progress, Stage};

use crate::error::{Error, Reason, Refusal};
use crate::journal::identity::{is_kept_file, is_moved_entry, is_unchanged};
use crate::journal::lines::Lines;
use crate::journal::locate::IntentLocator;
use crate::journal::log::Journal;
use crate::journal::record::{Intent, Record};
use crate::journal::replay::{Fate, Replay};
use crate::run::compare::equal_under_leases;
use crate::staging::dir::Staging;

/// A file in quarantine. If a sweep moved it, it may also be a symbolic link or a directory tree.
#[derive(Clone, Debug)]
pub struct QuarantinedFile {
    /// The run that moved the file.
    pub run: u64,
    /// The time when that run began, in milliseconds since the epoch.
    pub since_ms: i64,
    /// The path that the file had.
    pub path: Vec<u8>,
    /// The path where the file is now.
    pub at: Vec<u8>,
    /// The length in bytes. For a tree, the disk space that it occupied when it was moved.
    pub size: u64,
    /// The disk space that the file occupies, in bytes. For a tree, the value at the time when it
    /// was moved.
    pub allocated: u64,
    /// The number of files in the tree when it was moved. `None` if this is not a directory tree.
    pub files: Option<u64>,
    /// The ID of the rule that chose the file. `None` unless a sweep moved it.
    pub rule: Option<String>,
}

impl QuarantinedFile {
    /// Returns the number of files. A link or an empty tree counts as one.
    pub fn file_count(&self) -> u64 {
        self.files.unwrap_or(1).max(1)
    }
}

/// A directory tree in quarantine that is about to be removed.
#[derive(Clone, Debug)]
pub struct QuarantinedTree {
    /// The directory that contains the tree. No other user can access it.
    pub dir: Rc<Dir>,
    /// The path of the tree. Its last component is the name of the tree in `dir`.
    pub at: Vec<u8>,
}

/// A function that removes a directory tree. It MUST NOT follow links, cross mounts, or leave the
/// tree. If it returns an error, the rest of the tree stays in quarantine.
pub type RemoveTree<'a> = dyn FnMut(&QuarantinedTree) -> Result<(), Reason> + 'a;

/// The outcome of a purge.
#[derive(Debug, Default)]
pub struct PurgeOutcome {
    /// How many files were removed.
    pub done: u64,
    /// How many bytes were freed.
    pub freed: u64,
    /// Files that were not removed, with the reasons.
    pub refused: Vec<Refusal>,
}

/// Returns the files of a run that are in quarantine.
///
/// # Errors
///
/// Fails if an intent cannot be read from the journal. Nothing on disk changes.
pub(crate) fn list_quarantined(run: u64, replay: &Replay) -> Result<Vec<QuarantinedFile>, Error> {
    let mut locator = IntentLocator::new(replay);
    let mut found = Vec::new();
    for n in quarantined(replay) {
        let intent = replay.intent(n)?.intent;
        let Ok(Some(staging)) = locator.staging(&intent) else { continue };
        let name = staging.name_of(n);
        let Ok(stat) = staging.dir.stat_child(&name) else { continue };
        let (files, rule) = intent.swept.map_or((None, None), |it| (it.files, Some(it.rule)));
        let sums = intent.was.allocated;
        let (size, allocated) = files.map_or((stat.size, stat.allocated), |_| (sums, sums));
        found.push(QuarantinedFile {
            run,
            since_ms: replay.started_ms,
            at: staging.path_of(&name),
            path: intent.path.0,
            size,
            allocated,
            files,
            rule,
        });
    }
    Ok(found)
}

fn quarantined(replay: &Replay) -> impl Iterator<Item = u64> {
    replay.with_fate(Fate::Done).filter(|_| replay.kind.fills_quarantine())
}

/// Permanently removes the quarantined files of runs. Each run is given as its number, the path of
/// its journal, and its replay. `remove_tree` removes directory trees.
///
/// # Errors
///
/// The outer error means that a journal cannot be opened. The inner error means that the purge
/// stopped early. Files removed before the error are gone.
pub(crate) fn purge_runs<R: Borrow<Replay>>(
    runs: impl Iterator<Item = (u64, PathBuf, R)>,
    progress: &Progress,
    remove_tree: &mut RemoveTree<'_>,
) -> Result<(PurgeOutcome, Result<(), Error>), Error> {
    let mut purged = PurgeOutcome::default();
    for (_, path, replay) in runs {
        let journal = Journal::open(path, replay.borrow().next())?;
        if let Err(error) = purge_run(replay.borrow(), &journal, progress, remove_tree, &mut purged)
        {
            return Ok((purged, Err(error)));
        }
    }
    Ok((purged, Ok(())))
}

/// Permanently removes the quarantined files of a run, and adds the result to `purged`.
///
/// # Errors
///
/// Fails if the journal cannot be read or written, or the user asked to stop. Files removed before the
/// error are gone.
fn purge_run(
    replay: &Replay,
    journal: &Journal,
    progress: &Progress,
    remove_tree: &mut RemoveTree<'_>,
    purged: &mut PurgeOutcome,
) -> Result<(), Error> {
    progress.enter(Stage::Act);
    let mut locator = IntentLocator::new(replay);
    let mut scratch = content::Scratch::default();
    let mut lines = Lines::default();
    let mut stopped = Ok(());
    for n in quarantined(replay) {
        stopped = progress.check();
        if stopped.is_err() {
            break;
        }
        let intent = replay.intent(n)?.intent;
        progress.files_done.fetch_add(1, Relaxed);
        let removed = match &intent.swept {
            Some(_) => remove_swept(&mut locator, &intent, remove_tree),
            None => remove_duplicate(&mut locator, &intent, progress, &mut scratch),
        };
        match removed {
            Ok(freed) => {
                purged.done += 1;
                purged.freed += freed;
                lines.push(&Record::Purged { n });
            }
            Err(reason) => purged.refused.push(Refusal { path: intent.path.0, reason }),
        }
    }
    // The sync must come before the journal records the files as purged, because a power failure
    // could bring back a file whose removal was not synced.
    locator.cleanup_and_sync()?;
    lines.push(&Record::UndoEnd { ended_ms: None });
    journal.append(&lines, true)?;
    Ok(stopped?)
}

/// Opens the staging directory of an intent.
fn staging_of(locator: &mut IntentLocator<'_>, intent: &Intent) -> Result<Staging, Reason> {
    let staging = locator.staging(intent).map_err(Reason::failed(Op::Open))?;
    staging.ok_or_else(|| locator.not_in_staging(intent))
}

/// Removes an entry that a rule chose. Returns the number of bytes freed.
fn remove_swept(
    locator: &mut IntentLocator<'_>,
    intent: &Intent,
    remove_tree: &mut RemoveTree<'_>,
) -> Result<u64, Reason> {
    let staging = staging_of(locator, intent)?;
    let name = staging.name_of(intent.n);
    let now = match staging.dir.stat_child(&name) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            return Err(locator.not_in_staging(intent));
        }
        now => now.map_err(Reason::failed(Op::Stat))?,
    };
    if !is_moved_entry(&now, &staging.dir, intent, locator.fsid(intent)) {
        return Err(Reason::Changed);
    }
    if intent.is_tree() {
        let (dir, at) = (Rc::clone(&staging.dir), staging.path_of(&name));
        remove_tree(&QuarantinedTree { dir, at })?;
        return Ok(intent.was.allocated);
    }
    staging.dir.remove_name(&name).map_err(Reason::failed(Op::Remove))?;
    Ok(if now.links == 1 { now.allocated } else { 0 })
}

/// Removes a duplicate if it still equals its kept file. Returns the number of bytes freed.
fn remove_duplicate(
    locator: &mut IntentLocator<'_>,
    intent: &Intent,
    progress: &Progress,
    scratch: &mut content::Scratch,
) -> Result<u64, Reason> {
    let open = Reason::failed(Op::Open);
    let staging = staging_of(locator, intent)?;
    let name = staging.name_of(intent.n);
    let file = staging.dir.open_file(&name).map_err(&open)?;
    let stat = file.stat().map_err(Reason::failed(Op::Stat))?;
    if !is_unchanged(&stat, &staging.dir, &intent.was, locator.fsid(intent)) {
        return Err(Reason::Changed);
    }
    let (dir, kept_name) =
        locator.reach.parent_and_name(&intent.keep.0).map_err(|_| Reason::NoEqualLeft)?;
    let kept: File = dir.open_file(&kept_name).map_err(|_| Reason::NoEqualLeft)?;
    let before = kept.stat().map_err(Reason::kept_failed(Op::Stat))?;
    if !is_kept_file(intent, &before) {
        return Err(Reason::NoEqualLeft);
    }
    let leases = match equal_under_leases(&kept, &file, stat.size, scratch, progress) {
        Ok(Some(leases)) => leases,
        Ok(None) => return Err(Reason::Differs),
        Err(Interrupted) => return Err(Reason::stopped()),
    };
    let now = dir.stat_child(&kept_name).map_err(|_| Reason::NoEqualLeft)?;
    if !now.same_version(&before) {
        return Err(Reason::NoEqualLeft);
    }
    if !leases.hold() {
        return Err(Reason::KeptOpenForWriting);
    }
    staging.dir.remove_name(&name).map_err(Reason::failed(Op::Remove))?;
    Ok(if stat.links == 1 { stat.allocated } else { 0 })
}
