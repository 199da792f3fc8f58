//! Tells how directories relate by what is in them: equal, one contained in another, overlapping.
//!
//! # What counts
//!
//! Regular files that are remembered, still what they were, and not empty. Two of them are alike if
//! their contents were found equal or if they are names of one inode. A directory is *whole* if every
//! file below it that is not empty counts, and no directory below it is one that is remembered by
//! another path too. Empty files, empty directories, links and special files are not looked at.
//!
//! # What is said
//!
//! - **Equal**: both are whole and hold the same relative paths with like files. Directories that are
//!   equal make one set, however many they are. All but the first are redundant.
//! - **Contained**: the first is whole, and every file in it has a like one in the second, whatever
//!   its name. Neither is above the other. The first is redundant.
//! - **Overlapping**: at least half of the bytes of the first are in files that have a like one in the
//!   second. Neither is above the other.
//!
//! Only the largest directories are named: nothing is said of what is below a spare directory, and an
//! overlap is not told again for directories below two that overlap. A file in a spare directory does
//! not show that anything else is contained. So all spare directories can go together, and every
//! content that is in them is still somewhere.
//!
//! # How
//!
//! The files are numbered along the tree, so that what is below a directory is a range of numbers;
//! for each content the numbers of its files are kept in order (`index`). Whether a directory has
//! a content is then a binary search. Directories are equal if their listings, with numbers for names,
//! contents and directories below, are the same (`equal`): exact, and every listing is looked at once.
//! For a containing directory the dir_numbers of the rarest content are tried (`contained`), and pairs that
//! overlap are found from copies of a content that are near each other (`overlap`). Neither looks
//! at all pairs of a content's files: [`MAX_CANDIDATES`] and [`MAX_ALL_PAIRS_FILES`] say how many.

mod contained;
mod equal;
mod index;
mod layout;
mod overlap;
mod remaining;
mod summary;
mod untracked;

use std::cmp::Reverse;

use content::{ContentId, Facts};
use runtime::{Interrupted, Progress, Stage};
use walk::{DirId, Tree};

use crate::states::State;
use index::{FolderIndex, NONE};
use remaining::Remaining;

pub(crate) use layout::Layout;

pub use contained::MAX_CANDIDATES;
pub use overlap::MAX_ALL_PAIRS_FILES;
pub use untracked::{UntrackedEntries, count_untracked};

/// RememberedTree files as they are now.
#[derive(Clone, Copy)]
pub struct RememberedTree<'a> {
    /// The files; a directory is in it by one path, or by several that are told apart by its inode.
    pub tree: &'a Tree,
    /// What is known of their contents.
    pub fingerprints: &'a Facts,
    /// What has become of each file.
    pub states: &'a [State],
    /// What is in each directory besides them, by [`DirId`].
    pub untracked: &'a [u32],
    /// Returns the bytes that keeping a single copy of a content would free.
    pub reclaimable: &'a dyn Fn(ContentId) -> u64,
}

/// How directories relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Relation {
    /// They hold the same.
    Equal,
    /// What the first holds is in the second.
    Contained,
    /// They have much in common.
    Overlapping,
}

/// Directories that have something in common.
#[derive(Clone, Debug)]
pub struct Related {
    /// How they relate.
    pub relation: Relation,
    /// Two of them, or a set of equal ones in the order of their paths. Of two, the first is the one
    /// that is contained, or the one of which the larger part is shared.
    pub folders: Vec<Folder>,
    /// Files of the first that have a like one in the others.
    pub files: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Bytes that deleting what is not needed twice would free: all equal directories but one, the
    /// contained one, or of two that overlap those files of the first that are in the second. A
    /// file that has a name elsewhere frees nothing, nor do shared extents and holes.
    pub reclaimable: u64,
}

/// A directory and what it has in common with another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Folder {
    /// The directory.
    pub dir: DirId,
    /// Files that count, below it too.
    pub files: u64,
    /// Bytes in them.
    pub bytes: u64,
    /// Of these, files that have a like one in the other directory.
    pub shared_files: u64,
    /// Bytes in them.
    pub shared_bytes: u64,
    /// RememberedTree files in it that changed or cannot be looked at.
    pub changed: u64,
    /// Entries in it that are not remembered: files, directories with files in them that are not
    /// empty, and directories that are remembered by another path.
    pub unknown: u64,
}

impl Folder {
    /// Returns which part of its bytes is shared, in hundredths rounded down: 100 is all.
    pub fn percent(&self) -> u64 {
        let percent = u128::from(self.shared_bytes) * 100 / u128::from(self.bytes.max(1));
        u64::try_from(percent).unwrap_or(100)
    }
}

impl Related {
    /// Returns the directories that are not needed, as what is in them is in the others.
    pub fn redundant(&self) -> &[Folder] {
        match self.relation {
            Relation::Equal => &self.folders[1..],
            Relation::Contained => &self.folders[..1],
            Relation::Overlapping => &[],
        }
    }
}

/// The directories of a catalog and what they hold.
pub struct Folders<'a> {
    tree: &'a Tree,
    index: FolderIndex,
}

impl<'a> Folders<'a> {
    /// Gathers what the directories hold.
    ///
    /// Takes about 40 bytes per file and 60 per directory besides what is given.
    ///
    /// # Errors
    ///
    /// Only that `progress` asked to stop.
    pub fn new(
        remembered: &RememberedTree<'a>,
        progress: &Progress,
    ) -> Result<Folders<'a>, Interrupted> {
        progress.enter(Stage::Relate);
        Ok(Folders { tree: remembered.tree, index: FolderIndex::new(remembered, progress)? })
    }

    /// Returns the directories that are equal, contained or overlap, in no particular order.
    ///
    /// # Errors
    ///
    /// Only that `progress` asked to stop.
    pub fn related(&self, progress: &Progress) -> Result<Vec<Related>, Interrupted> {
        let index = &self.index;
        let mut finder = Finder {
            index,
            shapes: equal::shapes(self.tree, index, progress)?,
            sets: Vec::new(),
            remaining: Remaining::new(index),
            found: Vec::new(),
        };
        finder.find_redundant(progress)?;
        for (one, other) in overlap::pairs(index, &finder.remaining, progress)? {
            if !finder.has_equal_within(one, other) && !finder.has_equal_within(other, one) {
                finder.found.push(summary::overlapping(index, one, other));
            }
        }
        Ok(finder.found)
    }

    /// Returns the bytes that deleting all spare directories of `related` together would free.
    pub fn reclaimable<'r>(&self, related: impl Iterator<Item = &'r Related>) -> u64 {
        let index = &self.index;
        let redundant = related.flat_map(Related::redundant);
        summary::frees(index, redundant.flat_map(|folder| index.files_of(folder.dir)))
    }
}

struct Finder<'a> {
    index: &'a FolderIndex,
    /// Equal for equal directories; [`NONE`] for those that are not whole.
    shapes: Vec<u32>,
    /// The directories of each shape, in the order of their paths.
    sets: Vec<Vec<u32>>,
    remaining: Remaining,
    found: Vec<Related>,
}

impl Finder<'_> {
    /// Finds what is equal and what is contained: the directories with most files first, and of those
    /// with as many the highest, so that all of a set come after those that they are in.
    fn find_redundant(&mut self, progress: &Progress) -> Result<(), Interrupted> {
        let dirs = &self.index.dirs;
        let whole = (0u32..).zip(&self.shapes).filter(|(_, shape)| **shape != NONE);
        let mut order: Vec<u32> = whole.map(|(dir_number, _)| dir_number).collect();
        // Of two that contain each other the later one is redundant.
        order.sort_unstable_by_key(|&dir_number| {
            let dir = &dirs[dir_number as usize];
            (Reverse(dir.count()), Reverse(dir.height), Reverse(dir_number))
        });
        self.sets = self.sets(&order);
        let mut done = vec![false; self.sets.len()];
        for dir_number in order {
            progress.check()?;
            let shape = self.shapes[dir_number as usize] as usize;
            if !std::mem::replace(&mut done[shape], true) {
                self.add_equal(shape);
            }
            if !self.remaining.is_redundant(dir_number) {
                self.add_contained(dir_number);
            }
        }
        Ok(())
    }

    /// Returns the directories of each shape, in the order of their paths.
    fn sets(&self, order: &[u32]) -> Vec<Vec<u32>> {
        let shapes = order.iter().map(|&dir_number| self.shapes[dir_number as usize]);
        let count = shapes.max().map_or(0, |last| last as usize + 1);
        let mut sets = vec![Vec::new(); count];
        for (dir_number, &shape) in (0u32..).zip(&self.shapes) {
            if shape != NONE {
                sets[shape as usize].push(dir_number);
            }
        }
        sets
    }

    fn add_equal(&mut self, shape: usize) {
        let set = self.sets[shape].iter().copied();
        let dir_numbers: Vec<u32> =
            set.filter(|&dir_number| !self.remaining.is_redundant(dir_number)).collect();
        if dir_numbers.len() < 2 {
            return;
        }
        self.found.push(summary::set(self.index, &dir_numbers));
        for &dir_number in &dir_numbers[1..] {
            self.remaining.remove(self.index, dir_number);
        }
    }

    /// Returns whether a directory equal to `dir_number` is within `other`: that the two overlap follows from
    /// the set of those that are equal.
    fn has_equal_within(&self, dir_number: u32, other: u32) -> bool {
        let Some(set) = self.sets.get(self.shapes[dir_number as usize] as usize) else {
            return false;
        };
        let first = set.partition_point(|&equal| equal < other);
        set.get(first).is_some_and(|&equal| equal < self.index.dirs[other as usize].end)
    }

    /// A directory with nothing but another in it is passed over: what can be said is said of that.
    fn add_contained(&mut self, dir_number: u32) {
        if self.index.is_wrapper(dir_number) {
            return;
        }
        if let Some(container) = contained::container(self.index, &mut self.remaining, dir_number) {
            self.found.push(summary::contained(self.index, dir_number, container));
            self.remaining.remove(self.index, dir_number);
        }
    }
}
