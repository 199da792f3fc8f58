//! Reads the quarantine on a disk without the journals of the runs that filled it. It uses the
//! manifest in each staging directory instead.
//!
//! If the disk is mounted elsewhere than before, each file is restored to its old path relative to
//! the directory that contains the quarantine.

use std::borrow::Borrow;
use std::ffi::{CString, OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use fsops::{Context, DirBuffer, Kind as Entry, Op, check_private};
use runtime::Progress;
use walk::{PathOpener, QUARANTINE_PREFIX, split_path};

use crate::error::{Error, Refusal};
use crate::journal::actions::FileActions;
use crate::journal::leftovers::Leftovers;
use crate::journal::log::Journal;
use crate::journal::replay::Replay;
use crate::quarantine::purge::{
    PurgeOutcome, QuarantinedFile, RemoveTree, list_quarantined, purge_runs,
};
use crate::staging::dir::{MANIFEST, open_staging};
use crate::statuses::Statuses;
use crate::undo::run::undo_run;

/// Maximum number of directories kept open.
const MAX_OPEN_DIRS: usize = 4;

/// The runs that have files in one or more quarantine directories.
#[derive(Debug)]
pub struct Quarantine {
    runs: Vec<QuarantinedRun>,
}

/// The files of one run in a quarantine directory.
#[derive(Debug)]
struct QuarantinedRun {
    manifest: PathBuf,
    replay: Replay,
}

/// The outcome of restoring files from quarantine.
#[derive(Debug, Default)]
pub struct RestoreOutcome {
    /// Number of entries that were restored.
    pub done: u64,
    /// Number of directories among them. Each was restored with everything in it.
    pub trees: u64,
    /// Files that were not restored, with the reasons.
    pub refused: Vec<Refusal>,
    /// The given paths that match no file in quarantine.
    pub unmatched: Vec<Vec<u8>>,
    /// The intent numbers of the restored files, for each run. A run is given by its number, or by
    /// its index in a [`Quarantine`].
    pub(crate) back: Vec<(u64, Vec<u64>)>,
    /// The status change times that the restoration caused.
    pub statuses: Statuses,
}

impl Quarantine {
    /// Opens a `.lop-quarantine-UID` directory, or all directories of that kind in a parent
    /// directory. `dir` must be an absolute path without symbolic links.
    ///
    /// Errors of directories and runs, and of files that cannot be identified, are passed to
    /// `unreadable`.
    ///
    /// # Errors
    ///
    /// Fails if the directory cannot be listed. Nothing on disk changes.
    pub fn open(dir: &[u8], mut unreadable: impl FnMut(Error)) -> Result<Quarantine, Error> {
        let mut reach = PathOpener::new(MAX_OPEN_DIRS);
        let is_staging_dir =
            |path: &[u8]| split_path(path).1.starts_with(QUARANTINE_PREFIX.as_bytes());
        let staging_dirs = if is_staging_dir(dir) {
            vec![dir.to_vec()]
        } else {
            let mut below = dirs_in(dir, &mut reach)?;
            below.retain(|path| is_staging_dir(path));
            below
        };
        let mut runs = Vec::new();
        for store in staging_dirs {
            // A directory of another user may contain forged manifests.
            let own = reach
                .dir(&store)
                .and_then(check_private)
                .context(Op::Open, || display_path(&store));
            let listed = own.map_err(Error::File).and_then(|()| dirs_in(&store, &mut reach));
            for run in listed.unwrap_or_else(|error| {
                unreadable(error);
                Vec::new()
            }) {
                match quarantined_run(&run, &mut reach, &mut unreadable) {
                    Ok(run) => runs.extend(run),
                    Err(error) => unreadable(error),
                }
            }
        }
        runs.sort_by_key(|run| run.replay.started_ms);
        Ok(Quarantine { runs })
    }

    /// Returns the files in quarantine, starting with those of the oldest run.
    ///
    /// # Errors
    ///
    /// Fails if an intent cannot be read from a manifest. Nothing on disk changes.
    pub fn list(&self) -> Result<Vec<QuarantinedFile>, Error> {
        let mut all = Vec::new();
        for QuarantinedRun { replay, .. } in &self.runs {
            all.extend(list_quarantined(replay.run, replay)?);
        }
        Ok(all)
    }

    /// Restores files. If `paths` is not empty, restores only files that were at or below one of
    /// the paths.
    ///
    /// # Errors
    ///
    /// Same as for [`crate::run::Runs::undo`]. Files restored before an error stay restored.
    pub fn restore(
        &self,
        paths: &[Vec<u8>],
        progress: &Progress,
    ) -> Result<(RestoreOutcome, Result<(), Error>), Error> {
        restore_runs(self.numbered(), paths, progress)
    }

    /// Returns what the runs had done to the files that were restored.
    pub fn restored_actions(self, restored: &RestoreOutcome) -> Vec<FileActions> {
        let runs = (0..).zip(self.runs);
        let of = |(at, QuarantinedRun { replay, .. }): (u64, QuarantinedRun)| {
            let back = restored.back.iter().find(|(run, _)| *run == at);
            FileActions::of(replay, back.map(|(_, back)| back.clone()).unwrap_or_default())
        };
        runs.map(of).collect()
    }

    /// Permanently removes the files of runs that began before `before_ms`, in milliseconds since
    /// the epoch. `remove_tree` removes directory trees.
    ///
    /// # Errors
    ///
    /// Same as for [`crate::run::Runs::purge`]. Files removed before an error are gone.
    pub fn purge(
        &self,
        before_ms: i64,
        progress: &Progress,
        remove_tree: &mut RemoveTree<'_>,
    ) -> Result<(PurgeOutcome, Result<(), Error>), Error> {
        let is_due = |replay: &Replay| replay.started_ms < before_ms && replay.has_done();
        let runs = self.numbered().filter(|(.., replay)| is_due(replay));
        purge_runs(runs, progress, remove_tree)
    }

    /// Returns each run as its index, the path of its manifest, and its replay.
    fn numbered(&self) -> impl Iterator<Item = (u64, PathBuf, &Replay)> {
        (0..).zip(&self.runs).map(|(at, run)| (at, run.manifest.clone(), &run.replay))
    }
}

/// Restores the files of runs. Each run is given as its number, the path of its journal, and its
/// replay. If `paths` is not empty, restores only files that were at or below one of the paths.
///
/// # Errors
///
/// The outer error means that the journal of a run cannot be read or written. The inner error means
/// that the restoration of a run stopped early. Files restored before the error stay restored.
pub(crate) fn restore_runs<R: Borrow<Replay>>(
    runs: impl Iterator<Item = (u64, PathBuf, R)>,
    paths: &[Vec<u8>],
    progress: &Progress,
) -> Result<(RestoreOutcome, Result<(), Error>), Error> {
    let mut all = RestoreOutcome { unmatched: paths.to_vec(), ..RestoreOutcome::default() };
    for (run, path, replay) in runs {
        let journal = Journal::open(path, replay.borrow().next())?;
        let (undone, ended) = undo_run(replay.borrow(), paths, &journal, progress)?;
        all.back.push((run, undone.back));
        all.statuses.add(undone.statuses);
        all.done += undone.done;
        all.trees += undone.trees;
        all.refused.extend(undone.refused);
        all.unmatched.retain(|path| undone.unmatched.contains(path));
        if ended.is_err() {
            return Ok((all, ended));
        }
    }
    Ok((all, Ok(())))
}

/// Returns the quarantined files of a run, read from its staging directory. Returns `None` if there
/// are none.
fn quarantined_run(
    path: &[u8],
    reach: &mut PathOpener,
    unreadable: &mut impl FnMut(Error),
) -> Result<Option<QuarantinedRun>, Error> {
    let staging = open_staging(0, path, reach).context(Op::Open, || display_path(path))?;
    let mut found = Leftovers::default();
    found.add_from(&staging);
    if found.files.is_empty() {
        return Ok(None);
    }
    let manifest = PathBuf::from(OsString::from_vec(staging.path_of(MANIFEST)));
    let bad = |why: String| Error::Journal { path: manifest.clone(), why };
    let replay = Replay::read(&manifest)?;
    let mut replay = replay.ok_or_else(|| bad("it was cut off before it began".into()))?;
    let unknown = replay.adopt_directory(path, &found.files);
    if unknown > 0 {
        let are = if unknown == 1 { "is" } else { "are" };
        let why = format!("it does not list all files beside it: {unknown} {are} unknown");
        unreadable(bad(why));
    }
    Ok(Some(QuarantinedRun { manifest, replay }))
}

/// Returns the paths of the subdirectories of a directory.
fn dirs_in(path: &[u8], reach: &mut PathOpener) -> Result<Vec<Vec<u8>>, Error> {
    let dir = reach.dir(path).context(Op::Open, || display_path(path))?;
    let mut found: Vec<CString> = Vec::new();
    let listed = dir.open_below_same_mount(b".").and_then(|list| {
        list.for_each(&mut DirBuffer::default(), |item| {
            if matches!(item.kind, Entry::Dir | Entry::Unknown) {
                found.push(item.name.into());
            }
        })
    });
    listed.context(Op::List, || display_path(path))?;
    found.retain(|name| dir.stat_child(name).is_ok_and(|stat| stat.kind == Entry::Dir));
    let above = path.strip_suffix(b"/").unwrap_or(path);
    Ok(found.into_iter().map(|name| [above, b"/", name.to_bytes()].concat()).collect())
}

fn display_path(path: &[u8]) -> PathBuf {
    OsStr::from_bytes(path).into()
}
