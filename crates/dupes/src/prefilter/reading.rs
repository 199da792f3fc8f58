//! Reads heads, content keys and prefixes of files, in disk order on seek-bound disks.

use std::sync::atomic::Ordering::Relaxed;

use content::{PrefixDigest, Scratch, extend_prefix, read_head};
use fsops::File;
use runtime::{Interrupted, Progress};
use walk::{FileId, Problem};

use crate::keys::Reading;
use crate::prefilter::read_order::{ReadOrder, ReadRequest, ReadTarget, read_order};
use crate::work::Work;
use crate::worker::Worker;

/// Reads files up to their targets. Records heads and keys. Returns the prefixes of all files with a
/// request for a prefix, sorted by file.
pub(crate) fn read(
    work: &Work<'_>,
    targets: &[ReadTarget],
    requests: Vec<ReadRequest>,
) -> Result<(Prefixes, Vec<Problem>), Interrupted> {
    let ReadOrder { requests, shared } = read_order(work, targets, requests)?;
    let (mut prefixes, mut problems) = read_all(work, targets, &requests)?;
    let (mut same, mut alone) = (Vec::new(), Vec::new());
    work.progress.heads_done.fetch_add(shared.len() as u64, Relaxed);
    for (request, other) in shared {
        let known = work.fingerprints.head(other.0).zip(prefix_of(&prefixes, other));
        if let Some((head, prefix)) = known {
            work.fingerprints.set_head(request.file.0, head);
            same.push((request.file, prefix));
        } else {
            // The file with the same extents could not be read, but this one may still be readable.
            alone.push(request);
        }
    }
    prefixes.extend(same);
    let (more, further) = read_all(work, targets, &alone)?;
    prefixes.extend(more);
    problems.extend(further);
    work.progress.sort(&mut prefixes);
    Ok((prefixes, problems))
}

/// Reads files in the given order, up to their targets.
fn read_all(
    work: &Work<'_>,
    targets: &[ReadTarget],
    requests: &[ReadRequest],
) -> Result<(Prefixes, Vec<Problem>), Interrupted> {
    let target = |request: &ReadRequest| &targets[request.target as usize];
    let (lists, problems) = work.on_threads_with_prefetch(
        requests,
        64,
        |worker, request| open(worker, request.file, target(request)),
        |worker, list, request, open| read_one(worker, list, request.file, target(request), open),
    )?;
    let mut prefixes: Prefixes = lists.into_iter().flatten().collect();
    work.progress.sort(&mut prefixes);
    Ok((prefixes, problems))
}

/// Opens a file. On a cold disk, also asks the kernel to fetch the requested range.
fn open(worker: &mut Worker<'_>, file: FileId, target: &ReadTarget) -> Option<File> {
    let open = worker.open(file)?;
    if worker.work.disk(file).is_cold() {
        let range = target.range(worker.work.tree.file(file).size);
        open.fetch(range.start, range.end - range.start);
    }
    Some(open)
}

fn read_one(
    worker: &mut Worker<'_>,
    prefixes: &mut Prefixes,
    file: FileId,
    target: &ReadTarget,
    open: Option<File>,
) -> Result<(), Interrupted> {
    let (work, size) = (worker.work, worker.work.tree.file(file).size);
    work.progress.heads_done.fetch_add(1, Relaxed);
    let (target, open) = match (target, open) {
        (ReadTarget::Head, Some(open)) => return head(worker, file, size, &open),
        (ReadTarget::Key, Some(open)) => return key(worker, file, size, &open),
        (ReadTarget::Head | ReadTarget::Key, None) => return Ok(()),
        (ReadTarget::Prefix(target), open) => (target, open),
    };
    let hash_range = target.hash_range(size);
    // A file that fails counts as done from its first byte, even if part of it was already counted.
    // The total grows by that part.
    let Some(open) = open else {
        work.expect_again(&[file], hash_range.before.map_or(0, |(at, _)| at));
        return Ok(());
    };
    let read = |open: &File, scratch: &mut Scratch, progress: &Progress| {
        extend_prefix(open, hash_range, scratch, progress)
    };
    let Some(grown) = worker.read_from(file, &open, read)? else {
        work.expect_again(&[file], hash_range.to);
        return Ok(());
    };
    if let Some(head) = grown.head {
        work.fingerprints.set_head(file.0, head);
    }
    prefixes.push((file, grown.beginning));
    Ok(())
}

/// Reads the head of a file. Also records the key if the file was read whole.
fn head(worker: &mut Worker<'_>, file: FileId, size: u64, open: &File) -> Result<(), Interrupted> {
    let work = worker.work;
    let Some(keys) = work.keys_for(size) else {
        // There is no need to check whether the file is unchanged since the walk. If the file's
        // head is unique, the result contains nothing about the file. Otherwise, the file is read
        // again and checked after that read.
        return worker.read_unchecked(file, open, |open, scratch, progress| {
            work.fingerprints.set_head(file.0, read_head(open, size, scratch, progress)?);
            Ok(())
        });
    };
    let mut reading = None;
    worker.read_unchecked(file, open, |open, scratch, progress| {
        reading = Some(keys.read(open, size, scratch, progress)?);
        Ok(())
    })?;
    let Some(Reading { head, key }) = reading else { return Ok(()) };
    if let Some(key) = key {
        let Some(key) = worker.read_from(file, open, |_, _, _| Ok(key))? else { return Ok(()) };
        keys.set(file, key);
    }
    work.fingerprints.set_head(file.0, head);
    Ok(())
}

/// Reads a whole file and records its key.
fn key(worker: &mut Worker<'_>, file: FileId, size: u64, open: &File) -> Result<(), Interrupted> {
    let Some(keys) = worker.work.keys_for(size) else { return Ok(()) };
    let read = |open: &File, scratch: &mut Scratch, progress: &Progress| {
        keys.read_whole(open, size, scratch, progress)
    };
    if let Some(key) = worker.read_from(file, open, read)? {
        keys.set(file, key);
    }
    Ok(())
}

/// Files and their prefixes, sorted by file.
pub(crate) type Prefixes = Vec<(FileId, PrefixDigest)>;

/// Returns the prefix of a file, if it was read.
pub(crate) fn prefix_of(prefixes: &Prefixes, file: FileId) -> Option<PrefixDigest> {
    let at = prefixes.binary_search_by_key(&file, |&(file, _)| file).ok()?;
    Some(prefixes[at].1)
}
