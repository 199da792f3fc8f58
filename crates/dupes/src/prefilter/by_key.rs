//! Decides sets of small files with the same head by their content keys.

use content::{Digest, Head, Scratch, read_exact};
use fsops::File;
use runtime::{Interrupted, Progress};
use walk::{FileId, Problem};

use crate::classes::{CLASSES_PER_STEP, SameSize};
use crate::contents::record_equal;
use crate::keys::{ContentKey, ContentKeys};
use crate::prefilter::read_order::{ReadRequest, ReadTarget};
use crate::prefilter::reading::read;
use crate::work::Work;
use crate::worker::Worker;

/// Minimum number of bytes to read before sets are decided. Contents are recorded only then, so a
/// search that is stopped has to read the batch again when it continues.
const BATCH_BYTES: u64 = 512 << 20;

/// Decides all sets, in batches of at least [`BATCH_BYTES`] to read.
pub(super) fn split(work: &Work<'_>, sets: &SameSize) -> Result<Vec<Problem>, Interrupted> {
    let Some(keys) = &work.keys else { return Ok(Vec::new()) };
    let (leaders, mut problems) = (sets.leaders(), Vec::new());
    let mut rest = &leaders[..];
    while !rest.is_empty() {
        let (mut requests, mut bytes, mut count) = (Vec::new(), 0, 0);
        for set in rest.iter().map(|&(number, _)| sets.get(number as usize)) {
            let keyless = set.files.iter().filter(|file| keys.get(**file).is_none());
            let before = requests.len();
            requests.extend(keyless.map(|&file| ReadRequest { file, target: 0 }));
            bytes += *set.value * (requests.len() - before) as u64;
            count += 1;
            if bytes >= BATCH_BYTES {
                break;
            }
        }
        let (batch, further) = rest.split_at(count);
        rest = further;
        problems.extend(decide_batch(work, keys, sets, batch, requests)?);
    }
    Ok(problems)
}

/// Reads the requested files in tree order, then decides the sets with these numbers.
fn decide_batch(
    work: &Work<'_>,
    keys: &ContentKeys,
    sets: &SameSize,
    batch: &[(u32, FileId)],
    requests: Vec<ReadRequest>,
) -> Result<Vec<Problem>, Interrupted> {
    let (_, mut problems) = read(work, &[ReadTarget::Key], requests)?;
    let (_, further) =
        work.on_threads(batch, CLASSES_PER_STEP, |worker, buffers: &mut Buffers, &(number, _)| {
            let set = sets.get(number as usize);
            decide(worker, keys, set.files, *set.value, buffers)
        })?;
    problems.extend(further);
    Ok(problems)
}

/// Buffers of a thread.
#[derive(Default)]
struct Buffers {
    files: Vec<(ContentKey, FileId)>,
    equal: Vec<FileId>,
}

/// Decides one set of files of `size` bytes.
fn decide(
    worker: &mut Worker<'_>,
    keys: &ContentKeys,
    set: &[FileId],
    size: u64,
    Buffers { files, equal }: &mut Buffers,
) -> Result<(), Interrupted> {
    let fingerprints = worker.work.fingerprints;
    worker.work.progress.relieve_memory();
    files.clear();
    // A file without a key could not be read.
    files.extend(set.iter().filter_map(|&file| Some((keys.get(file)?, file))));
    files.sort_unstable();
    for run in files.chunk_by(|a, b| a.0 == b.0) {
        equal.clear();
        equal.extend(run.iter().map(|&(_, file)| file));
        let digest = match fingerprints.head(equal[0].0) {
            Some(head) if equal.len() > 1 && worker.work.options.digests => {
                digest(worker, keys, (head, run[0].0), equal, size)?
            }
            _ => None,
        };
        worker.work.done(equal.iter().copied(), size);
        record_equal(fingerprints, equal, digest);
    }
    Ok(())
}

/// Returns the digest of the content of `equal` files. If it is not known yet, reads the files until
/// one can be read, and removes the others from `equal`.
fn digest(
    worker: &mut Worker<'_>,
    keys: &ContentKeys,
    (head, key): (Head, ContentKey),
    equal: &mut Vec<FileId>,
    size: u64,
) -> Result<Option<Digest>, Interrupted> {
    if let Some(digest) = keys.digest(head, key) {
        return Ok(Some(digest));
    }
    let read = |file: &File, scratch: &mut Scratch, progress: &Progress| {
        let buffer = scratch.bytes(size);
        read_exact(file, buffer, 0, progress)?;
        Ok(Digest::of(buffer))
    };
    while let Some(&file) = equal.first() {
        if let Some(digest) = worker.read(file, read)? {
            return Ok(Some(digest));
        }
        equal.swap_remove(0);
    }
    Ok(None)
}
