//! Queries the metadata of files in inode order, after their directories have been listed.
//!
//! Files are deferred for one of two reasons: their disk is cold, or their directory is large and the
//! last one to list, so that all workers examine its files.
//!
//! On a cold hard disk, calling `stat` on each file while its directory is being listed moves the
//! disk head for almost every file. The listings already contain the inode numbers. A single pass
//! over the disk in inode order visits all inodes of a mount, and the readahead of the file system
//! covers the gaps. On a tree of 153,885 files, this took only 31 head movements.
//!
//! Until its metadata is known, each deferred file takes 16 extra bytes. The results of one batch
//! take additional memory.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use device::{WaitMeter, WorkerPool};
use fsops::{Kind, Op, Stat, Volume};
use runtime::Interrupted;

use crate::engine::worker::Mount;
use crate::open::dir_slots::DirSlots;
use crate::tree::records::{
    DirId, FileRecord, Note, Problem, Reason, Skipped, cstr_at, push_component, to_u32,
};
use crate::tree::store::{Store, skip_kind};

/// Number of files per batch on a cold disk. The results of one batch take about 48 MiB.
const COLD_BATCH_FILES: usize = 1 << 18;

/// Number of files per batch if the metadata is probably cached, so that the order matters little.
const WARM_BATCH_FILES: usize = 1 << 14;

/// Number of files that a worker takes at once. Files with neighbouring inode numbers often share
/// an inode block and a directory.
const CHUNK_FILES: usize = 32;

/// Marks a record to remove.
const DROPPED: DirId = DirId(u32::MAX);

/// A file whose metadata must still be queried.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Wanted {
    inode: u64,
    store: u32,
    file: u32,
}

/// Queries the metadata of all deferred files in `stores`, which must belong to `mount`, and
/// completes their records.
pub(crate) fn query(
    mount: &Mount<'_>,
    pool: &WorkerPool<'_>,
    stores: &mut [Store],
) -> Result<(), Interrupted> {
    let mut wanted = Vec::with_capacity(stores.iter().map(|store| store.deferred.len()).sum());
    for (number, store) in (0u32..).zip(&mut *stores) {
        let later = std::mem::take(&mut store.deferred);
        let files = &store.files;
        wanted.extend(later.into_iter().map(|file| Wanted {
            inode: files[file as usize].inode,
            store: number,
            file,
        }));
    }
    if wanted.is_empty() {
        return Ok(());
    }
    wanted.sort_unstable();
    let mut strays = Vec::new();
    let batch = if mount.disk.is_cold() { COLD_BATCH_FILES } else { WARM_BATCH_FILES };
    for window in wanted.chunks(batch) {
        let next = AtomicUsize::new(0);
        let found = pool.run(|meter| query_chunk(mount, stores, window, &next, meter));
        mount.progress.check()?;
        for (wanted, answer) in found.into_iter().flatten() {
            let store = &mut stores[wanted.store as usize];
            fill_in(mount, store, wanted, answer, &mut strays);
        }
    }
    close_gaps(mount, stores);
    move_strays(mount, stores, strays);
    Ok(())
}

/// The result of a query.
struct Answer {
    stat: Stat,
    /// The file system of the file; `None` if it is unknown.
    volume: Option<Volume>,
    note: Note,
}

/// Queries chunks of a batch until no chunks are left. Returns the answers.
fn query_chunk(
    mount: &Mount<'_>,
    stores: &[Store],
    window: &[Wanted],
    next: &AtomicUsize,
    meter: &mut WaitMeter<'_>,
) -> Vec<(Wanted, io::Result<Answer>)> {
    let mut open = DirSlots::new(mount.options.open_dirs);
    let mut found = Vec::new();
    loop {
        let start = next.fetch_add(CHUNK_FILES, Relaxed);
        if start >= window.len() || mount.progress.poll_stop() {
            return found;
        }
        meter.begin();
        for &wanted in &window[start..window.len().min(start + CHUNK_FILES)] {
            let store = &stores[wanted.store as usize];
            found.push((wanted, answer(mount, &mut open, store, wanted.file)));
        }
        meter.tick();
    }
}

/// Queries the metadata of one file relative to its directory, which is opened if necessary. Shows the
/// file to the visitor if the walk keeps it, unless the disk is cold.
fn answer(mount: &Mount<'_>, open: &mut DirSlots, store: &Store, file: u32) -> io::Result<Answer> {
    let file = store.files[file as usize];
    let name = cstr_at(&store.names, file.name);
    let dir = match open.get(file.dir) {
        Some(dir) => dir,
        None => open.put(file.dir, mount.open(file.dir)?),
    };
    let stat = dir.stat_child(name)?;
    let is_here = stat.device == mount.device;
    let volume = if is_here { Some(mount.volume) } else { dir.child_volume(name).ok() };
    // `fill_in` counts the files that are skipped.
    let takes = || mount.filter.takes_size(stat.size, || volume, &mut Skipped::default());
    let is_kept = is_here && stat.kind == Kind::File && takes();
    let visitor = mount.visitor.filter(|_| is_kept && !mount.disk.is_cold());
    let note = visitor.map_or_else(Note::default, |visitor| visitor.file(dir, name, &stat));
    Ok(Answer { stat, volume, note })
}

/// A file that is on a different device from its directory.
struct Stray {
    dir: DirId,
    store: u32,
    device: u64,
    record: FileRecord,
}

fn fill_in(
    mount: &Mount<'_>,
    store: &mut Store,
    wanted: Wanted,
    answer: io::Result<Answer>,
    strays: &mut Vec<Stray>,
) {
    let index = wanted.file as usize;
    let FileRecord { dir, name, .. } = store.files[index];
    // The record stays marked for removal unless all checks below pass.
    store.files[index].dir = DROPPED;
    let Answer { stat, volume, note } = match answer {
        Ok(answer) if answer.stat.kind == Kind::File => answer,
        Ok(answer) => return skip_kind(answer.stat.kind, &mut store.skipped),
        Err(source) => {
            let mut path = mount.dir_path(dir);
            let name = cstr_at(&store.names, name).to_bytes();
            if source.kind() != io::ErrorKind::NotFound {
                store.skipped_names.add(dir, name);
            }
            push_component(&mut path, name);
            store.problems.push(Problem { path, reason: Reason::Failed { op: Op::Stat, source } });
            return;
        }
    };
    mount.progress.bytes_seen.fetch_add(stat.size, Relaxed);
    if !mount.filter.takes_size(stat.size, || volume, &mut store.skipped) {
        let name = cstr_at(&store.names, name).to_bytes();
        return store.skipped_names.add_file(dir, name, &stat);
    }
    let record = store.record(&stat, dir, name);
    if stat.device == mount.device {
        store.files[index] = record;
        store.set_note(index, note);
    } else {
        strays.push(Stray { dir, store: wanted.store, device: stat.device, record });
    }
}

/// Removes the marked records and closes the gaps between the others.
fn close_gaps(mount: &Mount<'_>, stores: &mut [Store]) {
    let mut table = mount.table.write();
    let number: HashMap<u32, usize> = stores.iter().map(|store| store.shard).zip(0..).collect();
    let mut blocks: Vec<Vec<(u32, usize)>> = vec![Vec::new(); stores.len()];
    for (index, dir) in table.records.iter().enumerate().filter(|(_, dir)| dir.count > 0) {
        if let Some(&store) = number.get(&dir.shard) {
            blocks[store].push((dir.first, index));
        }
    }
    for (store, blocks) in stores.iter_mut().zip(&mut blocks) {
        blocks.sort_unstable();
        let mut to = 0;
        for &(_, dir) in &*blocks {
            let dir = &mut table.records[dir];
            let (first, start) = (dir.first as usize, to);
            for from in first..first + dir.count as usize {
                if store.files[from].dir != DROPPED {
                    store.move_file(from, to);
                    to += 1;
                }
            }
            (dir.first, dir.count) = (to_u32(start), to_u32(to - start));
        }
        store.truncate(to);
    }
}

/// Moves strays to additional records of their directories, one for each device.
fn move_strays(mount: &Mount<'_>, stores: &mut [Store], mut strays: Vec<Stray>) {
    strays.sort_by_key(|stray| (stray.dir, stray.device));
    for group in strays.chunk_by(|a, b| (a.dir, a.device) == (b.dir, b.device)) {
        let store = &mut stores[group[0].store as usize];
        let records = group.iter().map(|stray| stray.record);
        // `mount.open` locks the table, so it must be called before the table is locked here.
        let dir = mount.open(group[0].dir);
        let name = cstr_at(&store.names, group[0].record.name);
        let volume = dir.and_then(|dir| dir.child_volume(name).or_else(|_| dir.volume()));
        let mut table = mount.table.write();
        match table.device(group[0].device, || volume) {
            Ok(device) => table.add_duplicate(group[0].dir, device, store, records),
            Err(source) => {
                drop(table);
                let path = mount.dir_path(group[0].dir);
                let reason = Reason::Failed { op: Op::Stat, source };
                store.problems.push(Problem { path, reason });
            }
        }
    }
}
