//! Which files come first, and how much of each: what is read before an arm, and in what order.
//!
//! A read costs the way to it and the time its bytes take to pass. On a disk with an arm the way is
//! worth a megabyte or more, so that little is won by reading less, and everything by going through
//! the files by their place. Elsewhere the order of the tree is as good as any, and names are found
//! faster in it.

use std::ops::Range;

use content::{Beginning, Stretch, head_length};
use fsops::Interrupted;
use walk::FileId;

use crate::parallel::{Piece, Work};

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
    fn file(&self) -> Option<FileId> {
        Some(self.file)
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

/// Brings files into the order to read them in.
pub(crate) fn arrange(
    work: &Work<'_>,
    reaches: &[Reach],
    mut all: Vec<Wanted>,
) -> Result<Vec<Wanted>, Interrupted> {
    all.sort_unstable();
    if !work.lanes().iter().any(|lane| lane.is_cold() && lane.has_arm()) {
        return Ok(all);
    }
    let before_arm: Vec<Wanted> = all.extract_if(.., |w| work.moves_arm(w.file)).collect();
    let (lists, _) = work.on_threads(&before_arm, 64, |worker, places: &mut Vec<_>, wanted| {
        let (tree, file) = (worker.work.tree, wanted.file);
        let range = reaches[wanted.reach as usize].range(tree.file(file).size);
        // One that cannot be opened, or has no place that is known, comes with its inode's number,
        // which is where many file systems put it.
        let place = worker.opener.open(file).map_or(None, |open| {
            let cached = open.is_cached(range.start, range.end - range.start);
            if cached { Some(0) } else { open.place(range.start) }
        });
        let device = tree.device_index(tree.file(file).dir);
        places.push((device, place.unwrap_or(tree.file(file).inode), *wanted));
        Ok(())
    })?;
    let mut places: Vec<_> = lists.into_iter().flatten().collect();
    places.sort_unstable();
    all.extend(places.into_iter().map(|(_, _, wanted)| wanted));
    Ok(all)
}
