//! Reads heads and digests of remembered files that a caller chose, the largest files first.

use std::cmp::Reverse;
use std::sync::atomic::Ordering::Relaxed;

use content::{Digest, HashRange, ReadError, extend_prefix, head_length, read_head};
use fsops::{File, Op, is_gone};
use runtime::{Interrupted, Stage};
use walk::{FileId, Problem, Reason, Tree};

use crate::prefilter::read_order::{ReadRequest, ReadTarget, read_order};
use crate::probe;
use crate::sets::{Set, Sets};
use crate::validate::inodes;
use crate::work::Work;
use crate::worker::Worker;

/// The part of a file to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The head.
    Head,
    /// All bytes, for the head and the digest.
    Whole,
}

impl Part {
    /// Returns the number of bytes to read from a file of this size.
    pub fn bytes(self, size: u64) -> u64 {
        match self {
            Part::Head => head_length(size),
            Part::Whole => size,
        }
    }
}

/// Inodes to read, each with all of its names.
pub type Wanted = Sets<Part>;

/// Maximum number of bytes in a batch, except for a single file. A batch only has to be large enough to be
/// read in a good order: the results of an interrupted batch are kept.
const MAX_BATCH_BYTES: u64 = 4 << 30;

/// Maximum number of files in a batch.
const MAX_BATCH_FILES: usize = 100_000;

/// Returns the inodes of which `choose` wants a part, in batches, the largest files first. `choose` is called with
/// one name of each inode. Files of similar size are in tree order.
pub fn wanted(tree: &Tree, choose: impl Fn(FileId) -> Option<Part>) -> Vec<Wanted> {
    let inodes = inodes(tree);
    let mut chosen: Vec<(Reverse<Option<u32>>, u32, Part)> = Vec::new();
    for (number, first) in inodes.leaders() {
        let rank = Reverse(tree.file(first).size.checked_ilog2());
        chosen.extend(choose(first).map(|part| (rank, number, part)));
    }
    chosen.sort_unstable_by_key(|&(rank, number, _)| (rank, number));
    let (mut batches, mut batch, mut bytes) = (Vec::new(), Wanted::default(), 0u64);
    for (_, number, part) in chosen {
        let names = inodes.get(number as usize).files;
        let more = part.bytes(tree.file(names[0]).size);
        let is_full =
            bytes.saturating_add(more) > MAX_BATCH_BYTES || batch.len() == MAX_BATCH_FILES;
        if is_full && !batch.is_empty() {
            batches.push(std::mem::take(&mut batch));
            bytes = 0;
        }
        bytes = bytes.saturating_add(more);
        batch.push(names, part);
    }
    if !batch.is_empty() {
        batches.push(batch);
    }
    batches
}

/// Reads inodes, and records heads and digests for all of their names in the fingerprints.
///
/// Each inode is read through one of its names whose metadata are those of the tree before and after the
/// read. If there is none, the inode is dropped ([`content::Fingerprints::dropped`]). Returns the
/// inodes that could not be read for another reason.
///
/// # Errors
///
/// Fails only with [`Interrupted`], if the user asked to stop. All that has been recorded by then is correct.
pub fn read_wanted(work: &Work<'_>, wanted: &Wanted) -> Result<Vec<Problem>, Interrupted> {
    work.progress.enter(Stage::Compare);
    probe::run(work, wanted.files(), |_| true)?;
    let in_order = in_reading_order(work, wanted)?;
    let (_, problems) = work.on_threads_with_prefetch(
        &in_order,
        64,
        |worker, &(number, _)| open(worker, wanted.get(number as usize)),
        |worker, (), &(number, _), opened| read_one(worker, wanted.get(number as usize), opened),
    )?;
    Ok(problems)
}

/// Returns the number and the first name of each inode, in the order in which they are read.
fn in_reading_order(work: &Work<'_>, wanted: &Wanted) -> Result<Vec<(u32, FileId)>, Interrupted> {
    let targets = [ReadTarget::Head, ReadTarget::WHOLE];
    let requests = wanted.iter().map(|inode| {
        let target = u32::from(*inode.value == Part::Whole);
        ReadRequest { file: inode.files[0], target }
    });
    let order = read_order(work, &targets, requests.collect())?;
    let mut by_file = wanted.leaders();
    by_file.sort_unstable_by_key(|&(_, file)| file);
    // Files that share all their extents with another one are read like the others.
    let files = order.requests.iter().chain(order.shared.iter().map(|(request, _)| request));
    let inode = |request: &ReadRequest| {
        let at = by_file.binary_search_by_key(&request.file, |&(_, file)| file);
        by_file[at.expect("a request for each inode")]
    };
    Ok(files.map(inode).collect())
}

/// The reason why an inode was not read.
enum Unread {
    /// None of its names leads to the file of the tree.
    Changed,
    Failed(Reason),
}

/// Opens an inode by the first of its names that still belongs to it.
fn open(worker: &mut Worker<'_>, inode: Set<'_, Part>) -> Result<(FileId, File), Unread> {
    let mut last = Unread::Changed;
    for &name in inode.files {
        let opened = worker.opener.open(name);
        let opened = opened.and_then(|file| file.stat().map(|stat| (file, stat)));
        match opened {
            Ok((file, stat)) if worker.work.tree.unchanged(name, &stat) => {
                if worker.work.disk(name).is_cold() {
                    file.fetch(0, inode.bytes(stat.size));
                }
                return Ok((name, file));
            }
            Ok(_) => {}
            Err(error) if is_gone(&error) => {}
            Err(source) => last = Unread::Failed(Reason::Failed { op: Op::Open, source }),
        }
    }
    Err(last)
}

fn read_one(
    worker: &mut Worker<'_>,
    inode: Set<'_, Part>,
    opened: Result<(FileId, File), Unread>,
) -> Result<(), Interrupted> {
    let work = worker.work;
    let size = work.tree.file(inode.files[0]).size;
    let is_counted_by_reading = *inode.value == Part::Whole && opened.is_ok();
    let read = match opened {
        Ok((name, file)) => read_open(worker, name, &file, inode, size)?,
        Err(unread) => Err(unread),
    };
    if let Err(unread) = read {
        for name in inode.files {
            match &unread {
                Unread::Changed => work.fingerprints.drop_changed(name.0),
                Unread::Failed(_) => work.fingerprints.drop_file(name.0),
            }
        }
        if let Unread::Failed(reason) = unread {
            worker.problems.push(Problem { path: work.tree.path(inode.files[0]), reason });
        }
    }
    if !is_counted_by_reading {
        work.progress.bytes_done.fetch_add(inode.bytes(size), Relaxed);
    }
    work.progress.files_done.fetch_add(1, Relaxed);
    Ok(())
}

/// Reads an open file and records the results for all names of the inode.
fn read_open(
    worker: &mut Worker<'_>,
    name: FileId,
    file: &File,
    inode: Set<'_, Part>,
    size: u64,
) -> Result<Result<(), Unread>, Interrupted> {
    let (work, progress) = (worker.work, worker.work.progress);
    progress.opened.fetch_add(1, Relaxed);
    let read = match inode.value {
        Part::Head => {
            read_head(file, size, &mut worker.scratch, progress).map(|head| (Some(head), None))
        }
        Part::Whole => {
            let whole = HashRange { size, before: None, to: size };
            extend_prefix(file, whole, &mut worker.scratch, progress)
                .map(|grown| (grown.head, Some(Digest::from(grown.beginning))))
        }
    };
    let is_unchanged = file.stat().is_ok_and(|stat| work.tree.unchanged(name, &stat));
    let (head, digest) = match read {
        Err(ReadError::Interrupted(stop)) => return Err(stop),
        Err(ReadError::Io(source)) => {
            return Ok(Err(Unread::Failed(Reason::Failed { op: Op::Read, source })));
        }
        _ if !is_unchanged => return Ok(Err(Unread::Changed)),
        Err(ReadError::Short) => return Ok(Err(Unread::Failed(Reason::Short))),
        Ok(found) => found,
    };
    let fingerprints = work.fingerprints;
    let first = inode.files[0].0;
    if let Some(head) = head {
        fingerprints.set_head(first, head);
    }
    if let Some(digest) = digest {
        let content = fingerprints.content(first);
        let content = content.unwrap_or_else(|| fingerprints.new_content(None));
        fingerprints.set_digest(content, digest);
        fingerprints.set_content(first, content);
    }
    for other in &inode.files[1..] {
        fingerprints.copy(first, other.0);
    }
    Ok(Ok(()))
}
