//! How much there is to mirror, for who wants to know how long it will take.

use std::collections::HashSet;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use fsops::{Dir, DirBuffer, DirItem, Kind, Watch};

use crate::Options;
use crate::job::takes;
use crate::part::is_part;
use crate::roots::Source;

/// How long it goes on at a disk with an arm.
const PATIENCE: Duration = Duration::from_secs(2);

/// Counts what is to be mirrored, beside a mirroring with the same watch: names, the top directory's not included, and
/// bytes of regular files, each once, as the totals of the watch, which grow until all is counted.
///
/// Gives up, without totals, when it is to stop, or takes long at a disk with an arm, which it would send to and fro.
/// What cannot be read is not counted, and not reported: that is for [`crate::mirror`].
pub fn survey(source: &Source, options: &Options, watch: &Watch, stop: &dyn Fn() -> bool) {
    watch.totals_grow.store(true, Relaxed);
    let (start, lane) = (Instant::now(), options.lanes.of(source.top.stat.device));
    let is_in_the_way = || start.elapsed() > PATIENCE && lane.is_settled() && lane.has_arm();
    let stop = || stop() || watch.stopped() || is_in_the_way();
    let mut linked = HashSet::new();
    let is_whole = walk(source, b"", options, &stop, |dir, item| {
        watch.files_total.fetch_add(1, Relaxed);
        if item.kind != Kind::Dir && !linked.contains(&item.inode) {
            watch.bytes_total.fetch_add(size(dir, item, &mut linked), Relaxed);
        }
    });
    if !is_whole {
        watch.files_total.store(0, Relaxed);
        watch.bytes_total.store(0, Relaxed);
    }
    watch.totals_grow.store(false, Relaxed);
}

/// Returns how many names below a directory of the source are to be mirrored, as far as it can be read, and whether any
/// of them is something other than a directory.
pub(crate) fn names_below(
    source: &Source,
    path: &[u8],
    options: &Options,
    stop: &dyn Fn() -> bool,
) -> (u64, bool) {
    let (mut names, mut has_files) = (0, false);
    walk(source, path, options, stop, |_, item| {
        names += 1;
        has_files |= item.kind != Kind::Dir;
    });
    (names, has_files)
}

/// Calls `each` for what is to be mirrored below a directory; returns whether that was all.
fn walk(
    source: &Source,
    path: &[u8],
    options: &Options,
    stop: &dyn Fn() -> bool,
    mut each: impl FnMut(&Dir, &DirItem<'_>),
) -> bool {
    let (mut dirs, mut buffer) = (vec![path.to_vec()], DirBuffer::default());
    while let Some(path) = dirs.pop() {
        let opened = if path.is_empty() {
            source.top.dir.open_child(c".")
        } else {
            source.top.dir.open_below(&path)
        };
        let Ok(dir) = opened else { continue };
        let (Ok(stat), Ok(volume)) = (dir.stat(), dir.volume()) else { continue };
        let is_outside = options.one_file_system && stat.device != source.top.stat.device;
        if is_outside || volume.is_synthetic() && !source.is_synthetic {
            continue;
        }
        dir.list_quietly();
        let (mut seen, mut stopped) = (0u32, false);
        let _listed = dir.for_each(&mut buffer, |item| {
            let name = item.name.to_bytes();
            let path =
                || if path.is_empty() { name.to_vec() } else { [&path[..], name].join(&b'/') };
            let is_dir = item.kind == Kind::Dir;
            if stopped || is_part(name) || !takes(options, name, path, is_dir) {
                return;
            }
            each(&dir, &item);
            if is_dir {
                dirs.push(path());
            }
            seen += 1;
            stopped = seen.is_multiple_of(256) && stop();
        });
        if stopped || stop() {
            return false;
        }
    }
    true
}

/// Returns the size of a file, and notes it if it has several names. Where another device has the same
/// number the sum is too small: it is an estimate.
fn size(dir: &Dir, item: &DirItem<'_>, linked: &mut HashSet<u64>) -> u64 {
    let Ok(stat) = dir.stat_child(item.name) else { return 0 };
    if stat.links > 1 {
        linked.insert(stat.inode);
    }
    if stat.kind == Kind::File { stat.size } else { 0 }
}
