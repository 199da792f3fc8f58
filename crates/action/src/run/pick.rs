//! Finds the run that a user wants to undo or preview, and reads its journal.

use std::path::Path;

use crate::error::Error;
use crate::journal::ids::{FILES_SUFFIX, TREES_SUFFIX, journal_path, run_numbers};
use crate::journal::leftovers::count_leftovers_as_done;
use crate::journal::replay::Replay;
use crate::plan::kind::Kind;

/// Returns the run with this number. If `run` is `None`, returns the last run that has something to
/// restore.
pub(crate) fn pick(
    folder: &Path,
    run: Option<u64>,
    read: impl Fn(u64) -> Result<Option<Replay>, Error>,
    mut unreadable: impl FnMut(Error),
) -> Result<(u64, Replay), Error> {
    if let Some(run) = run {
        if run_numbers(folder, TREES_SUFFIX)?.contains(&run) {
            return Err(Error::WasPurge(run));
        }
        let exists = run_numbers(folder, FILES_SUFFIX)?.contains(&run);
        let replay = if exists { read(run)? } else { None };
        return match replay.ok_or(Error::NoRun(run))? {
            replay if replay.kind == Kind::Reflink => {
                Err(Error::NothingToRestore { run, older: None })
            }
            replay => Ok((run, replay)),
        };
    }
    let mut shared = None;
    for run in run_numbers(folder, FILES_SUFFIX)?.into_iter().rev() {
        let replay = match read(run) {
            Ok(replay) => replay.filter(Replay::has_done),
            Err(error) => {
                unreadable(error);
                None
            }
        };
        match (replay, shared) {
            (None, _) => {}
            // A reflink run has nothing to restore. If it is the last run, an error says so,
            // because undoing an older run is not what the user asked for.
            (Some(replay), _) if replay.kind == Kind::Reflink => drop(shared.get_or_insert(run)),
            (Some(replay), None) => return Ok((run, replay)),
            (Some(_), Some(shared)) => {
                return Err(Error::NothingToRestore { run: shared, older: Some(run) });
            }
        }
    }
    Err(shared.map_or(Error::NothingToUndo, |run| Error::NothingToRestore { run, older: None }))
}

/// Like `Runs::read`, but does not recover the run and changes nothing.
pub(crate) fn read_only(folder: &Path, run: u64) -> Result<Option<Replay>, Error> {
    if !run_numbers(folder, FILES_SUFFIX)?.contains(&run) {
        return Ok(None);
    }
    let mut replay = Replay::read(&journal_path(folder, run, FILES_SUFFIX))?;
    replay.as_mut().map(count_leftovers_as_done);
    Ok(replay)
}
