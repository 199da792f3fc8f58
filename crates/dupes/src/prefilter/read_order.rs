//! Decides the order in which to read files, and how much of each file to read.
//!
//! A read costs a seek plus the time to transfer its bytes. On a seek-bound disk, a seek takes as
//! long as transferring a megabyte or more. Shorter reads therefore save little there, and reading
//! in the order of disk offsets saves most. On other disks, tree order is as good as any other, and
//! it makes name lookups faster.

use std::ops::Range;

use content::{HashRange, PrefixDigest, head_length, round_length};
use fsops::SharedLayout;
use runtime::Interrupted;
use walk::{FileId, Tree};

use crate::parallel::DiskItem;
use crate::shared_extents::address_space;
use crate::work::Work;
use crate::worker::Worker;

/// Number of bytes to read from a file on a seek-bound disk before it is known whether the file has
/// a duplicate. Reading them takes some 7 ms at 150 MB/s, about as long as the seek to the file.
pub(crate) const SEEK_BOUND_PREFIX_BYTES: u64 = 1 << 20;

/// Minimum number of bytes of large sets to read before these sets are split. Results are recorded
/// only after the split, so a search that is stopped has to read the batch again when it continues.
/// This is far more data than passes under the head of a hard disk between the reads of two files.
pub(crate) const MIN_BATCH_BYTES: u64 = 8 << 30;

/// Each round multiplies the prefix length by this factor. A file that differs early then costs
/// little more than necessary, and a file that never differs needs few rounds.
const PREFIX_GROWTH_FACTOR: u64 = 8;

/// Returns the next prefix length for files of `size` that have been read up to `length`.
pub(crate) fn next_length(length: u64, size: u64) -> u64 {
    round_length(length.saturating_mul(PREFIX_GROWTH_FACTOR)).min(size)
}

/// The part of each file in a set that the next read covers.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ReadTarget {
    /// The head. A file whose content is decided by its key may be read whole at once
    /// ([`ContentKeys::read`](crate::keys::ContentKeys::read)).
    Head,
    /// The whole file, for its content key.
    Key,
    /// A prefix, for its BLAKE3.
    Prefix(PrefixTarget),
}

/// The offsets between which the files of a set are read next, to extend their prefixes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PrefixTarget {
    /// The offset up to which the files have been read, and the prefix up to that offset.
    pub(crate) before: Option<(u64, PrefixDigest)>,
    /// The offset up to which to read the files.
    pub(crate) to: u64,
}

/// A request to read a file. This type is small because there may be one value for every file of
/// the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ReadRequest {
    pub(crate) file: FileId,
    /// The index of its [`ReadTarget`].
    pub(crate) target: u32,
}

impl DiskItem for ReadRequest {
    fn file(&self) -> FileId {
        self.file
    }
}

impl ReadTarget {
    /// The whole file, for its digest.
    pub(crate) const WHOLE: ReadTarget =
        ReadTarget::Prefix(PrefixTarget { before: None, to: u64::MAX });

    /// Returns the range of bytes to read from a file of `size` bytes.
    pub(crate) fn range(&self, size: u64) -> Range<u64> {
        match self {
            ReadTarget::Head => 0..head_length(size),
            ReadTarget::Key => 0..size,
            ReadTarget::Prefix(target) => target.range(size),
        }
    }
}

impl PrefixTarget {
    /// Returns the range of bytes to read from a file of `size` bytes.
    pub(crate) fn range(&self, size: u64) -> Range<u64> {
        self.before.map_or(0, |(at, _)| at)..self.to.min(size)
    }

    /// Returns the range of bytes to read from a file of `size` bytes, as
    /// [`extend_prefix`](content::extend_prefix) expects it.
    pub(crate) fn hash_range(&self, size: u64) -> HashRange {
        HashRange { size, before: self.before, to: self.to.min(size) }
    }
}

/// Requests in reading order, and requests that need no read of their own.
#[derive(Debug, Default)]
pub(crate) struct ReadOrder {
    pub(crate) requests: Vec<ReadRequest>,
    /// Requests that are answered by reading another file, each with that file. The two files share
    /// all their extents and have the same size and target.
    pub(crate) shared: Vec<(ReadRequest, FileId)>,
}

/// Sorts requests into reading order.
pub(crate) fn read_order(
    work: &Work<'_>,
    targets: &[ReadTarget],
    mut requests: Vec<ReadRequest>,
) -> Result<ReadOrder, Interrupted> {
    work.progress.sort(&mut requests);
    if !work.disks().iter().any(|disk| disk.is_cold() && disk.is_seek_bound()) {
        return Ok(ReadOrder { requests, shared: Vec::new() });
    }
    let seek_bound: Vec<ReadRequest> =
        requests.extract_if(.., |w| work.is_seek_bound(w.file)).collect();
    let (lists, _) =
        work.on_threads(&seek_bound, 64, |worker, locations: &mut Vec<_>, request| {
            locations.push(LocatedRequest::find(
                worker,
                *request,
                &targets[request.target as usize],
            ));
            Ok(())
        })?;
    let mut located: Vec<LocatedRequest> = lists.into_iter().flatten().collect();
    work.progress.sort(&mut located);
    let mut order = ReadOrder { requests, shared: Vec::new() };
    let mut leader: Option<LocatedRequest> = None;
    for located in located {
        match &leader {
            Some(leader) if leader.shares_extents_with(&located, work.tree) => {
                order.shared.push((located.request, leader.request.file));
            }
            _ => {
                order.requests.push(located.request);
                leader = Some(located);
            }
        }
    }
    Ok(order)
}

/// A request and the position of its file on the disk.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LocatedRequest {
    /// The address space of `offset`.
    address_space: usize,
    offset: u64,
    /// The layout of the file, if all of its extents are shared and the file was unchanged after
    /// the layout was read.
    layout: Option<Box<SharedLayout>>,
    request: ReadRequest,
}

impl LocatedRequest {
    fn find(worker: &mut Worker<'_>, request: ReadRequest, target: &ReadTarget) -> LocatedRequest {
        let (tree, file) = (worker.work.tree, request.file);
        let record = tree.file(file);
        let address_space = address_space(tree, tree.device_index(record.dir));
        // If the file cannot be opened or its offset is unknown, its inode number stands in for the
        // offset: many file systems place data near the inode.
        let mut located =
            LocatedRequest { address_space, offset: record.inode, layout: None, request };
        let Ok(open) = worker.opener.open(file) else { return located };
        let range = target.range(record.size);
        if open.is_cached(range.start, range.end - range.start) == Some(true) {
            located.offset = 0;
        } else if let Ok(Some(offset)) = open.device_offset(range.start) {
            located.offset = offset;
            if matches!(target, ReadTarget::Prefix(_))
                && tree.device_of(record.dir).volume.equal_offsets_mean_equal_content()
            {
                let unchanged = || open.stat().is_ok_and(|now| tree.unchanged(file, &now));
                located.layout = open.shared_layout().filter(|_| unchanged()).map(Box::new);
            }
        }
        located
    }

    /// Returns whether two files have the same bytes and the same read target.
    fn shares_extents_with(&self, other: &LocatedRequest, tree: &Tree) -> bool {
        self.layout.is_some()
            && (self.address_space, &self.layout) == (other.address_space, &other.layout)
            && self.request.target == other.request.target
            && tree.file(self.request.file).size == tree.file(other.request.file).size
    }
}
