//! Estimates how many names and bytes a run has to mirror, so that the progress line can show the remaining time.

use std::collections::HashSet;
use std::io;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use fsops::{Dir, DirBuffer, DirItem, Kind};
use runtime::Progress;

use wire::Loss;

use crate::Options;
use crate::model::selection::{left_out_name, selects};
use crate::remote::receiver::pending::reason_of;
use crate::remote::receiver::session::DirMessage;
use crate::roots::Source;

/// Maximum time to count on a hard disk. Counting for longer would slow the copies down because of the seeks.
const SEEK_PATIENCE: Duration = Duration::from_secs(2);

/// Counts the names and bytes to mirror while a run mirrors them. The count includes all names except the top
/// directory, and the bytes of regular files. A hard-linked file counts once. The totals of `progress`, which belongs
/// to the run, grow until everything is counted.
///
/// Gives up and resets the totals to 0 if `stop` returns true, or if counting takes long on a hard disk, where it
/// competes with the copies for the disk heads. Silently skips entries that cannot be read; [`crate::mirror`] reports
/// them.
pub fn estimate(source: &Source, options: &Options, progress: &Progress, stop: &dyn Fn() -> bool) {
    progress.totals_grow.store(true, Relaxed);
    let (start, disk) = (Instant::now(), options.disks.of(source.top.stat.device));
    let is_in_the_way =
        || start.elapsed() > SEEK_PATIENCE && disk.is_classified() && disk.is_seek_bound();
    let stop = || stop() || progress.poll_stop() || is_in_the_way();
    let mut linked = HashSet::new();
    let is_whole = visit_tree(source, b"", options, &stop, &mut 0, |dir, item| {
        progress.files_total.fetch_add(1, Relaxed);
        if item.kind != Kind::Dir && !linked.contains(&item.inode) {
            progress.bytes_total.fetch_add(size(dir, item, &mut linked), Relaxed);
        }
    });
    if !is_whole {
        progress.files_total.store(0, Relaxed);
        progress.bytes_total.store(0, Relaxed);
    }
    progress.totals_grow.store(false, Relaxed);
}

/// Number of entries to mirror below a directory of the source.
#[derive(Debug, Default)]
pub(crate) struct SubtreeCount {
    pub(crate) names: u64,
    /// Whether at least one entry is not a directory.
    pub(crate) has_files: bool,
    /// Number of directories that could not be read.
    pub(crate) unread: u64,
    /// Whether any entry could not be read.
    pub(crate) source_failed: bool,
}

impl SubtreeCount {
    /// Returns the counts for one message from the sender.
    pub(crate) fn of(message: &DirMessage) -> SubtreeCount {
        let failed = |loss: Loss| reason_of(loss).is_some();
        match message {
            DirMessage::Names(batch) => SubtreeCount {
                names: batch.len() as u64,
                has_files: batch.len() > batch.dirs().count(),
                ..SubtreeCount::default()
            },
            DirMessage::Failed(_, Loss::LeftOut(_), _)
            | DirMessage::Entered(_)
            | DirMessage::End { .. } => SubtreeCount::default(),
            DirMessage::Failed(name, loss, _) if !name.is_empty() => SubtreeCount {
                names: 1,
                has_files: true,
                source_failed: failed(*loss),
                ..SubtreeCount::default()
            },
            DirMessage::Closed(loss, _) | DirMessage::Failed(_, loss, _) => SubtreeCount {
                unread: u64::from(failed(*loss)),
                source_failed: failed(*loss),
                ..SubtreeCount::default()
            },
        }
    }
}

/// Counts the entries to mirror below a directory of the source, and the directories that cannot be read.
pub(crate) fn count_subtree(
    source: &Source,
    path: &[u8],
    options: &Options,
    stop: &dyn Fn() -> bool,
) -> SubtreeCount {
    let (mut below, mut unread) = (SubtreeCount::default(), 0);
    visit_tree(source, path, options, stop, &mut unread, |_, item| {
        below.names += 1;
        below.has_files |= item.kind != Kind::Dir;
    });
    SubtreeCount { unread, source_failed: unread > 0, ..below }
}

/// Calls `each` for every entry to mirror below a directory, and counts the directories that cannot be read. Returns
/// false if `stop` ended the visit early.
fn visit_tree(
    source: &Source,
    path: &[u8],
    options: &Options,
    stop: &dyn Fn() -> bool,
    unread: &mut u64,
    mut each: impl FnMut(&Dir, &DirItem<'_>),
) -> bool {
    let (mut dirs, mut buffer) = (vec![path.to_vec()], DirBuffer::default());
    while let Some(path) = dirs.pop() {
        let opened = if path.is_empty() {
            source.top.dir.open_child(c".")
        } else {
            source.top.dir.open_below(&path)
        };
        let dir = match opened {
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            opened => opened,
        };
        let opened = dir.and_then(|dir| Ok((dir.stat()?, dir.volume()?, dir)));
        let Ok((stat, volume, dir)) = opened else {
            *unread += 1;
            continue;
        };
        if !source.enters(options, &stat, &volume) {
            continue;
        }
        dir.list_quietly();
        let (mut seen, mut stopped) = (0u32, false);
        let listed = dir.for_each(&mut buffer, |item| {
            let name = item.name.to_bytes();
            let path =
                || if path.is_empty() { name.to_vec() } else { [&path[..], name].join(&b'/') };
            let is_dir = item.kind == Kind::Dir;
            let is_left_out = left_out_name(name, item.kind).is_some();
            if stopped || is_left_out || !selects(options, name, path, is_dir) {
                return;
            }
            each(&dir, &item);
            if is_dir {
                dirs.push(path());
            }
            seen += 1;
            stopped = seen.is_multiple_of(256) && stop();
        });
        *unread += u64::from(listed.is_err());
        if stopped || stop() {
            return false;
        }
    }
    true
}

/// Returns the size of a file, and remembers its inode number if the file has several names. Devices are not
/// distinguished, so the total is too small if two devices use the same inode number. That is acceptable for an
/// estimate.
fn size(dir: &Dir, item: &DirItem<'_>, linked: &mut HashSet<u64>) -> u64 {
    let Ok(stat) = dir.stat_child(item.name) else { return 0 };
    if stat.links > 1 {
        linked.insert(stat.inode);
    }
    if stat.kind == Kind::File { stat.size } else { 0 }
}
