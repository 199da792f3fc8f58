//! Code shared by the commands that change files: opening the journals, and ending the command.
//!
//! The summary is printed even if the run stopped early, because its changes are not reverted. The catalog is updated
//! after the summary, so that the user sees the summary even if the update fails.

use std::cell::Cell;
use std::io;
use std::path::Path;

use action::Refusal;
use action::run::Runs;
use serde::Serialize;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::{problems, stdout};
use crate::quantity::counted;
use crate::questions::catalog::waiting_for;
use crate::settings::Settings;

/// Ends a command that changed files. Prints the files that were skipped, then the summary: `summary` is printed as
/// JSON, `text` as text. Then calls `update` to record the changes in the catalog, and returns the exit code.
///
/// # Errors
///
/// Fails if `ended` contains an error, the work stopped early. The error is returned after the changes were printed and
/// recorded.
pub(crate) fn conclude(
    summary: &impl Serialize,
    text: &str,
    refused: &[Refusal],
    ended: Result<(), action::Error>,
    update: impl FnOnce() -> Result<(), CommandError>,
    settings: &Settings,
) -> Result<Exit, CommandError> {
    problems::print(refused, settings);
    stdout::summarize(summary, text, settings)?;
    let updated = update().inspect_err(|error| settings.report(&not_updated(error)));
    let exit = Exit::Done.partial_if(!refused.is_empty() || updated.is_err());
    settings.finish(ended.map_err(Into::into), exit, text.as_bytes())
}

/// Returns the warning that the changes are not recorded in the catalog.
pub(crate) fn not_updated(error: &CommandError) -> CommandError {
    CommandError::new(Exit::Partial, format!("the catalog was not updated: {}", error.text()))
        .hint("the files stay as they are now; 'lop scan' brings the catalog up to date")
}

/// Prints the exit record if some journals could not be read, and returns the exit code of the command.
pub(crate) fn with_unreadable(exit: Exit, journals: u64, settings: &Settings) -> Exit {
    let what = counted(journals, "journal", "journals");
    settings.partial_if(journals > 0, exit, &format!("{what} could not be read"))
}

/// Returns a function that reports an unreadable journal and counts it in `unreadable`.
pub(crate) fn skip_unreadable<'a>(
    unreadable: &'a Cell<u64>,
    settings: &'a Settings,
) -> impl Fn(action::Error) + 'a {
    |error| {
        settings.report(&CommandError::from(error));
        unreadable.set(unreadable.get() + 1);
    }
}

/// Returns the runs whose journals can be read. All others are reported and counted in `unreadable`.
pub(crate) fn readable<R>(
    runs: impl IntoIterator<Item = Result<R, action::Error>>,
    unreadable: &Cell<u64>,
    settings: &Settings,
) -> Vec<R> {
    let skip = skip_unreadable(unreadable, settings);
    runs.into_iter().filter_map(|run| run.map_err(&skip).ok()).collect()
}

/// Opens the journal directory, and prints a message if it has to wait for another process.
///
/// # Errors
///
/// Fails if the directory cannot be created or locked.
pub(crate) fn open_runs(folder: &Path, settings: &Settings) -> Result<Runs, CommandError> {
    Ok(Runs::open(folder, |holder| {
        settings.complain(waiting_for(holder, "files").as_bytes());
    })?)
}

impl From<action::Error> for CommandError {
    fn from(error: action::Error) -> Self {
        match error {
            action::Error::File(error) => {
                let is_full = error.source.kind() == io::ErrorKind::StorageFull;
                let hint = if is_full {
                    "free some space there first: the journal takes about 1 KiB for each file; 'lop undo' reverts \
                     the changes so far"
                } else {
                    "the changes so far are in the journal; 'lop undo' reverts them"
                };
                CommandError::from(error).hint(hint)
            }
            action::Error::Interrupted(stop) => stop.into(),
            action::Error::NothingToRestore { older: Some(older), .. } => {
                CommandError::new(Exit::Failed, error.to_string())
                    .hint(format!("an older run can be undone: lop undo {older}"))
            }
            other => CommandError::new(Exit::Failed, other.to_string()),
        }
    }
}
