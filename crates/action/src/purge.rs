//! Files in quarantine: which there are, and their removal for good.
//!
//! A file is removed only if the file that was kept for it is there, is what it was, and is equal to it
//! now, byte by byte. It may be the last one otherwise.

use std::sync::atomic::Ordering::Relaxed;

use fsops::{File, Lease, Op};
use runtime::{Interrupted, Progress, Stage};

use crate::copy::equal;
use crate::error::{Error, Reason, Refusal};
use crate::journal::{Intent, Journal, Record};
use crate::kind::Kind;
use crate::lines::Lines;
use crate::means::is_kept;
use crate::past::{Fate, Past};
use crate::recover::{Sites, is};

/// A file in quarantine.
#[derive(Clone, Debug)]
pub struct Quarantined {
    /// The run that moved it there.
    pub run: u64,
    /// When that run began, milliseconds since the epoch.
    pub since_ms: i64,
    /// Where it was.
    pub path: Vec<u8>,
    /// Where it is.
    pub at: Vec<u8>,
    /// Length in bytes.
    pub size: u64,
    /// Bytes that it takes.
    pub allocated: u64,
}

/// What came of a removal.
#[derive(Debug, Default)]
pub struct Purged {
    /// Files that are gone.
    pub done: u64,
    /// Bytes that are free by that.
    pub freed: u64,
    /// Files that are still there, with the reason.
    pub refused: Vec<Refusal>,
}

/// Returns the files of a run that are in quarantine.
pub(crate) fn list(run: u64, past: &Past) -> Result<Vec<Quarantined>, Error> {
    let mut sites = Sites::new(past);
    let mut found = Vec::new();
    for n in quarantined(past) {
        let intent = past.noted(n)?.intent;
        let Ok(Some(staging)) = sites.staging(&intent) else { continue };
        let name = staging.name_of(n);
        let Ok(stat) = staging.dir.stat_child(&name) else { continue };
        found.push(Quarantined {
            run,
            since_ms: past.started_ms,
            at: staging.path_of(&name),
            path: intent.path.0,
            size: stat.size,
            allocated: stat.allocated,
        });
    }
    Ok(found)
}

fn quarantined(past: &Past) -> impl Iterator<Item = u64> {
    past.with_fate(Fate::Done).filter(|_| past.by == Kind::Quarantine)
}

/// Removes the files of a run that are in quarantine.
///
/// # Errors
///
/// That the journal cannot be written, or a stop was asked for.
pub(crate) fn purge(
    past: &Past,
    journal: &Journal,
    progress: &Progress,
    purged: &mut Purged,
) -> Result<(), Error> {
    progress.enter(Stage::Act);
    let mut sites = Sites::new(past);
    let mut scratch = content::Scratch::default();
    let mut lines = Lines::default();
    let mut stopped = Ok(());
    for n in quarantined(past) {
        stopped = progress.check();
        if stopped.is_err() {
            break;
        }
        let intent = past.noted(n)?.intent;
        progress.files_done.fetch_add(1, Relaxed);
        match remove(&mut sites, &intent, progress, &mut scratch) {
            Ok(freed) => {
                purged.done += 1;
                purged.freed += freed;
                lines.push(&Record::Purged { n });
            }
            Err(reason) => {
                purged.refused.push(Refusal { path: intent.path.0, reason });
            }
        }
    }
    // After a power failure a file may be there again, and is not to be called gone.
    sites.tidy_and_sync()?;
    lines.push(&Record::UndoEnd { ended_ms: None });
    journal.append(&lines, true)?;
    Ok(stopped?)
}

fn remove(
    sites: &mut Sites<'_>,
    intent: &Intent,
    progress: &Progress,
    scratch: &mut content::Scratch,
) -> Result<u64, Reason> {
    let open = Reason::failed(Op::Open);
    let staging =
        sites.staging(intent).map_err(&open)?.ok_or_else(|| sites.not_in_store(intent))?;
    let name = staging.name_of(intent.n);
    let file = staging.dir.open_file(&name).map_err(&open)?;
    let stat = file.stat().map_err(Reason::failed(Op::Stat))?;
    if !is(&stat, &staging.dir, &intent.was, sites.fsid(intent)) {
        return Err(Reason::Changed);
    }
    let (dir, kept_name) = sites.reach.site(&intent.keep.0).map_err(|_| Reason::Last)?;
    let kept: File = dir.open_file(&kept_name).map_err(|_| Reason::Last)?;
    let before = kept.stat().map_err(Reason::kept_failed(Op::Stat))?;
    if !is_kept(intent, &before) {
        return Err(Reason::Last);
    }
    let leases = [kept.keep_writers_away(), file.keep_writers_away()];
    match equal(&kept, &file, stat.size, scratch, progress) {
        Ok(true) => {}
        Ok(false) => return Err(Reason::Differs),
        Err(Interrupted) => return Err(Reason::stopped()),
    }
    let now = dir.stat_child(&kept_name).map_err(|_| Reason::Last)?;
    if !now.same_version(&before) {
        return Err(Reason::Last);
    }
    if !leases.iter().all(Lease::holds) {
        return Err(Reason::KeptWritten);
    }
    staging.dir.remove_name(&name).map_err(Reason::failed(Op::Remove))?;
    Ok(if stat.links == 1 { stat.allocated } else { 0 })
}
