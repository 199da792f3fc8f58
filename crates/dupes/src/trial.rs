//! Finds out by reading whether a device has an arm, and whether what is to be read is cached.

use std::time::{Duration, Instant};

use device::{Lane, Trial};
use fsops::{Interrupted, own_descriptor_table};
use walk::{FileId, Opener};

use crate::classes::Classes;
use crate::parallel::Work;

/// Reads one by one, and as many again together.
const READS: usize = 24;

/// How many at once when together.
const TOGETHER: usize = 8;

/// Bytes of a read: the smallest there is, so that time is the way to it.
const LENGTH: usize = 4096;

/// Looks at each lane before contents are read.
///
/// # Errors
///
/// Only that the work was asked to stop.
pub(crate) fn run(work: &Work<'_>, classes: &Classes) -> Result<(), Interrupted> {
    for lane in work.lanes() {
        if lane.is_settled() {
            continue;
        }
        let files = scattered(work, classes, lane);
        let files = uncached(work, &files);
        if files.is_empty() {
            continue;
        }
        lane.note_cold();
        work.watch.check()?;
        if let (true, [alone @ .., _]) = (files.len() >= 2 * READS, &files[..]) {
            let (alone, together) = alone.split_at(READS);
            lane.judge(Trial { alone: one_by_one(work, alone), together: at_once(work, together) });
        }
    }
    Ok(())
}

/// Returns files of one lane whose contents are to be read, from all over the tree.
fn scattered(work: &Work<'_>, classes: &Classes, lane: &Lane) -> Vec<FileId> {
    let wanted = |file: &FileId| {
        work.tree.file(*file).size > 0
            && work.facts.head(file.0).is_none()
            && std::ptr::eq(work.lane(*file), lane)
    };
    let all: Vec<FileId> = classes.iter().flatten().copied().filter(wanted).collect();
    // Steps of the golden section are far from each other, and from all steps before.
    let step = (all.len() * 618 / 1000) | 1;
    let mut picked: Vec<FileId> =
        (0..all.len().min(4 * READS)).map(|n| all[n * step % all.len()]).collect();
    let mut seen = std::collections::HashSet::new();
    picked.retain(|file| seen.insert(*file));
    picked
}

fn uncached(work: &Work<'_>, files: &[FileId]) -> Vec<FileId> {
    let mut opener = Opener::new(work.tree, 1);
    let mut is_cached = |file: FileId| {
        let length = work.tree.file(file).size.min(LENGTH as u64);
        // What has no place on the device is not read from it: holes, and memory.
        opener.open(file).is_ok_and(|open| open.is_cached(0, length) || open.place(0).is_none())
    };
    files.iter().copied().filter(|&file| !is_cached(file)).collect()
}

/// Returns the median time of reads that come one after the other.
fn one_by_one(work: &Work<'_>, files: &[FileId]) -> Duration {
    let mut opener = Opener::new(work.tree, 1);
    let mut times: Vec<Duration> = files.iter().map(|&file| read(&mut opener, file)).collect();
    times.sort_unstable();
    times[times.len() / 2]
}

/// Returns the time of reads that come together, divided by their number.
fn at_once(work: &Work<'_>, files: &[FileId]) -> Duration {
    let start = Instant::now();
    std::thread::scope(|scope| {
        for part in files.chunks(files.len().div_ceil(TOGETHER)) {
            scope.spawn(move || {
                own_descriptor_table();
                let mut opener = Opener::new(work.tree, 1);
                for &file in part {
                    read(&mut opener, file);
                }
            });
        }
    });
    start.elapsed() / u32::try_from(files.len()).unwrap_or(u32::MAX)
}

/// Reads the start of a file and returns how long that took, without the opening.
fn read(opener: &mut Opener<'_>, file: FileId) -> Duration {
    let Ok(open) = opener.open(file) else { return Duration::ZERO };
    open.expect_single_reads();
    let start = Instant::now();
    // One that cannot be read is told of when its turn comes.
    let _unread = open.read_at(&mut [0; LENGTH], 0);
    start.elapsed()
}
