//! Measures whether a disk is seek-bound, and whether the data that a search reads is cached.

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use device::{Disk, Probe, spread};
use fsops::File;
use runtime::{Interrupted, spawn_with_own_descriptors};
use walk::{FileId, Opener};

use crate::work::Work;

/// Bytes per read. A single page, so that the seek dominates the measured time.
const READ_BYTES: usize = 4096;

/// A disk counts as cached if fewer than one page in this many has to be fetched, because some
/// pages are always missing under memory pressure. If fetching the missing pages takes long, the
/// wait meter notices the blocked threads.
const MIN_UNCACHED_FRACTION: usize = 8;

/// Maximum number of files to inspect when choosing spots on a disk.
const MAX_INSPECTED_FILES: usize = 4096;

/// Distance between two spots in a large file.
const SPOT_DISTANCE_BYTES: u64 = 8 << 20;

/// Probes each disk before contents are read. Probes all disks in parallel, because any of them may
/// fail to respond. Reads only those of `files` that have to be read (`is_wanted`).
///
/// # Errors
///
/// Fails only with [`Interrupted`], if the user asked to stop.
pub(crate) fn run(
    work: &Work<'_>,
    files: &[FileId],
    is_wanted: impl Fn(FileId) -> bool + Sync,
) -> Result<(), Interrupted> {
    let is_wanted = &is_wanted;
    if let [only] = work.disks()
        && !only.is_cold()
        && work.progress.opened.load(Relaxed) > files.len() as u64 / 2
    {
        // Most files have just been read during the walk, without waiting for the disk.
        return Ok(());
    }
    match work.disks() {
        [only] => probe_disk(work, files, is_wanted, only),
        disks => std::thread::scope(|scope| {
            for disk in disks {
                let run = || probe_disk(work, files, is_wanted, disk);
                spawn_with_own_descriptors(scope, run).expect("a thread");
            }
        }),
    }
    work.progress.check()
}

fn probe_disk(
    work: &Work<'_>,
    files: &[FileId],
    is_wanted: &(impl Fn(FileId) -> bool + Sync),
    disk: &Disk,
) {
    if disk.is_classified() {
        return;
    }
    let (known, spots) = uncached(work, &sample_spots(work, files, is_wanted, disk));
    if known == 0 {
        return;
    }
    if spots.len() * MIN_UNCACHED_FRACTION < known {
        disk.note_cached();
        return;
    }
    disk.note_cold();
    if work.progress.poll_stop() {
        return;
    }
    if let Some(probe) = Probe::run(&spots, || Opener::new(work.tree, 1), read) {
        disk.classify(probe);
    }
}

/// One page of a file, given by its offset.
#[derive(Clone, Copy)]
struct Spot {
    file: FileId,
    offset: u64,
}

/// Returns spots in those files of a disk that have to be read, spread over the whole tree.
fn sample_spots(
    work: &Work<'_>,
    all: &[FileId],
    is_wanted: impl Fn(FileId) -> bool,
    disk: &Disk,
) -> Vec<Spot> {
    let wanted = |file: &FileId| {
        work.tree.file(*file).size > 0 && is_wanted(*file) && std::ptr::eq(work.disk(*file), disk)
    };
    let mut turns: HashMap<FileId, u64> = HashMap::new();
    spread(all.len())
        .cycle()
        .take(MAX_INSPECTED_FILES)
        .map(|n| all[n])
        .filter(wanted)
        .map(|file| {
            // If there are few files, a large file is chosen several times. Its spots are megabytes
            // apart.
            let turn = turns.entry(file).or_default();
            *turn += 1;
            Spot { file, offset: (*turn - 1) * SPOT_DISTANCE_BYTES }
        })
        .filter(|spot| spot.offset < work.tree.file(spot.file).size)
        .take(4 * Probe::READS)
        .collect()
}

/// Returns the number of spots whose cache state is known, and the spots that are not cached.
fn uncached(work: &Work<'_>, spots: &[Spot]) -> (usize, Vec<Spot>) {
    let mut opener = Opener::new(work.tree, 1);
    let mut known = 0;
    let mut fetched = |&spot: &Spot| {
        let open = opener.open(spot.file).ok()?;
        let length = (work.tree.file(spot.file).size - spot.offset).min(READ_BYTES as u64);
        let cached = open.is_cached(spot.offset, length)?;
        known += 1;
        (!cached && is_stored(&open, spot.offset)).then_some(spot)
    };
    let uncached = spots.iter().filter_map(&mut fetched).collect();
    (known, uncached)
}

/// Returns whether a page is stored in a block of the device. Holes and data inside the inode are
/// not stored in such a block.
fn is_stored(file: &File, offset: u64) -> bool {
    match file.device_offset(offset) {
        Ok(found) => found.is_some(),
        // Network file systems and the simple file systems of USB sticks cannot report disk
        // offsets.
        Err(_) => file.next_data(offset).is_ok_and(|data| data == Some(offset)),
    }
}

/// Reads a page and returns how long that took, excluding the time to open the file.
fn read(opener: &mut Opener<'_>, spot: Spot) -> Option<Duration> {
    let open = opener.open(spot.file).ok()?;
    open.expect_single_reads();
    let start = Instant::now();
    // A file that cannot be read is reported later, when the search reads it.
    let _unread = open.read_at(&mut [0; READ_BYTES], spot.offset);
    Some(start.elapsed())
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::path::Path;

    use fsops::Dir;
    use testkit::{TempTree, TreeBuilder};

    use super::is_stored;

    #[test]
    fn holes_are_recognized_without_disk_offsets() {
        // tmpfs has no FIEMAP.
        let tree = TempTree::new_in(Path::new("/dev/shm"));
        TreeBuilder::new().seeded("data", 1, 8192).sparse("hole", 1 << 20, &[]).make(tree.path());
        let dir = Dir::open(tree.path()).expect("a directory");
        let open =
            |name: &str| dir.open_file(&CString::new(name).expect("a name")).expect("a file");
        assert!(open("data").device_offset(0).is_err());
        assert!(is_stored(&open("data"), 4096));
        assert!(!is_stored(&open("hole"), 4096));
    }
}
