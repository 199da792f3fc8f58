//! Counts the files in quarantine below a directory. A walk skips them. They are counted because deleting the directory
//! deletes them as well, although `lop undo` may still need them.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

use walk::{Filter, OwnFiles, Tree};

use crate::error::CommandError;
use crate::monitor::monitored;
use crate::questions::work::files;
use crate::settings::{Resources, Settings};

/// Returns the number of files in the quarantines that a walk skipped. Adds paths that cannot be examined to the
/// problems of `tree`.
///
/// # Errors
///
/// Fails on an interrupt.
pub(crate) fn count_quarantined(tree: &mut Tree, settings: &Settings) -> Result<u64, CommandError> {
    let path = |path: &Vec<u8>| PathBuf::from(OsString::from_vec(path.clone()));
    let stores: Vec<PathBuf> = tree.stores.iter().map(path).collect();
    if stores.is_empty() {
        return Ok(0);
    }
    let mut filter = Filter::default();
    filter.empty = true;
    let options = Resources::automatic().walk(filter, false, OwnFiles::default());
    let mut found =
        monitored(settings, |progress| Ok(walk::walk(&stores, &options, None, progress)?))?;
    tree.problems.append(&mut found.problems);
    let is_file = |name: &[u8]| name != action::quarantine::MANIFEST.to_bytes();
    let within = files(&found).into_iter().filter(|file| is_file(found.name(*file).to_bytes()));
    // `skipped.quarantine` counts single quarantined files, which exist where lop could not create a directory.
    Ok(within.count() as u64 + found.skipped.quarantine)
}
