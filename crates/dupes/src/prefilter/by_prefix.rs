//! Splits sets by the BLAKE3 of increasingly long prefixes.

use content::PrefixDigest;
use runtime::Interrupted;
use walk::{FileId, Problem};

use crate::contents::{known_digest, record_equal};
use crate::holes::has_huge_holes;
use crate::prefilter::by_head::{LargeSets, Splitter};
use crate::prefilter::read_order::{
    MIN_BATCH_BYTES, PrefixTarget, ReadRequest, ReadTarget, next_length,
};
use crate::prefilter::reading::{Prefixes, prefix_of, read};
use crate::sets::Set;
use crate::work::Work;

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
