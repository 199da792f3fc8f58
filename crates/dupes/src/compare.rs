//! Compares small sets of files side by side; the bytes decide.

use content::{
    Digest, Part, ReadError, Scratch, WHOLE, head_of, partition, partition_bytes, read_exact,
    read_head,
};
use fsops::{File, Interrupted};
use walk::{FileId, Problem};

use crate::parallel::{Work, Worker};
use crate::sift::{done, settle};

/// Compares each set; every set is small enough to be open at once.
pub(crate) fn run(
    work: &Work<'_>,
    mut sets: Vec<Vec<FileId>>,
) -> Result<Vec<Problem>, Interrupted> {
    // Large ones first, so that no thread is left alone with one at the end; the rest in the
    // order of the tree.
    sets.sort_by_cached_key(|set| {
        let bytes = work.tree.file(set[0]).size.saturating_mul(set.len() as u64);
        (std::cmp::Reverse(bytes / LARGE), set[0])
    });
    let (_, problems) = work.on_threads(&sets, 4, |worker, (): &mut (), set| {
        let size = worker.work.tree.file(set[0]).size;
        if size == 0 {
            settle(worker.work.facts, set, Some(Digest::of(b"")));
            done(worker.work.watch, set.len(), 0);
            return Ok(());
        }
        if size <= WHOLE { small(worker, set, size) } else { large(worker, set, size) }
    })?;
    Ok(problems)
}

/// Sets of more bytes than this are taken first.
const LARGE: u64 = 8 * 1024 * 1024;

/// Compares files that fit in memory together, each opened and closed in turn.
fn small(worker: &mut Worker<'_>, set: &[FileId], size: u64) -> Result<(), Interrupted> {
    let facts = worker.work.facts;
    let mut scratch = std::mem::take(&mut worker.scratch);
    let buffer = scratch.bytes(size * set.len() as u64);
    let length = buffer.len() / set.len();
    let mut read = Vec::with_capacity(set.len());
    for (&id, chunk) in set.iter().zip(buffer.chunks_exact_mut(length)) {
        let whole = worker.read(id, |file, _, watch| read_exact(file, chunk, 0, watch))?;
        if whole.is_some() {
            let head = facts.head(id.0).unwrap_or_else(|| head_of(chunk));
            facts.set_head(id.0, head);
            read.push((id, head, &*chunk));
        }
    }
    done(worker.work.watch, read.len(), size);
    let same_head = |a: usize, b: usize| read[a].1 == read[b].1;
    for part in partition_bytes(read.len(), same_head, |i| read[i].2) {
        let files: Vec<FileId> = part.members.iter().map(|&i| read[i].0).collect();
        let head = read[part.members[0]].1;
        let shared = read.iter().filter(|(_, h, _)| *h == head).count();
        if shared > 1 {
            settle(facts, &files, part.digest);
        }
    }
    worker.scratch = scratch;
    Ok(())
}

/// Compares files too large to have whole in memory, all open at once.
fn large(worker: &mut Worker<'_>, set: &[FileId], size: u64) -> Result<(), Interrupted> {
    let facts = worker.work.facts;
    let mut scratch = std::mem::take(&mut worker.scratch);
    let mut open = Vec::with_capacity(set.len());
    for &id in set {
        let Some(file) = worker.open(id) else { continue };
        if facts.head(id.0).is_none() {
            let head = read_head(&file, size, &mut scratch, worker.work.watch);
            let Some(head) = worker.accept(id, &file, head)? else { continue };
            facts.set_head(id.0, head);
        }
        open.push((facts.head(id.0), id, file));
    }
    open.sort_by_key(|&(head, id, _)| (head, id));
    for alike in open.chunk_by(|a, b| a.0 == b.0) {
        if alike.len() > 1 {
            side_by_side(worker, alike, size, &mut scratch)?;
        } else {
            done(worker.work.watch, 1, size);
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
    let files: Vec<&File> = open.iter().map(|(_, _, file)| file).collect();
    let sparse = files.iter().any(|f| f.stat().is_ok_and(|s| s.allocated < s.size));
    let (parts, failures) = partition(&files, size, sparse, scratch, worker.work.watch)?;
    for failure in failures {
        let (_, id, file) = &open[failure.member];
        worker.accept::<()>(*id, file, Err(failure.error))?;
    }
    for Part { members, digest } in parts {
        let mut equal = Vec::with_capacity(members.len());
        for member in members {
            let (_, id, file) = &open[member];
            equal.extend(worker.accept(*id, file, Ok::<_, ReadError>(*id))?);
        }
        done(worker.work.watch, equal.len(), 0);
        if !equal.is_empty() {
            settle(worker.work.facts, &equal, digest);
        }
    }
    Ok(())
}
