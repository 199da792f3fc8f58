//! Tells the catalog what a run or an undo did with files, as their journal has it, so that it need not be found out by a
//! scan.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use action::{Deed, Kind, Runs, State, Statuses};
use catalog::{Catalog, Live, Status, Version, Writer};
use fsops::Stat;
use walk::{Device, Reach};

use crate::error::CommandError;
use crate::questions::catalog::waiting;
use crate::settings::Settings;

/// Directories kept open.
const OPEN_DIRS: usize = 64;

/// After this long the times of files tell every further change (see `catalog`): what was done in the last moment would
/// have to be read again by the next scan.
const SETTLED: Duration = Duration::from_millis(15);

/// No file of this size or more is inside its inode: btrfs has no larger blocks than 64 KiB, and takes less than one.
const SMALL: u64 = 64 * 1024;

/// Tells the catalog what a run did with files that the run did not take from it, and which status the run gave them.
pub(crate) fn follow_run(
    run: u64,
    statuses: &Statuses,
    settings: &Settings,
) -> Result<(), CommandError> {
    let (_, deeds) = Runs::deeds(&Catalog::runs(&settings.catalog()?), run)?;
    let is_done = |deed: &Result<Deed, _>| !matches!(deed, Ok(deed) if deed.state != State::Done);
    follow(deeds.filter(is_done), statuses, settings)
}

/// Tells the catalog of files, if there is one. The folder with the journals must not be locked: whoever has the
/// catalog may be waiting for it.
pub(crate) fn follow<D>(
    deeds: D,
    statuses: &Statuses,
    settings: &Settings,
) -> Result<(), CommandError>
where
    D: Iterator<Item = Result<Deed, action::Error>>,
{
    let path = settings.catalog()?;
    if !path.exists() {
        return Ok(());
    }
    let writer = Writer::open(&path, |holder| settings.complain(waiting(holder).as_bytes()))?;
    let looked_ns = settled_now_ns();
    let mut reach = Reach::new(OPEN_DIRS);
    let deeds = deeds.map(|deed| Ok::<_, CommandError>(catalog_deed(deed?)));
    writer.follow(deeds, |path| live(path, statuses, &mut reach), looked_ns)
}

/// Waits until the times of files that were just changed are old enough to be trusted; returns the time, nanoseconds
/// since the epoch.
pub(crate) fn settled_now_ns() -> i64 {
    std::thread::sleep(SETTLED);
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// Returns what a journal tells as the catalog takes it.
fn catalog_deed(deed: Deed) -> catalog::Deed {
    let is_shared = deed.kind == Kind::Reflink && deed.state == State::Done;
    let Deed { path, was, allocated, kept, kept_was, digest, .. } = deed;
    let (was, kept_was) = (version(&was), version(&kept_was));
    let unshared = if is_shared { allocated } else { 0 };
    catalog::Deed { path, was, allocated, kept, kept_was, digest, unshared }
}

fn version(version: &action::Version) -> Version {
    let &action::Version { inode, size, mtime_ns, ctime_ns, .. } = version;
    Version { inode, size, mtime_ns, ctime_ns }
}

/// Returns the regular file at a path.
fn live(path: &[u8], statuses: &Statuses, reach: &mut Reach) -> Option<Live> {
    let (dir, name) = reach.site(path).ok()?;
    let stat = dir.stat_child(&name).ok().filter(|stat| stat.kind == fsops::Kind::File)?;
    let device = Device { number: stat.device, volume: dir.child_volume(&name).ok()? };
    let Stat { inode, size, ctime_ns, .. } = stat;
    let is_inline = device.volume.can_share_extents()
        && size < SMALL
        && dir.open_file(&name).is_ok_and(|file| file.is_inline());
    let allocated = if is_inline { 0 } else { stat.allocated };
    let version = Version { inode, size, mtime_ns: stat.mtime_ns(), ctime_ns };
    Some(Live { device, version, allocated, status: status(&stat, statuses) })
}

/// Returns who changed the status of a file.
fn status(stat: &Stat, statuses: &Statuses) -> Status {
    match statuses.of(stat.key()).filter(|status| status.after_ns == stat.ctime_ns) {
        Some(action::Status { before_ns: Some(before_ns), .. }) => Status::Changed { before_ns },
        Some(action::Status { before_ns: None, .. }) => Status::Made,
        None => Status::Unknown,
    }
}
