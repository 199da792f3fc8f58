//! Records in the catalog how a run or an undo changed files.
//!
//! The journal of the run lists all changes, so the next scan does not have to read the changed files again.

use std::time::Duration;

use action::journal::{FileAction, FileState};
use action::plan::Kind;
use action::run::Runs;
use action::statuses::Statuses;
use catalog::{Catalog, CtimeCause, LiveFile, Version};
use fsops::Stat;
use runtime::epoch::now_ns;
use walk::{Device, PathOpener};

use crate::error::CommandError;
use crate::questions::catalog::open_writer;
use crate::settings::Settings;

/// Maximum number of directories that are kept open.
const OPEN_DIRS: usize = 64;

/// Delay after a change. Once it has passed, the timestamps of the file reveal every later change (see `catalog`). If
/// the state of a file is recorded sooner, the next scan has to read the file again.
const SETTLING_TIME: Duration = Duration::from_millis(15);

/// Files of this size or more are never stored inline. A btrfs block is at most 64 KiB long, and an inline file is
/// smaller than a block.
const INLINE_LIMIT_BYTES: u64 = 64 * 1024;

/// Records in the catalog how a run changed files, including their status change times. Used for runs whose files did
/// not come from the catalog. Does nothing if there is no catalog.
///
/// # Errors
///
/// Fails if the journal cannot be read or the catalog cannot be written. Even then, the changes to the files are kept,
/// and the next scan updates the catalog.
pub(crate) fn follow_run(
    run: u64,
    statuses: &Statuses,
    settings: &Settings,
) -> Result<(), CommandError> {
    let path = settings.catalog()?;
    if !path.exists() {
        return Ok(());
    }
    // The journal of a large run takes long to read.
    let (_, file_actions) = Runs::actions(&Catalog::runs_dir(&path), run)?;
    let is_done = |file_action: &Result<FileAction, _>| !matches!(file_action, Ok(file_action) if file_action.state != FileState::Done);
    follow(file_actions.filter(is_done), statuses, settings)
}

/// Records changes to files in the catalog. Does nothing if there is no catalog.
///
/// The caller must not hold the lock of the journals, because another process may hold the lock of the catalog while it
/// waits for the journals.
///
/// # Errors
///
/// Fails if the journal cannot be read or the catalog cannot be written. The files themselves are not affected, and the
/// next scan updates the catalog.
pub(crate) fn follow(
    file_actions: impl Iterator<Item = Result<FileAction, action::Error>>,
    statuses: &Statuses,
    settings: &Settings,
) -> Result<(), CommandError> {
    let path = settings.catalog()?;
    if !path.exists() {
        return Ok(());
    }
    let writer = open_writer(&path, settings)?;
    let inspected_ns = settled_now_ns();
    let mut reach = PathOpener::new(OPEN_DIRS);
    let file_actions =
        file_actions.map(|file_action| Ok::<_, CommandError>(catalog_operation(file_action?)));
    writer.follow(file_actions, |path| live(path, statuses, &mut reach), inspected_ns)
}

/// Waits until the timestamps of recently changed files are reliable, then returns the current time in nanoseconds
/// since the epoch.
pub(crate) fn settled_now_ns() -> i64 {
    std::thread::sleep(SETTLING_TIME);
    now_ns()
}

/// Converts a journal entry to a catalog operation.
fn catalog_operation(action: FileAction) -> catalog::FileOperation {
    let is_shared = action.kind == Kind::Reflink && action.state == FileState::Done;
    let FileAction { path, was, allocated, kept, digest, .. } = action;
    let was = version(&was);
    let unshared = if is_shared { allocated } else { 0 };
    // A sweep keeps no file. The catalog has no file with an empty path.
    let (kept, kept_was) =
        kept.map_or_else(|| (Vec::new(), was), |kept| (kept.path, version(&kept.was)));
    catalog::FileOperation { path, was, allocated, kept, kept_was, digest, unshared }
}

fn version(version: &action::plan::Version) -> Version {
    let &action::plan::Version { inode, size, mtime_ns, ctime_ns, .. } = version;
    Version { inode, size, mtime_ns, ctime_ns }
}

/// Returns the regular file at a path, or `None` if the path is not a regular file or cannot be examined.
fn live(path: &[u8], statuses: &Statuses, reach: &mut PathOpener) -> Option<LiveFile> {
    let (dir, name) = reach.parent_and_name(path).ok()?;
    let stat = dir.stat_child(&name).ok().filter(|stat| stat.kind == fsops::Kind::File)?;
    let device = Device { number: stat.device, volume: dir.child_volume(&name).ok()? };
    let Stat { inode, size, ctime_ns, allocated, .. } = stat;
    let is_inline = device.volume.can_share_extents()
        && size < INLINE_LIMIT_BYTES
        && dir.open_file(&name).is_ok_and(|file| file.is_inline());
    let version = Version { inode, size, mtime_ns: stat.mtime_ns(), ctime_ns };
    let ctime_cause = status(&stat, statuses);
    Some(LiveFile { device, version, allocated, is_inline, ctime_cause })
}

/// Returns the cause of the last status change of a file.
fn status(stat: &Stat, statuses: &Statuses) -> CtimeCause {
    match statuses.of(stat.key()).filter(|status| status.after_ns == stat.ctime_ns) {
        Some(action::statuses::Status { before_ns: Some(before_ns), .. }) => {
            CtimeCause::LopChanged { before_ns }
        }
        Some(action::statuses::Status { before_ns: None, .. }) => CtimeCause::LopCreated,
        None => CtimeCause::Unknown,
    }
}
