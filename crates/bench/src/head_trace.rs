//! Traces of the head of the simulated disk during a scan. They are recorded once, kept as CSV
//! files, and drawn in `docs/io.md`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::Failure;
use crate::corpus::Spec;
use crate::hdd::{Disk, Settings};
use crate::image::{Image, drop_caches};
use crate::record::{read_rows, write_rows};
use crate::scenario::{Device, Order};
use crate::store::Store;

/// Maximum number of moments kept for a scan. This exceeds the width of the chart in pixels.
const MAX_MOMENTS: usize = 1200;
/// The sampling period. One period corresponds to 0.03 s of simulated time.
const SAMPLE_PERIOD: Duration = Duration::from_millis(1);

/// The state of the disk at one point in time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Moment {
    /// Seconds that the disk has been busy so far.
    pub busy_s: f64,
    /// Number of seeks so far.
    pub seeks: u64,
    /// The position of the head, in bytes from the beginning of the disk.
    pub at: u64,
}

/// Scans `server2018` on a simulated disk with cold caches and records the positions of the head.
///
/// # Errors
///
/// The image cannot be made or mounted, or lop fails.
///
/// # Panics
///
/// Never: mounting with disk settings always creates a simulated disk.
pub fn record(lop: &Path, store: &Store) -> Result<Vec<Moment>, Failure> {
    let spec = Spec::new("server2018", None, 1.0, Order::Shuffled)?;
    let image = Image::of(&spec, Device::Ext4, store)?.0;
    let mounted = image.mount(&store.join("mnt"), Some(&Settings::default()))?;
    drop_caches()?;
    let mut command = Command::new(lop);
    command.args(["scan", "--no-catalog", "-q"]).arg(mounted.path().join("tree"));
    command.stdout(Stdio::null());
    let disk = mounted.disk().expect("it was mounted with a head");
    let (before, _) = disk.state();
    let mut child = command.spawn().map_err(|e| Failure::at(lop, e))?;
    let mut moments = Vec::new();
    let status = loop {
        moments.push(moment(disk, before));
        match child.try_wait() {
            Ok(None) => sleep(SAMPLE_PERIOD),
            Ok(Some(status)) => break status,
            Err(e) => return Err(Failure::at(lop, e)),
        }
    };
    moments.push(moment(disk, before));
    if !status.success() {
        return Err(Failure::at(lop, status.to_string()));
    }
    Ok(thinned(&moments))
}

fn moment(disk: &Disk, before: crate::hdd::Usage) -> Moment {
    let (usage, at) = disk.state();
    let done = usage - before;
    Moment { busy_s: done.busy_s, seeks: done.seeks, at }
}

/// Keeps moments at equal intervals of the disk's busy time, and the last moment.
fn thinned(moments: &[Moment]) -> Vec<Moment> {
    let Some(last) = moments.last() else { return Vec::new() };
    let step = last.busy_s / f64::from(u32::try_from(MAX_MOMENTS).expect("few"));
    let mut kept: Vec<Moment> = Vec::new();
    for moment in moments {
        let later = |before: &Moment| before != moment && moment.busy_s >= before.busy_s + step;
        if kept.last().is_none_or(later) {
            kept.push(*moment);
        }
    }
    if kept.last() != Some(last) {
        kept.push(*last);
    }
    kept
}

/// Writes a trace to a named file below `root/benchsuite/head-traces`.
///
/// # Errors
///
/// The file cannot be written.
pub fn write(root: &Path, name: &str, moments: &[Moment]) -> Result<PathBuf, Failure> {
    let folder = root.join("benchsuite/head-traces");
    fs::create_dir_all(&folder).map_err(|e| Failure::at(&folder, e))?;
    let path = folder.join(format!("{name}.csv"));
    write_rows(&path, moments).map(|()| path)
}

/// Reads all traces below `root`, sorted by name.
///
/// # Errors
///
/// A file cannot be read.
pub fn read_all(root: &Path) -> Result<Vec<(String, Vec<Moment>)>, Failure> {
    let Ok(entries) = fs::read_dir(root.join("benchsuite/head-traces")) else {
        return Ok(Vec::new());
    };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok((name, read_rows(&path)?))
    };
    paths.into_iter().map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::{MAX_MOMENTS, Moment, thinned};

    #[test]
    fn moments_are_thinned_by_busy_time() {
        let moment = |n: u32| Moment { busy_s: f64::from(n), seeks: u64::from(n), at: 0 };
        let few: Vec<Moment> = (0..10).map(moment).collect();
        assert_eq!(thinned(&few), few);
        let many: Vec<Moment> = (0..100_000).map(moment).collect();
        let kept = thinned(&many);
        assert!((MAX_MOMENTS / 2..=MAX_MOMENTS + 2).contains(&kept.len()), "{}", kept.len());
        assert_eq!((kept.first(), kept.last()), (many.first(), many.last()));
        // A single moment is enough for an idle disk.
        assert_eq!(thinned(&vec![moment(0); 50]), [moment(0)]);
    }
}
