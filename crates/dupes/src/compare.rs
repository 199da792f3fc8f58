//! Compares small sets of files side by side, byte by byte.

use std::sync::atomic::Ordering::Relaxed;

use content::{
    CompareOptions, Digest, EqualFiles, HashRange, Head, ReadError, Scratch, extend_prefix,
    head_length, head_of, partition, partition_bytes, read_exact, read_head,
};
use fsops::File;
use runtime::Interrupted;
use walk::{FileId, Problem};

use crate::classes::SameSize;
use crate::contents::record_equal;
use crate::holes::has_huge_holes;
use crate::sets::Set;
use crate::shared_extents::SharedExtents;
use crate::work::Work;
use crate::worker::Worker;

/// Compares the files of each set. Sets must be small enough for all their files to be open at
/// once.
pub(crate) fn run(work: &Work<'_>, mut sets: SameSize) -> Result<Vec<Problem>, Interrupted> {
    // Large sets come first, so that no thread is left with a large set at the end. The others
    // follow in tree order.
    let rank = |set: &Set<'_, u64>| {
        let bytes = set.value.saturating_mul(set.files.len() as u64);
        (std::cmp::Reverse(bytes / LARGE_SET_BYTES), set.files[0])
    };
    sets.sort_by_cached_key(work.progress, rank);
    let pieces = sets.leaders();
    // A thread takes a few sets at a time, because consecutive sets often share directories. It
    // takes fewer sets if there are not enough for all threads.
    let step = (sets.len() / (work.options.threads.first * 16)).clamp(1, 4);
    let (_, problems) = work.on_threads(&pieces, step, |worker, (): &mut (), &(number, _)| {
        let Set { files: set, value: &size } = sets.get(number as usize);
        if size == 0 {
            worker.work.done(set.iter().copied(), 0);
            // Empty files need no read.
            for file in set {
                worker.work.fingerprints.set_head(file.0, head_of(b""));
            }
            record_equal(worker.work.fingerprints, set, Some(Digest::of(b"")));
            return Ok(());
        }
        if size == head_length(size) { small(worker, set, size) } else { large(worker, set, size) }
    })?;
    Ok(problems)
}

/// Sets with more bytes than this come first.
const LARGE_SET_BYTES: u64 = 8 * 1024 * 1024;

/// Compares files that are no longer than their heads. Opens each file at most once.
///
/// Reads the files without a known head first. A file with a known head is read only if another
/// file has the same head.
fn small(worker: &mut Worker<'_>, set: &[FileId], size: u64) -> Result<(), Interrupted> {
    let fingerprints = worker.work.fingerprints;
    let mut scratch = std::mem::take(&mut worker.scratch);
    let length = usize::try_from(size).expect("the head of a file fits the address space");
    let (known, new): (Vec<_>, Vec<_>) = set
        .iter()
        .zip(scratch.pieces(set.len(), length))
        .partition(|(id, _)| fingerprints.head(id.0).is_some());
    let mut read: Vec<(FileId, Head, &[u8])> = Vec::with_capacity(set.len());
    for (&id, chunk) in new {
        if worker.read(id, |file, _, progress| read_exact(file, chunk, 0, progress))?.is_some() {
            let head = head_of(chunk);
            fingerprints.set_head(id.0, head);
            read.push((id, head, chunk));
        }
    }
    let heads = |head| set.iter().filter(|f| fingerprints.head(f.0) == Some(head)).count();
    for (&id, chunk) in known {
        let Some(head) = fingerprints.head(id.0).filter(|&head| heads(head) > 1) else {
            worker.work.done([id].into_iter(), size);
            continue;
        };
        if worker.read(id, |file, _, progress| read_exact(file, chunk, 0, progress))?.is_some() {
            read.push((id, head, chunk));
        }
    }
    worker.work.done(read.iter().map(|&(id, ..)| id), size);
    let digest = worker.work.options.digests;
    let same_head = |a: usize, b: usize| read[a].1 == read[b].1;
    for part in partition_bytes(read.len(), digest, same_head, |i| read[i].2) {
        let files: Vec<FileId> = part.members.iter().map(|&i| read[i].0).collect();
        if heads(read[part.members[0]].1) > 1 {
            record_equal(fingerprints, &files, part.digest);
        }
    }
    worker.scratch = scratch;
    Ok(())
}

/// Compares files that are longer than their heads, with all of them open at once.
fn large(worker: &mut Worker<'_>, set: &[FileId], size: u64) -> Result<(), Interrupted> {
    let fingerprints = worker.work.fingerprints;
    let mut scratch = std::mem::take(&mut worker.scratch);
    let mut open = Vec::with_capacity(set.len());
    let (known, new): (Vec<_>, Vec<_>) = set.iter().partition(|f| fingerprints.head(f.0).is_some());
    for id in new {
        let Some(file) = worker.open(id) else { continue };
        let head = read_head(&file, size, &mut scratch, worker.work.progress);
        let Some(head) = worker.accept(id, &file, head)? else {
            worker.work.done([id].into_iter(), size);
            continue;
        };
        fingerprints.set_head(id.0, head);
        open.push((head, id, file));
    }
    for id in known {
        let Some(head) = fingerprints.head(id.0) else { continue };
        if set.iter().filter(|f| fingerprints.head(f.0) == Some(head)).count() < 2 {
            worker.work.done([id].into_iter(), size);
        } else if let Some(file) = worker.open(id) {
            open.push((head, id, file));
        }
    }
    open.sort_by_key(|&(head, id, _)| (head, id));
    for alike in open.chunk_by(|a, b| a.0 == b.0) {
        if alike.len() > 1 {
            side_by_side(worker, alike, size, &mut scratch)?;
        } else {
            worker.work.done(alike.iter().map(|&(_, id, _)| id), size);
        }
    }
    worker.scratch = scratch;
    Ok(())
}

fn side_by_side<H>(
    worker: &mut Worker<'_>,
    open: &[(H, FileId, File)],
    size: u64,
    scratch: &mut Scratch,
) -> Result<(), Interrupted> {
    let (tree, progress) = (worker.work.tree, worker.work.progress);
    let shared = SharedExtents::find(tree, open);
    let leaders: Vec<&File> = shared.leaders.iter().map(|&n| &open[n].2).collect();
    let saved_bytes = size.saturating_mul((open.len() - leaders.len()) as u64);
    progress.bytes_done.fetch_add(saved_bytes, Relaxed);
    let sparse = leaders.iter().any(|f| f.stat().is_ok_and(|s| s.allocated < s.size));
    let options = CompareOptions {
        sparse,
        digest: worker.work.options.digests,
        quantum: worker.work.disk(open[0].1).quantum(),
    };
    let (parts, failures) = partition(&leaders, size, options, scratch, progress)?;
    // `partition` has already counted the bytes.
    worker.work.done(open.iter().map(|&(_, id, _)| id), 0);
    for failure in failures {
        drop_all(worker, open, shared.all_of(shared.leaders[failure.member]), &failure.error)?;
    }
    for EqualFiles { members, mut digest } in parts {
        let all = members.iter().flat_map(|&member| shared.all_of(shared.leaders[member]));
        let positions: Vec<usize> = all.collect();
        if let [only] = members[..]
            && positions.len() > 1
            && options.digest
            && !has_huge_holes(worker.work, open[0].1)
        {
            // The leader had no other file to be compared with, so `partition` counted it as done
            // without reading it.
            progress.bytes_total.fetch_add(size, Relaxed);
            let whole = HashRange { size, before: None, to: size };
            match extend_prefix(leaders[only], whole, scratch, progress) {
                Ok(grown) => digest = Some(grown.beginning.into()),
                Err(error) => {
                    drop_all(worker, open, positions.into_iter(), &error)?;
                    continue;
                }
            }
        }
        let mut equal = Vec::with_capacity(positions.len());
        for position in positions {
            let (_, id, file) = &open[position];
            equal.extend(worker.accept(*id, file, Ok::<_, ReadError>(*id))?);
        }
        if !equal.is_empty() {
            record_equal(worker.work.fingerprints, &equal, digest);
        }
    }
    Ok(())
}

/// Drops files whose shared extents cannot be read.
fn drop_all<H>(
    worker: &mut Worker<'_>,
    open: &[(H, FileId, File)],
    positions: impl Iterator<Item = usize>,
    error: &ReadError,
) -> Result<(), Interrupted> {
    for position in positions {
        let (_, id, file) = &open[position];
        let error = match error {
            ReadError::Io(error) => ReadError::Io(copy_of(error)),
            ReadError::Short => ReadError::Short,
            ReadError::Interrupted(stop) => return Err(*stop),
        };
        worker.accept::<()>(*id, file, Err(error))?;
    }
    Ok(())
}

/// Returns a copy of an I/O error.
fn copy_of(error: &std::io::Error) -> std::io::Error {
    error.raw_os_error().map_or_else(|| error.kind().into(), std::io::Error::from_raw_os_error)
}
