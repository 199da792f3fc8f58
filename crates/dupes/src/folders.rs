//! Determines how directories relate by their contents: equal, one contained in another, or
//! overlapping.
//!
//! # Which files count
//!
//! A regular file counts if it is remembered, unchanged and not empty. Two files are *equal* if
//! their contents were found equal or if they are names of one inode. A directory is *whole* if
//! every non-empty file below it counts, and if no directory below it is also remembered under
//! another path. Empty files, empty directories, links and special files are ignored.
//!
//! # Relations
//!
//! - **Equal**: both directories are whole, and they have the same relative paths with equal files.
//!   A set consists of all directories that are equal to each other. All but the first are
//!   redundant.
//! - **Contained**: the first directory is whole, and every file in it has an equal file in the
//!   second, under any name. Neither directory is below the other. The first is redundant.
//! - **Overlapping**: at least half of the bytes of the first directory are in files that have an
//!   equal file in the second. Neither directory is below the other.
//!
//! The report contains only the largest directories. It leaves out everything below a redundant
//! directory, and overlaps below the two directories of a reported overlap. A file in a redundant
//! directory never proves that another directory is contained. All redundant directories can
//! therefore be deleted together, and everything that they contain still exists somewhere.
//!
//! # Algorithm
//!
//! `index` numbers directories and files in tree order, so the files below a directory have
//! consecutive numbers. For each content, `index` keeps the sorted numbers of its files, so a
//! binary search shows whether a directory has that content. Directories are equal if their
//! listings are equal; numbers represent the names, contents and subdirectories in a listing
//! (`equal`). This comparison is exact and reads every listing once. To find a directory that
//! contains another one, `contained` tries the directories that have the rarest content. `overlap`
//! finds overlapping directories by looking at files with the same content that are near each other
//! in tree order. Neither `contained` nor `overlap` considers all pairs of files with the same
//! content: [`MAX_CONTAINER_CANDIDATES`] and [`MAX_ALL_PAIRS_FILES`] bound the work.

mod contained;
mod equal;
mod index;
mod layout;
mod overlap;
mod remaining;
mod summary;
mod untracked;

use std::cmp::Reverse;

use content::{ContentId, Fingerprints};
use runtime::{Interrupted, Progress, Stage};
use walk::{DirId, Tree};

use crate::states::State;
use index::{FolderIndex, NONE};
use remaining::Remaining;

pub(crate) use layout::Layout;

pub use contained::MAX_CONTAINER_CANDIDATES;
pub use overlap::MAX_ALL_PAIRS_FILES;
pub use untracked::{UntrackedEntries, count_untracked};

/// Remembered files and their current state.
#[derive(Clone, Copy)]
pub struct RememberedTree<'a> {
    /// The files. A directory may have several paths in the tree. They are recognized by its inode.
    pub tree: &'a Tree,
    /// Their fingerprints.
    pub fingerprints: &'a Fingerprints,
    /// The current state of each file.
    pub states: &'a [State],
    /// Number of entries in each directory that are not remembered files, by [`DirId`].
    pub untracked: &'a [u32],
    /// Returns the disk space in bytes that keeping a single copy of a content would free.
    pub reclaimable: &'a dyn Fn(ContentId) -> u64,
}

/// The relation between directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Relation {
    /// The directories have identical files under the same relative paths.
    Equal,
    /// Every content of the first directory is also in the second.
    Contained,
    /// They have many contents in common.
    Overlapping,
}

/// Directories that have contents in common.
#[derive(Clone, Debug)]
pub struct Related {
    /// The relation between the directories.
    pub relation: Relation,
    /// Two directories, or a set of equal directories sorted by path. Of two directories, the first
    /// is the contained one or, if they overlap, the one that shares the larger part of its bytes.
    pub folders: Vec<Folder>,
    /// Number of files in the first directory that are identical to a file in the others.
    pub files: u64,
    /// Total size of these files in bytes.
    pub bytes: u64,
    /// Disk space in bytes, in whole blocks, that deleting the duplicates would free. The duplicates
    /// are all but one of a set of equal directories, the contained directory, or the files of the
    /// first overlapping directory that are also in the second. A file with another name elsewhere
    /// frees nothing; neither do shared extents and holes.
    pub reclaimable: u64,
}

/// A directory, and what it has in common with another directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Folder {
    /// The directory.
    pub dir: DirId,
    /// Number of files below the directory that count.
    pub files: u64,
    /// Total size of these files in bytes.
    pub bytes: u64,
    /// Number of files below the directory that are identical to a file in the other directory.
    pub shared_files: u64,
    /// Total size of the shared files in bytes.
    pub shared_bytes: u64,
    /// Number of remembered files below the directory that have changed or cannot be inspected.
    pub changed: u64,
    /// Number of entries below the directory that are not remembered: files, directories with
    /// non-empty files in them, and directories that are remembered under another path.
    pub unknown: u64,
}

impl Folder {
    /// Returns the shared part of the directory's bytes in percent, rounded down.
    pub fn percent(&self) -> u64 {
        let percent = u128::from(self.shared_bytes) * 100 / u128::from(self.bytes.max(1));
        u64::try_from(percent).unwrap_or(100)
    }
}

impl Related {
    /// Returns the directories that can be deleted because the others have all of their contents.
    pub fn redundant(&self) -> &[Folder] {
        match self.relation {
            Relation::Equal => &self.folders[1..],
            Relation::Contained => &self.folders[..1],
            Relation::Overlapping => &[],
        }
    }
}

/// The directories of a catalog and their files.
pub struct Folders<'a> {
    tree: &'a Tree,
    index: FolderIndex,
}

impl<'a> Folders<'a> {
    /// Indexes the files of all directories.
    ///
    /// Takes about 40 bytes per file and 60 bytes per directory, in addition to the memory for
    /// `remembered`.
    ///
    /// # Errors
    ///
    /// Fails only with [`Interrupted`], if the user asked to stop.
    pub fn new(
        remembered: &RememberedTree<'a>,
        progress: &Progress,
    ) -> Result<Folders<'a>, Interrupted> {
        progress.enter(Stage::Relate);
        Ok(Folders { tree: remembered.tree, index: FolderIndex::new(remembered, progress)? })
    }

    /// Returns the directories that are equal, contained or overlapping, in no particular order.
    ///
    /// # Errors
    ///
    /// Fails only with [`Interrupted`], if the user asked to stop.
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

    /// Returns the disk space in bytes that deleting all redundant directories of `related` together
    /// would free.
    pub fn reclaimable<'r>(&self, related: impl Iterator<Item = &'r Related>) -> u64 {
        let index = &self.index;
        let redundant = related.flat_map(Related::redundant);
        summary::frees(index, redundant.flat_map(|folder| index.files_of(folder.dir)))
    }
}

struct Finder<'a> {
    index: &'a FolderIndex,
    /// The shape of each directory. Equal directories have the same shape. The shape of a directory
    /// that is not whole is [`NONE`].
    shapes: Vec<u32>,
    /// The directories of each shape, sorted by path.
    sets: Vec<Vec<u32>>,
    remaining: Remaining,
    found: Vec<Related>,
}

impl Finder<'_> {
    /// Finds equal and contained directories. Directories with more files come first. If two
    /// directories have the same number of files, the one with more directory levels below it comes
    /// first. The members of a set therefore come after all directories above them.
    fn find_redundant(&mut self, progress: &Progress) -> Result<(), Interrupted> {
        let dirs = &self.index.dirs;
        let whole = (0u32..).zip(&self.shapes).filter(|(_, shape)| **shape != NONE);
        let mut order: Vec<u32> = whole.map(|(dir_number, _)| dir_number).collect();
        // If two directories contain each other, the later one is redundant.
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

    /// Returns the directories of each shape, sorted by path.
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

    /// Returns whether a directory equal to `dir_number` is within `other`. If so, the set of equal
    /// directories already shows that `dir_number` and `other` overlap.
    fn has_equal_within(&self, dir_number: u32, other: u32) -> bool {
        let Some(set) = self.sets.get(self.shapes[dir_number as usize] as usize) else {
            return false;
        };
        let first = set.partition_point(|&equal| equal < other);
        set.get(first).is_some_and(|&equal| equal < self.index.dirs[other as usize].end)
    }

    /// Records `dir_number` as contained if another directory has all of its contents. A directory
    /// that only wraps another one is skipped, because the inner one is reported instead.
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
