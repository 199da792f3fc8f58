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
use walk::{Device, FileId, Tree};

use crate::parallel::{Piece, Work};
use crate::worker::Worker;

/// Bytes read of a file before it is known whether any other is like it, if an arm has to move for
/// it: some 7 ms at 150 MB/s, about as long as the way to a file takes.
pub(crate) const FIRST_BEFORE_ARM: u64 = 1 << 20;

/// How far files are to be read on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reach {
    /// How far they have been read, and how they begin.
    pub(crate) before: Option<(u64, Beginning)>,
    /// How far they are to be read; 0 for the head only.
    pub(crate) to: u64,
}

/// A file to be read on. There may be one for every file of the tree, so it is small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Wanted {
    pub(crate) file: FileId,
    /// Index of its [`Reach`].
    pub(crate) reach: u32,
}

impl Piece for Wanted {
    fn file(&self) -> FileId {
        self.file
    }
}

impl Reach {
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
pub(crate) struct Arranged {
    pub(crate) wanted: Vec<Wanted>,
    /// Files that share all their storage with another one of the same size, which is wanted as far
    /// as they are; and that other one.
    pub(crate) twins: Vec<(Wanted, FileId)>,
}

/// Brings files into the order to read them in.
pub(crate) fn arrange(
    work: &Work<'_>,
    reaches: &[Reach],
    mut all: Vec<Wanted>,
) -> Result<Arranged, Interrupted> {
    all.sort_unstable_by(|a, b| work.progress.compare(a, b));
    if !work.disks().iter().any(|disk| disk.is_cold() && disk.is_seek_bound()) {
        return Ok(Arranged { wanted: all, twins: Vec::new() });
    }
    let before_arm: Vec<Wanted> = all.extract_if(.., |w| work.moves_arm(w.file)).collect();
    let (lists, _) = work.on_threads(&before_arm, 64, |worker, places: &mut Vec<_>, wanted| {
        places.push(Placed::find(worker, *wanted, &reaches[wanted.reach as usize]));
        Ok(())
    })?;
    let mut placed: Vec<Placed> = lists.into_iter().flatten().collect();
    placed.sort_unstable_by(|a, b| work.progress.compare(a, b));
    let mut arranged = Arranged { wanted: all, twins: Vec::new() };
    let mut leader: Option<Placed> = None;
    for placed in placed {
        match &leader {
            Some(leader) if leader.is_twin(&placed, work.tree) => {
                arranged.twins.push((placed.wanted, leader.wanted.file));
            }
            _ => {
                arranged.wanted.push(placed.wanted);
                leader = Some(placed);
            }
        }
    }
    Ok(arranged)
}

/// A file and where it is.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Placed {
    /// Where places are counted.
    space: usize,
    place: u64,
    /// If it shares all its storage, and was found unchanged after that was seen.
    layout: Option<Box<SharedLayout>>,
    wanted: Wanted,
}

impl Placed {
    fn find(worker: &mut Worker<'_>, wanted: Wanted, reach: &Reach) -> Placed {
        let (tree, file) = (worker.work.tree, wanted.file);
        let record = tree.file(file);
        let space = space(tree, tree.device_index(record.dir));
        // One that cannot be opened, or has no place that is known, comes with its inode's number,
        // which is where many file systems put it.
        let mut placed = Placed { space, place: record.inode, layout: None, wanted };
        let Ok(open) = worker.opener.open(file) else { return placed };
        let range = reach.range(record.size);
        if open.is_cached(range.start, range.end - range.start) == Some(true) {
            placed.place = 0;
        } else if let Ok(Some(place)) = open.place(range.start) {
            placed.place = place;
            if reach.to > 0 && tree.device_of(record.dir).volume.same_place_is_same_content() {
                let unchanged = || open.stat().is_ok_and(|now| tree.unchanged(file, &now));
                placed.layout = open.shared_layout().filter(|_| unchanged()).map(Box::new);
            }
        }
        placed
    }

    /// Returns whether two files have the same bytes, and are wanted for the same reason.
    fn is_twin(&self, other: &Placed, tree: &Tree) -> bool {
        self.layout.is_some()
            && (self.space, &self.layout) == (other.space, &other.layout)
            && self.wanted.reach == other.wanted.reach
            && tree.file(self.wanted.file).size == tree.file(other.wanted.file).size
    }
}

/// Returns a number for the space that places on a device are counted in: the first device of the
/// tree that has the same.
pub(crate) fn space(tree: &Tree, device: usize) -> usize {
    let Device { number, volume } = tree.devices()[device];
    let same = |other: &Device| other.number == number || other.volume.shares_extents_with(&volume);
    tree.devices().iter().position(same).unwrap_or(device)
}
