//! Finds out which disks of the catalog are mounted.

use std::time::Duration;

use catalog::VolumeSummary;
use fsops::{Volume, is_gone};
use futures_util::future::join_all;
use walk::{PathOpener, split_path};

use crate::app::disks::Disks;

/// Time that the page waits for disks.
const PATIENCE: Duration = Duration::from_secs(1);

/// The state of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DiskState {
    Mounted,
    /// Its directory is now on a different file system.
    Offline,
    /// The disk does not answer, or has to start first.
    Silent,
}

/// Returns the state of each disk.
pub(super) async fn states(disks: &Disks, volumes: &[VolumeSummary]) -> Vec<DiskState> {
    join_all(volumes.iter().map(async |disk| {
        let Some(volume) = disk.volume else { return DiskState::Mounted };
        let path = disk.path.clone();
        let work = move || is_offline_at(&mut PathOpener::new(1), &volume, &path);
        match disks.run(volume.fsid, PATIENCE, work).await {
            Ok(false) => DiskState::Mounted,
            Ok(true) => DiskState::Offline,
            Err(_no_answer) => DiskState::Silent,
        }
    }))
    .await
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
