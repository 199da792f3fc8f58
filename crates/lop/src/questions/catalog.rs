//! Opens the catalog and turns its errors into messages with hints.

use std::path::Path;

use catalog::{Catalog, Writer};

use crate::error::CommandError;
use crate::exit::Exit;
use crate::settings::Settings;

const READABLE: &str = "check that you may read it, or use another catalog with --catalog FILE";

impl From<catalog::Error> for CommandError {
    fn from(error: catalog::Error) -> Self {
        use catalog::Error;
        let (message, full, cut_off) = (error.to_string(), error.is_full(), error.needs_rollback());
        let exit = if full { Exit::Failed } else { Exit::Catalog };
        let hint = match &error {
            Error::Missing(_) => "scan something first: lop scan DIR",
            Error::Exists(_) => "choose another one: --catalog FILE",
            Error::TooNew { .. } => "use the newer lop, or another catalog: --catalog FILE",
            Error::Orphans { .. } => "move it away and scan again, or use another: --catalog FILE",
            Error::TooOld { .. } => "the next 'lop scan' brings it up to date",
            Error::Damaged { .. } => {
                "move the damaged catalog away and scan again, or use another one with --catalog FILE"
            }
            Error::File(_) | Error::Database { .. } if full => {
                "its file system is full: free some space, choose another place with --catalog FILE, or use --no-catalog"
            }
            Error::File(_) => {
                "choose a place that you can write to with --catalog FILE, or use --no-catalog"
            }
            Error::Database { .. } if cut_off => {
                "a change to it was interrupted; to revert the change, run any command as a user who may write to it"
            }
            Error::Database { .. } if error.is_busy() => {
                "another process is changing it; try again when that has ended"
            }
            Error::Database { .. } => READABLE,
            _ => return CommandError::new(exit, message),
        };
        let text = match error {
            Error::File(error) => {
                CommandError::new(exit, format!("the catalog: {error}")).because(error.source)
            }
            Error::Database { source, .. } | Error::Damaged { source: Some(source), .. } => {
                CommandError::new(exit, message).because(source)
            }
            _ => CommandError::new(exit, message),
        };
        text.hint(hint)
    }
}

/// Opens the catalog for reading.
///
/// # Errors
///
/// Fails if the catalog is missing or damaged, has another version, or cannot be read.
pub(crate) fn open(settings: &Settings) -> Result<Catalog, CommandError> {
    Catalog::open(&settings.catalog()?).map_err(unreadable)
}

/// Returns the error of a command that cannot read the catalog, and cannot do without it.
pub(crate) fn unreadable(error: catalog::Error) -> CommandError {
    match error {
        catalog::Error::File(error) => {
            let text = format!("the catalog: {error}");
            CommandError::new(Exit::Catalog, text).because(error.source).hint(READABLE)
        }
        error => error.into(),
    }
}

/// Opens a catalog for writing, and creates it if it is missing. Prints a message if another process has locked the
/// catalog.
///
/// # Errors
///
/// Fails if the catalog is damaged, has another version, or cannot be written.
pub(crate) fn open_writer(path: &Path, settings: &Settings) -> Result<Writer, CommandError> {
    Ok(Writer::open(path, |holder| {
        settings.complain(waiting_for(holder, "the catalog").as_bytes());
    })?)
}

/// Opens the catalog for writing. Does not create it.
///
/// # Errors
///
/// Fails if the catalog is missing, or for the reasons listed at [`open_writer`].
pub(crate) fn open_existing(settings: &Settings) -> Result<Writer, CommandError> {
    // Fails if there is no catalog. Without this step, opening the catalog for writing would create one.
    drop(open(settings)?);
    open_writer(&settings.catalog()?, settings)
}

/// Returns the message to print while waiting for another process that has locked `what`.
pub(crate) fn waiting_for(holder: Option<u32>, what: &str) -> String {
    let process = holder.map_or("another process".into(), |id| format!("process {id}"));
    format!("waiting for {process}, which is changing {what}")
}
