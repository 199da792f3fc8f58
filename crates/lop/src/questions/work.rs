//! Reads and compares all files of a tree while a monitor shows the progress and handles interrupts.

use content::Fingerprints;
use dupes::Work;
use walk::{FileId, Tree};

use crate::error::CommandError;
use crate::monitor::monitored;
use crate::settings::{Resources, Settings};

/// Returns all files of a tree.
pub(crate) fn files(tree: &Tree) -> Vec<FileId> {
    (0u32..).zip(tree.files()).map(|(id, _)| FileId(id)).collect()
}

/// Runs `work` on the files of a tree, with a monitor and with the resources of this machine.
///
/// # Errors
///
/// Fails if `work` fails, or on an interrupt.
pub(crate) fn work_on<T>(
    tree: &Tree,
    fingerprints: &Fingerprints,
    settings: &Settings,
    work: impl FnOnce(&Work<'_>) -> Result<T, CommandError>,
) -> Result<T, CommandError> {
    let options = Resources::automatic().compare();
    monitored(settings, |progress| work(&Work::new(tree, fingerprints, &options, progress)))
}
