//! Finds out which disks of the catalog are mounted.

use std::time::Duration;

use catalog::VolumeSummary;
use futures_util::future::join_all;
use walk::PathOpener;

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
        let work = move || PathOpener::new(1).is_offline_at(&volume, &path);
        match disks.run(volume.fsid, PATIENCE, work).await {
            Ok(false) => DiskState::Mounted,
            Ok(true) => DiskState::Offline,
            Err(_no_answer) => DiskState::Silent,
        }
    }))
    .await
}
