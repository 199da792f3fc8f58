//! Splits large classes without holding their files open: by head, then by the BLAKE3 of
//! increasingly long prefixes.

pub(crate) mod prefixes;
pub(crate) mod read_order;

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;

use content::{Fingerprints, Head, PrefixDigest, head_length, round_length};
use runtime::{Interrupted, Stage};
use walk::{FileId, Problem};

use crate::classes::{SameSize, inodes};
use crate::contents::{known_digest, record_equal};
use crate::holes::has_huge_holes;
use crate::prefilter::prefixes::{Prefixes, prefix_of, read};
use crate::prefilter::read_order::{ReadRequest, ReadTarget, SEEK_BOUND_PREFIX_BYTES};
use crate::sets::{Set, Sets};
use crate::work::Work;

/// Classes of up to this many files are compared side by side without reading heads first.
///
/// Most classes of two are true duplicates, and skipping their heads avoids opening each file
/// twice. In larger classes, files more often have the same size by coincidence, and reading heads
/// in tree order makes better use of every cache. Measured on /usr and a home folder: limits of 2
/// to 4 perform alike; 1 and 8 are slower. On cold disks, the heads are always read first: fetching
/// many heads in advance is worth opening each file twice (measured on 48,000 files: half the
/// time).
const MAX_SIDE_BY_SIDE_FILES: usize = 3;

/// Each round multiplies the prefix length by this factor. A file that differs early then costs
/// little more than necessary, and a file that never differs needs few rounds.
const PREFIX_GROWTH_FACTOR: u64 = 8;

/// The result of the prefilter: the sets that remain to be compared.
pub(crate) struct Prefiltered {
    /// Sets of inodes that may be identical, with one name for each inode. All files of a set can
    /// be open at once.
    pub(crate) sets: SameSize,
    /// Number of inodes that had to be read.
    pub(crate) unknown: u64,
    pub(crate) problems: Vec<Problem>,
}

/// Splits the classes as far as possible without comparing files side by side.
pub(crate) fn run(work: &Work<'_>, classes: &SameSize) -> Result<Prefiltered, Interrupted> {
    let mut splitter = Splitter { work, sets: SameSize::default(), large: LargeSets::default() };
    let FirstReads { requests, by_head, unknown } = splitter.first_reads(classes);
    let targets = [0, SEEK_BOUND_PREFIX_BYTES].map(|to| ReadTarget { before: None, to });
    work.progress.heads_total.store(requests.len() as u64, Relaxed);
    work.progress.enter(Stage::Heads);
    let (prefixes, mut problems) = read(work, &targets, requests)?;
    work.progress.enter(Stage::Compare);
    for (index, seek_bound) in by_head {
        let files = inodes(work, classes.get(index).files).map(|names| names[0]);
        splitter.split_by_head(files, seek_bound);
    }
    splitter.split_by_prefixes(&prefixes, &mut problems)?;
    Ok(Prefiltered { sets: splitter.sets, unknown, problems })
}

/// The reads to do before any class is split.
struct FirstReads {
    requests: Vec<ReadRequest>,
    /// Indexes of the classes to split by head, each with a flag that tells whether its files are
    /// on a seek-bound disk.
    by_head: Vec<(usize, bool)>,
    /// Number of inodes that have to be read.
    unknown: u64,
}

/// Sets that cannot be compared side by side yet, each with the target of its next read. Each of
/// these sets has too many files, has files that are far apart on a seek-bound disk, or has a file
/// with a known digest.
type LargeSets = Sets<ReadTarget>;

/// Splits classes and sets, and collects the parts that still have to be compared.
struct Splitter<'w> {
    work: &'w Work<'w>,
    /// Sets to compare side by side.
    sets: SameSize,
    /// Sets to split further by prefixes.
    large: LargeSets,
}

impl Splitter<'_> {
    /// Decides what to read of each class first. Moves small classes straight to `sets`.
    fn first_reads(&mut self, classes: &SameSize) -> FirstReads {
        let work = self.work;
        let mut first = FirstReads { requests: Vec::new(), by_head: Vec::new(), unknown: 0 };
        let mut members: Vec<FileId> = Vec::new();
        for (index, class) in classes.iter().enumerate() {
            members.clear();
            members.extend(inodes(work, class.files).map(|names| leader(work.fingerprints, names)));
            if members.len() < 2 {
                continue;
            }
            let size = *class.value;
            let seek_bound = size > 0 && members.iter().any(|&file| work.is_seek_bound(file));
            let is_new = |file: &&FileId| match size {
                // Empty files are identical and need not be read.
                0 => work.fingerprints.content(file.0).is_none(),
                _ => work.fingerprints.head(file.0).is_none(),
            };
            let before = first.requests.len();
            let target = u32::from(seek_bound);
            let new = members.iter().filter(is_new).map(|&file| ReadRequest { file, target });
            first.requests.extend(new);
            let new = first.requests.len() - before;
            first.unknown += new as u64;
            work.expect(&members, size);
            if new > 0 && (size == 0 || self.is_small(&members)) {
                first.requests.truncate(before);
                self.sets.push(&members, size);
            } else {
                first.by_head.push((index, seek_bound));
            }
        }
        first
    }

    /// Returns whether a class is compared side by side without reading heads first.
    fn is_small(&self, members: &[FileId]) -> bool {
        let work = self.work;
        !members.iter().any(|&file| work.disk(file).is_cold())
            && members.len() <= MAX_SIDE_BY_SIDE_FILES.min(work.options.open_files)
            && members.iter().all(|f| work.fingerprints.content(f.0).is_none())
    }

    /// Splits one class by heads and leaves out the files that need no further comparison.
    fn split_by_head(&mut self, class: impl Iterator<Item = FileId>, seek_bound: bool) {
        let work = self.work;
        let fingerprints = work.fingerprints;
        let known = |f: FileId| fingerprints.content(f.0).is_some();
        // Known contents are looked up in file order. In head order, each lookup would be far from
        // the previous one.
        let mut files: Vec<(Head, FileId, bool)> =
            class.filter_map(|f| fingerprints.head(f.0).map(|h| (h, f, known(f)))).collect();
        let Some(&(_, first, _)) = files.first() else { return };
        let size = work.tree.file(first).size;
        work.progress.sort(&mut files);
        let mut decided = 0;
        for run in files.chunk_by(|a, b| a.0 == b.0) {
            match undecided(fingerprints, run) {
                Some(undecided) => self.add(&undecided, size, seek_bound),
                None => decided += run.iter().filter(|(.., known)| !known).count() as u64,
            }
        }
        let read = if seek_bound { SEEK_BOUND_PREFIX_BYTES.min(size) } else { 0 };
        work.decided(decided, size - read);
    }

    /// Adds files with the same head to `sets` or to `large`, depending on how they are compared
    /// next.
    fn add(&mut self, undecided: &Undecided, size: u64, seek_bound: bool) {
        let Undecided { files, has_digest } = undecided;
        let to = if seek_bound {
            // Files without a known content have already been read up to this length.
            SEEK_BOUND_PREFIX_BYTES.min(size)
        } else if *has_digest {
            size
        } else if files.len() > self.work.options.open_files {
            next_length(head_length(size), size)
        } else {
            self.sets.push(files, size);
            return;
        };
        self.large.push(files, ReadTarget { before: None, to });
    }

    /// Splits large sets by increasingly long prefixes until each is decided or small. Continues
    /// with sets that have already been split before it starts new ones.
    ///
    /// `first` contains the prefixes that have already been read, each up to the first target of
    /// its set.
    fn split_by_prefixes(
        &mut self,
        first: &Prefixes,
        problems: &mut Vec<Problem>,
    ) -> Result<(), Interrupted> {
        let work = self.work;
        while !self.large.is_empty() {
            let batch = last_batch(work, &mut self.large);
            let targets: Vec<ReadTarget> = batch.iter().map(|set| *set.value).collect();
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
                self.split_by_prefix(set, |f| {
                    let before = prefix_of(first, f).filter(|_| set.before.is_none());
                    before.or_else(|| prefix_of(&read, f))
                });
            }
        }
        Ok(())
    }

    /// Splits one set by the prefixes that `read` returns.
    fn split_by_prefix(
        &mut self,
        set: Set<'_, ReadTarget>,
        read: impl Fn(FileId) -> Option<PrefixDigest>,
    ) {
        let work = self.work;
        let Some(&first) = set.files.first() else { return };
        let size = work.tree.file(first).size;
        let to = set.to;
        let whole = to == size;
        let prefix = |f: FileId| {
            let digest = known_digest(work.fingerprints, f).filter(|_| whole);
            digest.map(|digest| PrefixDigest(digest.0)).or_else(|| read(f))
        };
        let mut files: Vec<_> =
            set.files.iter().filter_map(|&f| prefix(f).map(|b| (b, f))).collect();
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
                self.large.push(&files, ReadTarget { before, to: next });
            } else {
                work.expect_again(&files, to);
                self.sets.push(&files, size);
            }
        }
    }
}

/// Returns the first name of an inode, which represents the inode. If the first name has no known
/// head, copies what is known about another name to it.
fn leader(fingerprints: &Fingerprints, names: &[FileId]) -> FileId {
    let first = names[0];
    if fingerprints.head(first.0).is_none() && !fingerprints.dropped(first.0) {
        let known = names.iter().find_map(|name| Some((*name, fingerprints.head(name.0)?)));
        if let Some((name, head)) = known {
            fingerprints.set_head(first.0, head);
            if let Some(content) = fingerprints.content(name.0) {
                fingerprints.set_content(first.0, content);
            }
        }
    }
    first
}

/// Files with the same head that still have to be compared.
struct Undecided {
    /// The files without a known content, and one file for each known content.
    files: Vec<FileId>,
    /// True if the digest of any of these files is known.
    has_digest: bool,
}

/// Returns the files in `run` that have to be compared, or `None` if there are none. The files in
/// `run` have the same head. The flag of each file tells whether its content is known.
fn undecided(fingerprints: &Fingerprints, run: &[(Head, FileId, bool)]) -> Option<Undecided> {
    if run.len() < 2 {
        return None;
    }
    let mut known = HashMap::new();
    for &(_, file, _) in run.iter().filter(|(.., known)| *known) {
        if let Some(content) = fingerprints.content(file.0) {
            known.entry(content).or_insert(file);
        }
    }
    let new = run.iter().filter(|(.., known)| !known).map(|&(_, file, _)| file);
    let mut files: Vec<FileId> = new.collect();
    if files.is_empty() || files.len() + known.len() < 2 {
        return None;
    }
    let has_digest = known.keys().any(|&content| fingerprints.digest(content).is_some());
    files.extend(known.into_values());
    files.sort_unstable();
    Some(Undecided { files, has_digest })
}

/// Returns the next prefix length for files of `size` that have been read up to `length`.
fn next_length(length: u64, size: u64) -> u64 {
    round_length(length.saturating_mul(PREFIX_GROWTH_FACTOR)).min(size)
}

/// Minimum number of bytes of large sets to read before these sets are split. Results are recorded
/// only after the split, so a search that is stopped has to read the batch again when it continues.
/// This is far more data than passes under the head of a hard disk between the reads of two files.
pub(crate) const MIN_BATCH_BYTES: u64 = 8 << 30;

/// Removes and returns the sets that were added last; as many as are needed for a batch of reads.
fn last_batch(work: &Work<'_>, large: &mut LargeSets) -> LargeSets {
    let bytes = |set: &Set<'_, ReadTarget>| {
        let size = set.files.first().map_or(0, |&file| work.tree.file(file).size);
        let range = set.value.range(size);
        (range.end - range.start).saturating_mul(set.files.len() as u64)
    };
    let (mut at, mut sum) = (large.len(), 0u64);
    while at > 0 && sum < MIN_BATCH_BYTES {
        at -= 1;
        sum = sum.saturating_add(bytes(&large.get(at)));
    }
    large.split_off(at)
}
