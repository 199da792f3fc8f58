//! Which files come first, and how much of each: what is read before an arm, and in what order.
//!
//! A read costs the way to it and the time its bytes take to pass. On a disk with an arm the way is
//! worth a megabyte or more, so that little is won by reading less, and everything by going through
//! the files by their place. Elsewhere the order of the tree is as good as any, and names are found
//! faster in it.

use content::{Beginning, Stretch};
use fsops::Interrupted;
use walk::FileId;

use crate::parallel::{Piece, Work};

/// Bytes read of a file before it is known whether any other is like it, if an arm has to move for
/// it: some 7 ms at 150 MB/s, about as long as the way to a file takes.
pub(crate) const FIRST_BEFORE_ARM: u64 = 1 << 20;

/// A file to be read on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted {
    pub(crate) file: FileId,
    pub(crate) before: Option<(u64, Beginning)>,
    /// How far; 0 for the head only.
    pub(crate) to: u64,
}

impl Piece for Wanted {
    fn file(&self) -> Option<FileId> {
        Some(self.file)
    }
}

impl Wanted {
    /// Returns where the reading starts.
    pub(crate) fn from(&self) -> u64 {
        self.before.map_or(0, |(at, _)| at)
    }

    /// Returns the stretch to read of a file of this size.
    pub(crate) fn stretch(&self, size: u64) -> Stretch {
        Stretch { size, before: self.before, to: self.to }
    }
}

/// Brings files into the order to read them in.
pub(crate) fn arrange(work: &Work<'_>, mut all: Vec<Wanted>) -> Result<Vec<Wanted>, Interrupted> {
    all.sort_unstable_by_key(|wanted| wanted.file);
    let (mut before_arm, mut arranged): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|wanted| work.moves_arm(wanted.file));
    if before_arm.is_empty() {
        return Ok(arranged);
    }
    let (lists, _) = work.on_threads(&before_arm, 64, |worker, places: &mut Vec<_>, wanted| {
        let size = worker.work.tree.file(wanted.file).size;
        let length = wanted.to.min(size) - wanted.from();
        // One that cannot be opened comes last, and says so then.
        let place = worker.opener.open(wanted.file).map_or(Place::Unknown, |file| {
            if file.is_cached(wanted.from(), length) {
                return Place::Cached;
            }
            file.place(wanted.from()).map_or(Place::Unknown, Place::At)
        });
        places.push((wanted.file, place));
        Ok(())
    })?;
    let mut places: Vec<(FileId, Place)> = lists.into_iter().flatten().collect();
    places.sort_unstable();
    let key = |wanted: &Wanted| {
        let at = places.binary_search_by_key(&wanted.file, |&(file, _)| file);
        let file = work.tree.file(wanted.file);
        (at.map(|at| places[at].1), work.tree.device_index(file.dir), file.inode)
    };
    before_arm.sort_by_cached_key(|wanted| {
        let (place, device, inode) = key(wanted);
        match place {
            Ok(Place::Cached) => (0, device, 0),
            Ok(Place::At(at)) => (1, device, at),
            Ok(Place::Unknown) | Err(_) => (1, device, inode),
        }
    });
    arranged.extend(before_arm);
    Ok(arranged)
}

/// Where the next bytes of a file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Cached,
    At(u64),
    Unknown,
}
