//! Finds out which disks of the catalog are not mounted.

use catalog::VolumeSummary;
use fsops::{Volume, is_gone};
use walk::{PathOpener, split_path};

/// Returns for each disk whether its directory is now on a different file system.
pub(super) fn offline(disks: &[VolumeSummary]) -> Vec<bool> {
    let mut opener = PathOpener::new(1);
    let is_offline = |disk: &VolumeSummary| {
        disk.volume.is_some_and(|volume| is_offline_at(&mut opener, &volume, &disk.path))
    };
    disks.iter().map(is_offline).collect()
}

/// Looks at the nearest ancestor that exists, because a directory may have been removed from its disk.
fn is_offline_at(opener: &mut PathOpener, disk: &Volume, mut dir: &[u8]) -> bool {
    loop {
        match opener.dir(dir).and_then(|dir| dir.volume()) {
            Ok(here) => return disk.is_offline_at(&here),
            Err(e) if is_gone(&e) && !dir.is_empty() => dir = split_path(dir).0,
            Err(_) => return false,
        }
    }
}
