//! The folder with the journals: runs that are begun, listed, and brought to an end after a crash.
//!
//! One process at a time changes anything on behalf of a folder; others wait for its lock.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use fsops::{Lock, create_dir_private, remove_file};
use runtime::Progress;

use crate::apply::{self, How, Lot, Outcome, Shared};
use crate::deeds::Deeds;
use crate::error::Error;
use crate::journal::{Journal, Record};
use crate::kind::Kind;
use crate::leftovers;
use crate::lines::FORMAT;
use crate::manifest::Manifests;
use crate::means::Prospect;
use crate::nothing_left::NothingLeft;
use crate::numbering::{FILES, TREES, create_next, id, journal, numbers};
use crate::past::{Fate, Past};
use crate::purge::{self, Purged, Quarantined};
use crate::recover::recover;
use crate::shelf::Restored;
use crate::store::Stores;
use crate::undo::{self, Undone};

/// A run as its journal tells of it.
#[derive(Clone, Debug)]
pub struct Summary {
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

/// What [`Runs::undo`] would do, as far as it is not about single files.
#[derive(Debug)]
pub struct Preview {
    /// The run that would be undone.
    pub run: u64,
    /// Paths that were named and that no file of the run is at or below.
    pub unmatched: Vec<Vec<u8>>,
    /// Whether the run was cut off, so that what it had begun is taken back first.
    pub is_cut_off: bool,
    /// Lines of the journal that are damaged.
    pub damaged: u64,
    /// Why there is nothing to restore, if that is so.
    pub nothing_left: Option<NothingLeft>,
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
        for run in numbers(&runs.folder, FILES)? {
            if matches!(Past::is_over(&runs.path(run)), Ok(true)) {
                continue;
            }
            match Past::read(&runs.path(run)) {
                Ok(Some(past)) => runs.finish(run, &past)?,
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
    pub fn list(folder: &Path) -> Result<Vec<Result<Summary, Error>>, Error> {
        let past = |run| Past::read(&journal(folder, run, FILES));
        let summary = |run| Ok(past(run)?.map(|past| summary(run, &past)));
        Ok(numbers(folder, FILES)?.into_iter().filter_map(|run| summary(run).transpose()).collect())
    }

    /// Carries out groups as a new run; returns its number and what came of it.
    ///
    /// The second value tells whether the run went to its end.
    pub fn apply(
        &self,
        how: &How,
        lots: Vec<Lot<'_>>,
        progress: &Progress,
    ) -> Result<(u64, Outcome, Result<(), Error>), Error> {
        let (run, journal) = create_next(&self.folder, FILES)?;
        let started_ms = now_ms();
        let id = id(started_ms);
        let by = how.kind;
        let begin = Record::Begin { format_version: FORMAT, run, id: id.clone(), by, started_ms };
        journal.note(&begin)?;
        let manifests = (by == Kind::Quarantine).then(|| Manifests::new(begin));
        let stores = Stores::new(&id, Some(by));
        let times = Mutex::new(HashMap::new());
        let shared = Shared { how, journal: &journal, stores: &stores, manifests, progress, times };
        let (outcome, answer) = apply::apply(&shared, lots);
        let Outcome { done, freed, ref refused, .. } = outcome;
        let failed = refused.len() as u64;
        // What the journal does not tell, the next one finds out.
        let is_noted = !matches!(answer, Err(Error::File(_)));
        let ended = if !is_noted || refused.iter().any(|refusal| refusal.reason.is_left()) {
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
    ) -> Result<(u64, Undone, Result<(), Error>), Error> {
        let (run, past) = pick(&self.folder, run, |run| self.read(run), unreadable)?;
        let nothing_left = NothingLeft::of(&past);
        if nothing_left.is_some() {
            let unmatched = paths.to_vec();
            return Ok((run, Undone { unmatched, nothing_left, ..Undone::default() }, Ok(())));
        }
        let journal = Journal::open(self.path(run), past.next())?;
        let (undone, answer) = undo::undo(&past, paths, &journal, progress)?;
        Ok((run, undone, answer))
    }

    /// Tells `each` of the files of a run how [`Runs::undo`] would restore it. Changes nothing.
    pub fn preview(
        folder: &Path,
        run: Option<u64>,
        paths: &[Vec<u8>],
        unreadable: impl FnMut(Error),
        each: impl FnMut(Prospect),
    ) -> Result<Preview, Error> {
        let (run, past) = pick(folder, run, |run| read_only(folder, run), unreadable)?;
        let unmatched = undo::preview(&past, paths, each)?;
        let is_cut_off = past.with_fate(Fate::Open).next().is_some();
        let nothing_left = NothingLeft::of(&past);
        Ok(Preview { run, unmatched, is_cut_off, damaged: past.damaged, nothing_left })
    }

    /// Returns what a run did with each file, as its journal and its stores tell.
    pub fn deeds(folder: &Path, run: u64) -> Result<(Summary, Deeds), Error> {
        let past = read_only(folder, run)?.ok_or(Error::NoRun(run))?;
        Ok((summary(run, &past), Deeds::all(past)))
    }

    /// Returns what a run did with the files that an undo of it has restored.
    pub fn undone(folder: &Path, run: u64, undone: &Undone) -> Result<Deeds, Error> {
        let past = Past::read(&journal(folder, run, FILES))?.ok_or(Error::NoRun(run))?;
        Ok(Deeds::of(past, undone.back.clone()))
    }

    /// Returns what runs did with the files that were given their names back, run by run.
    pub fn restored(folder: &Path, restored: &Restored) -> Result<Vec<Deeds>, Error> {
        let of = |(run, back): &(u64, Vec<u64>)| {
            let past = Past::read(&journal(folder, *run, FILES))?.ok_or(Error::NoRun(*run))?;
            Ok(Deeds::of(past, back.clone()))
        };
        restored.back.iter().map(of).collect()
    }

    /// Returns the files in quarantine, those of the oldest run first; `unreadable` is told of journals that
    /// were passed over.
    pub fn quarantined(
        folder: &Path,
        mut unreadable: impl FnMut(Error),
    ) -> Result<Vec<Quarantined>, Error> {
        let mut all = Vec::new();
        for run in numbers(folder, FILES)? {
            let listed = Past::read(&journal(folder, run, FILES)).and_then(|past| match past {
                Some(mut past) if past.by == Kind::Quarantine => {
                    leftovers::take_up(&mut past);
                    purge::list(run, &past)
                }
                _ => Ok(Vec::new()),
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
    ) -> Result<(Restored, Result<(), Error>), Error> {
        let mut all = Restored { unmatched: paths.to_vec(), ..Restored::default() };
        for run in numbers(&self.folder, FILES)?.into_iter().rev() {
            let past = match self.read(run) {
                Ok(past) => past.filter(|past| past.by == Kind::Quarantine && past.has_done()),
                Err(error) => {
                    unreadable(error);
                    None
                }
            };
            let Some(past) = past else { continue };
            let journal = Journal::open(self.path(run), past.next())?;
            let (undone, ended) = undo::undo(&past, paths, &journal, progress)?;
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
    ) -> Result<(Purged, Result<(), Error>), Error> {
        let mut purged = Purged::default();
        for run in numbers(&self.folder, FILES)? {
            let past = match self.read(run) {
                Ok(Some(past)) => past,
                Ok(None) => continue,
                Err(error) => {
                    unreadable(error);
                    continue;
                }
            };
            let is_due = past.by == Kind::Quarantine && past.started_ms < before_ms;
            if !is_due || !past.has_done() {
                continue;
            }
            let journal = Journal::open(self.path(run), past.next())?;
            if let Err(error) = purge::purge(&past, &journal, progress, &mut purged) {
                return Ok((purged, Err(error)));
            }
        }
        Ok((purged, Ok(())))
    }

    /// Reads the journal of a run, and looks into its stores for what is left there.
    fn read(&self, run: u64) -> Result<Option<Past>, Error> {
        let Some(mut past) = Past::read(&self.path(run))? else { return Ok(None) };
        if past.with_fate(Fate::Open).next().is_some() {
            // It could not be settled when the folder was opened, or the line that settles it is damaged.
            recover(&past, &Journal::open(self.path(run), past.next())?)?;
            let Some(again) = Past::read(&self.path(run))? else { return Ok(None) };
            past = again;
        }
        leftovers::take_up(&mut past);
        Ok(Some(past))
    }

    /// Brings a run that was cut off to an end.
    fn finish(&self, run: u64, past: &Past) -> Result<(), Error> {
        let journal = Journal::open(self.path(run), 1)?;
        recover(past, &journal)
    }

    fn path(&self, run: u64) -> PathBuf {
        journal(&self.folder, run, FILES)
    }
}

/// Reads the journal of a run, and looks into its stores for what is left there. Changes nothing.
fn read_only(folder: &Path, run: u64) -> Result<Option<Past>, Error> {
    if !numbers(folder, FILES)?.contains(&run) {
        return Ok(None);
    }
    let mut past = Past::read(&journal(folder, run, FILES))?;
    past.as_mut().map(leftovers::take_up);
    Ok(past)
}

/// Returns the run that is to be undone: the one of this number, or the last one that something is left to restore
/// of.
fn pick(
    folder: &Path,
    run: Option<u64>,
    read: impl Fn(u64) -> Result<Option<Past>, Error>,
    mut unreadable: impl FnMut(Error),
) -> Result<(u64, Past), Error> {
    if let Some(run) = run {
        if numbers(folder, TREES)?.contains(&run) {
            return Err(Error::Final(run));
        }
        let exists = numbers(folder, FILES)?.contains(&run);
        let past = if exists { read(run)? } else { None };
        return match past.ok_or(Error::NoRun(run))? {
            past if past.by == Kind::Reflink => Err(Error::Shared { run, older: None }),
            past => Ok((run, past)),
        };
    }
    let mut shared = None;
    for run in numbers(folder, FILES)?.into_iter().rev() {
        let past = match read(run) {
            Ok(past) => past.filter(Past::has_done),
            Err(error) => {
                unreadable(error);
                None
            }
        };
        match (past, shared) {
            (None, _) => {}
            // To undo an older run instead is not what was asked for.
            (Some(past), _) if past.by == Kind::Reflink => drop(shared.get_or_insert(run)),
            (Some(past), None) => return Ok((run, past)),
            (Some(_), Some(shared)) => return Err(Error::Shared { run: shared, older: Some(run) }),
        }
    }
    Err(shared.map_or(Error::NothingToUndo, |run| Error::Shared { run, older: None }))
}

fn summary(run: u64, past: &Past) -> Summary {
    let count =
        |fates: &[Fate]| fates.iter().map(|&fate| past.with_fate(fate).count() as u64).sum();
    Summary {
        run,
        kind: past.by,
        started_ms: past.started_ms,
        ended_ms: past.ended_ms,
        done: count(&[Fate::Done, Fate::Undone, Fate::Purged]),
        undone: count(&[Fate::Undone]),
        purged: count(&[Fate::Purged]),
        already: count(&[Fate::Same]),
        failed: count(&[Fate::NotDone]),
        freed: past.freed,
        damaged: past.damaged,
    }
}

/// Returns the time, milliseconds since the epoch.
pub(crate) fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
