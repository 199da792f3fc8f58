//! Splits sets by the BLAKE3 of increasingly long prefixes.

use content::{PrefixDigest, round_length};
use runtime::Interrupted;
use walk::{FileId, Problem};

use crate::contents::{known_digest, record_equal};
use crate::holes::has_huge_holes;
use crate::prefilter::by_head::Splitter;
use crate::prefilter::read_order::{PrefixTarget, ReadRequest, ReadTarget};
use crate::prefilter::reading::{Prefixes, prefix_of, read};
use crate::sets::{Set, Sets};
use crate::work::Work;

/// Sets that cannot be compared side by side yet, each with the target of its next read. Each of
/// these sets has too many files, has files that are far apart on a seek-bound disk, or has a file
/// with a known digest.
pub(super) type LargeSets = Sets<PrefixTarget>;

/// Each round multiplies the prefix length by this factor. A file that differs early then costs
/// little more than necessary, and a file that never differs needs few rounds.
const PREFIX_GROWTH_FACTOR: u64 = 8;

/// Minimum number of bytes of large sets to read before these sets are split. Results are recorded
/// only after the split, so a search that is stopped has to read the batch again when it continues.
/// This is far more data than passes under the head of a hard disk between the reads of two files.
pub(crate) const MIN_BATCH_BYTES: u64 = 8 << 30;

/// Splits the large sets by increasingly long prefixes until each is decided or small. Continues
/// with sets that have already been split before it starts new ones.
///
/// `first` contains the prefixes that have already been read, each up to the first target of its
/// set.
pub(super) fn split(
    work: &Work<'_>,
    splitter: &mut Splitter,
    first: &Prefixes,
    problems: &mut Vec<Problem>,
) -> Result<(), Interrupted> {
    while !splitter.large.is_empty() {
        let batch = last_batch(work, &mut splitter.large);
        let targets: Vec<ReadTarget> =
            batch.iter().map(|set| ReadTarget::Prefix(*set.value)).collect();
        let mut requests = Vec::new();
        for (set, number) in batch.iter().zip(0..) {
            let whole = set.files.first().is_some_and(|&f| set.to == work.tree.file(f).size);
            let is_read = |f: FileId| set.before.is_none() && prefix_of(first, f).is_some();
            let is_known = |f: FileId| whole && known_digest(work.fingerprints, f).is_some();
            let files = set.files.iter().filter(|f| !is_read(**f) && !is_known(**f));
            requests.extend(files.map(|&file| ReadRequest { file, target: number }));
        }
        let (read, further) = read(work, &targets, requests)?;
        problems.extend(further);
        for set in batch.iter() {
            split_set(work, splitter, set, |f| {
                let before = prefix_of(first, f).filter(|_| set.before.is_none());
                before.or_else(|| prefix_of(&read, f))
            });
        }
    }
    Ok(())
}

/// Splits one set by the prefixes that `read` returns.
fn split_set(
    work: &Work<'_>,
    splitter: &mut Splitter,
    set: Set<'_, PrefixTarget>,
    read: impl Fn(FileId) -> Option<PrefixDigest>,
) {
    let Some(&first) = set.files.first() else { return };
    let size = work.tree.file(first).size;
    let to = set.to;
    let whole = to == size;
    let prefix = |f: FileId| {
        let digest = known_digest(work.fingerprints, f).filter(|_| whole);
        digest.map(|digest| PrefixDigest(digest.0)).or_else(|| read(f))
    };
    let mut files: Vec<_> = set.files.iter().filter_map(|&f| prefix(f).map(|b| (b, f))).collect();
    files.sort_unstable();
    for run in files.chunk_by(|a, b| a.0 == b.0) {
        let files: Vec<FileId> = run.iter().map(|&(_, f)| f).collect();
        if whole || files.len() == 1 {
            work.done(files.iter().copied(), size - to);
            record_equal(work.fingerprints, &files, Some(run[0].0.into()).filter(|_| whole));
            continue;
        }
        let (next, before) = (next_length(to, size), Some((to, run[0].0)));
        let apart = work.is_seek_bound(files[0]) && !has_huge_holes(work, files[0]);
        if apart || files.len() > work.options.open_files {
            splitter.large.push(&files, PrefixTarget { before, to: next });
        } else {
            work.expect_again(&files, to);
            splitter.sets.push(&files, size);
        }
    }
}

/// Returns the next prefix length for files of `size` that have been read up to `length`.
pub(super) fn next_length(length: u64, size: u64) -> u64 {
    round_length(length.saturating_mul(PREFIX_GROWTH_FACTOR)).min(size)
}

/// Removes and returns the sets that were added last; as many as are needed for a batch of reads.
fn last_batch(work: &Work<'_>, large: &mut LargeSets) -> LargeSets {
    let bytes = |set: &Set<'_, PrefixTarget>| {
        let size = set.files.first().map_or(0, |&file| work.tree.file(file).size);
        let range = set.range(size);
        (range.end - range.start).saturating_mul(set.files.len() as u64)
    };
    let (mut at, mut sum) = (large.len(), 0u64);
    while at > 0 && sum < MIN_BATCH_BYTES {
        at -= 1;
        sum = sum.saturating_add(bytes(&large.get(at)));
    }
    large.split_off(at)
}
