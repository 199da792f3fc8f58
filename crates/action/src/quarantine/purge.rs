//! Lists the files of a run in quarantine, and removes them permanently.
//!
//! A file is removed only if its kept file still exists, has not changed, and still has the same
//! bytes. Otherwise the file in quarantine may be the last copy.

use std::borrow::Borrow;
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;

use fsops::{File, Op};
use runtime::{Interrupted, Progress, Stage};

use crate::error::{Error, Reason, Refusal};
use crate::journal::identity::{is_kept_file, is_unchanged};
use crate::journal::lines::Lines;
use crate::journal::locate::IntentLocator;
use crate::journal::log::Journal;
use crate::journal::record::{Intent, Record};
use crate::journal::replay::{Fate, Replay};
use crate::plan::kind::Kind;
use crate::run::compare::equal_under_leases;

/// A file in quarantine.
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
    /// The length in bytes.
    pub size: u64,
    /// The disk space that the file occupies, in bytes.
    pub allocated: u64,
}

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
        found.push(QuarantinedFile {
            run,
            since_ms: replay.started_ms,
            at: staging.path_of(&name),
            path: intent.path.0,
            size: stat.size,
            allocated: stat.allocated,
        });
    }
    Ok(found)
}

fn quarantined(replay: &Replay) -> impl Iterator<Item = u64> {
    replay.with_fate(Fate::Done).filter(|_| replay.kind == Kind::Quarantine)
}

/// Permanently removes the quarantined files of runs. Each run is given as its number, the path of
/// its journal, and its replay.
///
/// # Errors
///
/// The outer error means that a journal cannot be opened. The inner error means that the purge
/// stopped early. Files removed before the error are gone.
pub(crate) fn purge_runs<R: Borrow<Replay>>(
    runs: impl Iterator<Item = (u64, PathBuf, R)>,
    progress: &Progress,
) -> Result<(PurgeOutcome, Result<(), Error>), Error> {
    let mut purged = PurgeOutcome::default();
    for (_, path, replay) in runs {
        let journal = Journal::open(path, replay.borrow().next())?;
        if let Err(error) = purge_run(replay.borrow(), &journal, progress, &mut purged) {
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
        match remove(&mut locator, &intent, progress, &mut scratch) {
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

fn remove(
    locator: &mut IntentLocator<'_>,
    intent: &Intent,
    progress: &Progress,
    scratch: &mut content::Scratch,
) -> Result<u64, Reason> {
    let open = Reason::failed(Op::Open);
    let staging =
        locator.staging(intent).map_err(&open)?.ok_or_else(|| locator.not_in_staging(intent))?;
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
