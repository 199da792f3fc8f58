//! Which files come first, and how much of each: what is read before an arm, and in what order.
//!
//! A read costs the way to it and the time its bytes take to pass. On a disk with an arm the way is
//! worth a megabyte or more, so that little is won by reading less, and everything by going through
//! the files by their place. Elsewhere the order of the tree is as good as any, and names are found
//! faster in it.

use std::ops::Range;

use content::{Beginning, Stretch, head_length};
use fsops::SharedLayout;
use runtime::Interrupted;
use walk::{FileId, Tree};

use crate::parallel::DiskItem;
use crate::shared_extents::address_space;
use crate::work::Work;
use crate::worker::Worker;

/// Bytes read of a file before it is known whether any other is like it, if an arm has to move for
/// it: some 7 ms at 150 MB/s, about as long as the way to a file takes.
pub(crate) const SEEK_BOUND_PREFIX_BYTES: u64 = 1 << 20;

/// How far files are to be read on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReadTarget {
    /// How far they have been read, and how they begin.
    pub(crate) before: Option<(u64, Beginning)>,
    /// How far they are to be read; 0 for the head only.
    pub(crate) to: u64,
}

/// A file to be read on. There may be one for every file of the tree, so it is small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ReadRequest {
    pub(crate) file: FileId,
    /// Index of its [`ReadTarget`].
    pub(crate) target: u32,
}

impl DiskItem for ReadRequest {
    fn file(&self) -> FileId {
        self.file
    }
}

impl ReadTarget {
    /// Returns the part of a file of `size` that is read.
    pub(crate) fn range(&self, size: u64) -> Range<u64> {
        let to = if self.to == 0 { head_length(size) } else { self.to.min(size) };
        self.before.map_or(0, |(at, _)| at)..to
    }

    /// Returns the stretch to read of a file of `size`.
    pub(crate) fn stretch(&self, size: u64) -> Stretch {
        Stretch { size, before: self.before, to: self.to.min(size) }
    }
}

/// Files in the order to read them in, and those that need no read.
#[derive(Debug, Default)]
pub(crate) struct ReadOrder {
    pub(crate) requests: Vec<ReadRequest>,
    /// Files that share all their storage with another one of the same size, which is wanted as far
    /// as they are; and that other one.
    pub(crate) shared: Vec<(ReadRequest, FileId)>,
}

/// Brings files into the order to read them in.
pub(crate) fn read_order(
    work: &Work<'_>,
    targets: &[ReadTarget],
    mut requests: Vec<ReadRequest>,
) -> Result<ReadOrder, Interrupted> {
    requests.sort_unstable_by(|a, b| work.progress.compare(a, b));
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
    located.sort_unstable_by(|a, b| work.progress.compare(a, b));
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

/// A file and where it is.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LocatedRequest {
    /// Where places are counted.
    address_space: usize,
    offset: u64,
    /// If it shares all its storage, and was found unchanged after that was seen.
    layout: Option<Box<SharedLayout>>,
    request: ReadRequest,
}

impl LocatedRequest {
    fn find(worker: &mut Worker<'_>, request: ReadRequest, target: &ReadTarget) -> LocatedRequest {
        let (tree, file) = (worker.work.tree, request.file);
        let record = tree.file(file);
        let address_space = address_space(tree, tree.device_index(record.dir));
        // One that cannot be opened, or has no place that is known, comes with its inode's number,
        // which is where many file systems put it.
        let mut located =
            LocatedRequest { address_space, offset: record.inode, layout: None, request };
        let Ok(open) = worker.opener.open(file) else { return located };
        let range = target.range(record.size);
        if open.is_cached(range.start, range.end - range.start) == Some(true) {
            located.offset = 0;
        } else if let Ok(Some(offset)) = open.place(range.start) {
            located.offset = offset;
            if target.to > 0 && tree.device_of(record.dir).volume.same_place_is_same_content() {
                let unchanged = || open.stat().is_ok_and(|now| tree.unchanged(file, &now));
                located.layout = open.shared_layout().filter(|_| unchanged()).map(Box::new);
            }
        }
        located
    }

    /// Returns whether two files have the same bytes, and are wanted for the same reason.
    fn shares_extents_with(&self, other: &LocatedRequest, tree: &Tree) -> bool {
        self.layout.is_some()
            && (self.address_space, &self.layout) == (other.address_space, &other.layout)
            && self.request.target == other.request.target
            && tree.file(self.request.file).size == tree.file(other.request.file).size
    }
}
