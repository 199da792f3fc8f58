//! The common parts of commands that change files: opening the journals, and ending the command.
//!
//! The summary is printed even if the run stopped early, because the files that it changed stay changed. The catalog is
//! updated only after that: a failed update must not hide what was done.

use std::io;
use std::path::Path;

use action::Refusal;
use action::run::Runs;
use serde::Serialize;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::{problems, stdout};
use crate::quantity::counted;
use crate::settings::Settings;

/// The report of a command at the end of its work on files.
pub(crate) struct Conclusion<'a, S> {
    /// For programs, with `--json`.
    pub(crate) summary: &'a S,
    /// For people.
    pub(crate) text: String,
    /// Files that were left alone.
    pub(crate) refused: &'a [Refusal],
}

impl<S: Serialize> Conclusion<'_, S> {
    /// Prints problems and the summary, lets `update` record the changes in the catalog, and returns the exit code.
    ///
    /// # Errors
    ///
    /// Returns the error in `ended`, which stopped the work early, after everything was printed and recorded.
    pub(crate) fn report(
        self,
        ended: Result<(), action::Error>,
        update: impl FnOnce() -> Result<(), CommandError>,
        settings: &Settings,
    ) -> Result<Exit, CommandError> {
        let Conclusion { summary, text, refused } = self;
        problems::print(refused, settings);
        if settings.json {
            stdout::print_summary(summary)?;
        }
        settings.summarize(text.as_bytes());
        let updated = update().inspect_err(|error| settings.report(&not_updated(error)));
        let is_done = refused.is_empty() && updated.is_ok();
        let exit = if is_done { Exit::Done } else { Exit::Partial };
        settings.finish(ended.map_err(Into::into), exit, text.as_bytes())
    }
}

/// Returns the warning that the catalog does not know what was done.
fn not_updated(error: &CommandError) -> CommandError {
    CommandError::new(Exit::Partial, format!("the catalog was not updated: {}", error.text()))
        .hint("the files stay as they are now; 'lop scan' brings the catalog up to date")
}

/// Returns the exit code of a command that could not read some of the journals, and prints the exit record.
pub(crate) fn with_unreadable(exit: Exit, journals: u64, settings: &Settings) -> Exit {
    if journals == 0 || exit != Exit::Done {
        return exit;
    }
    let what = counted(journals, "journal", "journals");
    settings.print_exit_record(Exit::Partial, &format!("{what} could not be read"));
    Exit::Partial
}

/// Opens the folder with the journals, and reports if it has to wait for another process.
///
/// # Errors
///
/// Fails if the folder cannot be created or locked.
pub(crate) fn open_runs(folder: &Path, settings: &Settings) -> Result<Runs, CommandError> {
    Ok(Runs::open(folder, |holder| settings.complain(waiting(holder).as_bytes()))?)
}

fn waiting(holder: Option<u32>) -> String {
    match holder {
        Some(process) => format!("waiting for process {process}, which is changing files"),
        None => "waiting for another process, which is changing files".into(),
    }
}

impl From<action::Error> for CommandError {
    fn from(error: action::Error) -> Self {
        match error {
            action::Error::File(error) => {
                let is_full = error.source.kind() == io::ErrorKind::StorageFull;
                let hint = if is_full {
                    "free some space there first: the journal takes about 1 KiB for each file; 'lop undo' reverts \
                     what was done so far"
                } else {
                    "the journal has what was done so far; 'lop undo' reverts it"
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
