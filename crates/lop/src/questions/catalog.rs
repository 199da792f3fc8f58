//! Opens the catalog, and turns its errors into messages with hints.

use catalog::Catalog;

use crate::error::CommandError;
use crate::exit::Exit;
use crate::settings::Settings;

impl From<catalog::Error> for CommandError {
    fn from(error: catalog::Error) -> Self {
        use catalog::Error;
        let (message, full, cut_off) = (error.to_string(), error.is_full(), error.needs_rollback());
        let exit = if full { Exit::Failed } else { Exit::Catalog };
        let room = "its file system is full: free some space, choose another place with \
                    --catalog FILE, or use --no-catalog";
        match error {
            Error::Missing(_) => {
                CommandError::new(exit, message).hint("scan something first: lop scan DIR")
            }
            Error::TooNew { .. } => CommandError::new(exit, message)
                .hint("use the newer lop, or another catalog: --catalog FILE"),
            Error::Orphans { .. } => CommandError::new(exit, message)
                .hint("move it away and scan again, or use another: --catalog FILE"),
            Error::TooOld { .. } => {
                CommandError::new(exit, message).hint("the next 'lop scan' brings it up to date")
            }
            Error::Damaged { source, .. } => {
                let error = CommandError::new(exit, message)
                    .hint("move the damaged catalog away and scan again, or use another one with --catalog FILE");
                match source {
                    Some(source) => error.because(source),
                    None => error,
                }
            }
            Error::File(error) => {
                let place =
                    "choose a place that you can write to with --catalog FILE, or use --no-catalog";
                CommandError::new(exit, format!("the catalog: {error}"))
                    .because(error.source)
                    .hint(if full { room } else { place })
            }
            Error::Database { source, .. } => {
                let other =
                    "check that you may read it, or use another catalog with --catalog FILE";
                let writable = "a change to it was interrupted; any command of a user who may write to it \
                                reverts that";
                CommandError::new(exit, message).because(source).hint(match (full, cut_off) {
                    (true, _) => room,
                    (false, true) => writable,
                    (false, false) => other,
                })
            }
            _ => CommandError::new(exit, message),
        }
    }
}

/// Opens the catalog for reading.
///
/// # Errors
///
/// Fails if the catalog is missing, damaged, of another version, or cannot be read.
pub(crate) fn open(settings: &Settings) -> Result<Catalog, CommandError> {
    Ok(Catalog::open(&settings.catalog()?)?)
}

/// Returns the message while another process has locked the catalog.
pub(crate) fn waiting(holder: Option<u32>) -> String {
    match holder {
        Some(process) => format!("waiting for process {process}, which is changing the catalog"),
        None => "waiting for another process, which is changing the catalog".into(),
    }
}
