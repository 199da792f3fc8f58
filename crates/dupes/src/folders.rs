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
//!   equal make one set, however many they are. All but the first are spare.
//! - **Contained**: the first is whole, and every file in it has a like one in the second, whatever
//!   its name. Neither is above the other. The first is spare.
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
//! for each content the numbers of its files are kept in order (`holdings`). Whether a directory has
//! a content is then a binary search. Directories are equal if their listings, with numbers for names,
//! contents and directories below, are the same (`equal`): exact, and every listing is looked at once.
//! For a containing directory the places of the rarest content are tried (`contained`), and pairs that
//! overlap are found from copies of a content that are near each other (`overlap`). Neither looks
//! at all pairs of a content's files: [`PLACES`] and [`NEAR`] say how many.

mod contained;
mod equal;
mod figures;
mod holdings;
mod layout;
mod newcomers;
mod overlap;
mod standing;

use std::cmp::Reverse;

use content::{ContentId, Facts};
use runtime::{Interrupted, Progress, Stage};
use walk::{DirId, Tree};

use crate::verify::State;
use holdings::{Holdings, NONE};
use standing::Standing;

pub(crate) use layout::Layout;

pub use contained::PLACES;
pub use newcomers::{Newcomers, newcomers};
pub use overlap::NEAR;

/// Remembered files as they are now.
#[derive(Clone, Copy)]
pub struct Remembered<'a> {
    /// The files; a directory is in it by one path, or by several that are told apart by its inode.
    pub tree: &'a Tree,
    /// What is known of their contents.
    pub facts: &'a Facts,
    /// What has become of each file.
    pub states: &'a [State],
    /// What is in each directory besides them, by [`DirId`].
    pub newcomers: &'a [u32],
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
    /// Remembered files in it that changed or cannot be looked at.
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
    pub fn spare(&self) -> &[Folder] {
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
    holdings: Holdings,
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
        remembered: &Remembered<'a>,
        progress: &Progress,
    ) -> Result<Folders<'a>, Interrupted> {
        progress.enter(Stage::Relate);
        Ok(Folders { tree: remembered.tree, holdings: Holdings::new(remembered, progress)? })
    }

    /// Returns the directories that are equal, contained or overlap, in no particular order.
    ///
    /// # Errors
    ///
    /// Only that `progress` asked to stop.
    pub fn related(&self, progress: &Progress) -> Result<Vec<Related>, Interrupted> {
        let holdings = &self.holdings;
        let mut finder = Finder {
            holdings,
            shapes: equal::shapes(self.tree, holdings, progress)?,
            sets: Vec::new(),
            standing: Standing::new(holdings),
            found: Vec::new(),
        };
        finder.find_spare(progress)?;
        for (one, other) in overlap::pairs(holdings, &finder.standing, progress)? {
            if !finder.has_equal_within(one, other) && !finder.has_equal_within(other, one) {
                finder.found.push(figures::overlapping(holdings, one, other));
            }
        }
        Ok(finder.found)
    }

    /// Returns the bytes that deleting all spare directories of `related` together would free.
    pub fn reclaimable<'r>(&self, related: impl Iterator<Item = &'r Related>) -> u64 {
        let holdings = &self.holdings;
        let spare = related.flat_map(Related::spare);
        figures::frees(holdings, spare.flat_map(|folder| holdings.files_of(folder.dir)))
    }
}

struct Finder<'a> {
    holdings: &'a Holdings,
    /// Equal for equal directories; [`NONE`] for those that are not whole.
    shapes: Vec<u32>,
    /// The directories of each shape, in the order of their paths.
    sets: Vec<Vec<u32>>,
    standing: Standing,
    found: Vec<Related>,
}

impl Finder<'_> {
    /// Finds what is equal and what is contained: the directories with most files first, and of those
    /// with as many the highest, so that all of a set come after those that they are in.
    fn find_spare(&mut self, progress: &Progress) -> Result<(), Interrupted> {
        let dirs = &self.holdings.dirs;
        let whole = (0u32..).zip(&self.shapes).filter(|(_, shape)| **shape != NONE);
        let mut order: Vec<u32> = whole.map(|(place, _)| place).collect();
        // Of two that contain each other the later one is spare.
        order.sort_unstable_by_key(|&place| {
            let dir = &dirs[place as usize];
            (Reverse(dir.count()), Reverse(dir.height), Reverse(place))
        });
        self.sets = self.sets(&order);
        let mut done = vec![false; self.sets.len()];
        for place in order {
            progress.check()?;
            let shape = self.shapes[place as usize] as usize;
            if !std::mem::replace(&mut done[shape], true) {
                self.take_equal(shape);
            }
            if !self.standing.is_spare(place) {
                self.take_contained(place);
            }
        }
        Ok(())
    }

    /// Returns the directories of each shape, in the order of their paths.
    fn sets(&self, order: &[u32]) -> Vec<Vec<u32>> {
        let shapes = order.iter().map(|&place| self.shapes[place as usize]);
        let count = shapes.max().map_or(0, |last| last as usize + 1);
        let mut sets = vec![Vec::new(); count];
        for (place, &shape) in (0u32..).zip(&self.shapes) {
            if shape != NONE {
                sets[shape as usize].push(place);
            }
        }
        sets
    }

    fn take_equal(&mut self, shape: usize) {
        let set = self.sets[shape].iter().copied();
        let places: Vec<u32> = set.filter(|&place| !self.standing.is_spare(place)).collect();
        if places.len() < 2 {
            return;
        }
        self.found.push(figures::set(self.holdings, &places));
        for &place in &places[1..] {
            self.standing.remove(self.holdings, place);
        }
    }

    /// Returns whether a directory equal to `place` is within `other`: that the two overlap follows from
    /// the set of those that are equal.
    fn has_equal_within(&self, place: u32, other: u32) -> bool {
        let Some(set) = self.sets.get(self.shapes[place as usize] as usize) else { return false };
        let first = set.partition_point(|&equal| equal < other);
        set.get(first).is_some_and(|&equal| equal < self.holdings.dirs[other as usize].end)
    }

    /// A directory with nothing but another in it is passed over: what can be said is said of that.
    fn take_contained(&mut self, place: u32) {
        if self.holdings.is_mere_way(place) {
            return;
        }
        if let Some(container) = contained::container(self.holdings, &mut self.standing, place) {
            self.found.push(figures::contained(self.holdings, place, container));
            self.standing.remove(self.holdings, place);
        }
    }
}
