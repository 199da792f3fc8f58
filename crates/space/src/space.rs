//! The directories of a catalog, and the totals of everything below each of them.
//!
//! A directory takes 68 bytes plus its name, and 8 more bytes after a comparison with an earlier
//! scan.

use std::cmp::Reverse;

use crate::shape::{Shape, to_u32};

/// Number of a directory in a [`Space`]. A directory and everything below it have consecutive
/// numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DirId(pub u32);

/// The root directory.
pub const TOP: DirId = DirId(0);

/// The order of directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// Most disk space first.
    Size,
    /// Most reclaimable disk space first.
    Reclaimable,
    /// Largest growth first.
    Grown,
    /// Most files first.
    Files,
}

/// The files below a directory, at any depth.
///
/// A file with several names counts once, in the lowest directory that contains all its names and
/// in the directories above that one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Total size in bytes.
    pub bytes: u64,
    /// Disk space in bytes.
    pub allocated: u64,
    /// Number of files.
    pub files: u64,
    /// Number of names of files.
    pub names: u64,
    /// Modification time of the oldest file, in nanoseconds since the epoch.
    pub oldest_ns: Option<i64>,
    /// Modification time of the newest file.
    pub newest_ns: Option<i64>,
    /// Disk space that removing copies here would free, in bytes, while one file of each content
    /// stays: outside of this directory if there is one, otherwise inside. The sum over several
    /// directories can be more than removing copies in all of them would free.
    pub reclaimable: u64,
    /// Difference in disk space to an earlier scan, in bytes; `None` without an earlier scan.
    pub grown: Option<i64>,
}

/// The files that belong to a directory. Sums that exceed 64 bits wrap: only forged catalogs have
/// them, and they must not stop lop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// Size in bytes.
    pub(crate) bytes: u64,
    /// Disk space in bytes.
    pub(crate) allocated: u64,
    /// Number of files.
    pub(crate) files: u32,
}

impl Sizes {
    /// Returns the sizes of one file, from its size and its disk space.
    pub(crate) fn of_file((bytes, allocated): (u64, u64)) -> Sizes {
        Sizes { bytes, allocated, files: 1 }
    }

    /// Adds other files.
    pub(crate) fn add(&mut self, other: Sizes) {
        self.bytes = self.bytes.wrapping_add(other.bytes);
        self.allocated = self.allocated.wrapping_add(other.allocated);
        self.files = self.files.wrapping_add(other.files);
    }

    /// Subtracts files that were added before.
    pub(crate) fn remove(&mut self, other: Sizes) {
        self.bytes = self.bytes.wrapping_sub(other.bytes);
        self.allocated = self.allocated.wrapping_sub(other.allocated);
        self.files = self.files.wrapping_sub(other.files);
    }
}

/// The stored form of [`Totals`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sums {
    pub(crate) sizes: Sizes,
    pub(crate) names: u32,
    pub(crate) oldest_ns: i64,
    pub(crate) newest_ns: i64,
    pub(crate) reclaimable: u64,
}

impl Default for Sums {
    fn default() -> Sums {
        Sums {
            sizes: Sizes::default(),
            names: 0,
            oldest_ns: i64::MAX,
            newest_ns: i64::MIN,
            reclaimable: 0,
        }
    }
}

impl Sums {
    /// Counts a name with the modification time of its file.
    pub(crate) fn count_name(&mut self, mtime_ns: i64) {
        self.names = self.names.saturating_add(1);
        self.oldest_ns = self.oldest_ns.min(mtime_ns);
        self.newest_ns = self.newest_ns.max(mtime_ns);
    }

    /// Adds other sums, except the reclaimable bytes.
    pub(crate) fn add(&mut self, other: &Sums) {
        self.sizes.add(other.sizes);
        self.names = self.names.saturating_add(other.names);
        self.oldest_ns = self.oldest_ns.min(other.oldest_ns);
        self.newest_ns = self.newest_ns.max(other.newest_ns);
    }
}

/// Names, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Names {
    bytes: Vec<u8>,
    ends: Vec<u32>,
}

impl Names {
    pub(crate) fn push(&mut self, name: &[u8]) {
        self.bytes.extend_from_slice(name);
        self.ends.push(to_u32(self.bytes.len()));
    }

    pub(crate) fn get(&self, at: u32) -> &[u8] {
        let at = at as usize;
        let start = if at == 0 { 0 } else { self.ends[at - 1] };
        &self.bytes[start as usize..self.ends[at] as usize]
    }
}

/// The lowest directory that contains all remembered files of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct VolumeTop {
    /// The row id of the file system.
    pub(crate) volume: i64,
    pub(crate) dir: u32,
}

/// The directories of a catalog with their sums.
#[derive(Debug)]
pub struct Space {
    pub(crate) shape: Shape,
    pub(crate) names: Names,
    sums: Vec<Sums>,
    /// Growth of each directory, or `None` before a comparison. [`UNKNOWN`] for directories that an
    /// earlier scan did not cover.
    pub(crate) grown: Option<Vec<i64>>,
    pub(crate) volumes: Vec<VolumeTop>,
}

/// The growth of a directory that the compared scans did not cover.
pub(crate) const UNKNOWN: i64 = i64::MIN;

impl Space {
    pub(crate) fn new(
        shape: Shape,
        names: Names,
        sums: Vec<Sums>,
        volumes: Vec<VolumeTop>,
    ) -> Space {
        Space { shape, names, sums, grown: None, volumes }
    }

    /// Returns the number of directories.
    pub fn len(&self) -> u32 {
        self.shape.len()
    }

    /// Returns whether there are no directories. A catalog always has a root directory.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the directory at an absolute path, if the catalog has it.
    pub fn find(&self, path: &[u8]) -> Option<DirId> {
        let mut components = path.split(|&byte| byte == b'/').filter(|name| !name.is_empty());
        components.try_fold(TOP, |dir, name| self.child(dir, name))
    }

    fn child(&self, dir: DirId, name: &[u8]) -> Option<DirId> {
        self.shape.children(dir.0).find(|&child| self.names.get(child) == name).map(DirId)
    }

    /// Returns the directories directly in a directory, in the given order. Directories that are
    /// equal in this order are sorted by name.
    pub fn children(&self, dir: DirId, by: By) -> Vec<DirId> {
        let mut children: Vec<DirId> = self.shape.children(dir.0).map(DirId).collect();
        children.sort_by_key(|&child| Reverse(self.rank(child, by)));
        children
    }

    /// Returns the lowest directory that contains all files of a directory.
    pub fn lowest_with_all(&self, mut dir: DirId) -> DirId {
        while let [child] = self.children(dir, By::Size)[..]
            && self.totals(child).names == self.totals(dir).names
        {
            dir = child;
        }
        dir
    }

    /// Returns the number by which directories are sorted.
    pub fn rank(&self, dir: DirId, by: By) -> i64 {
        let totals = self.totals(dir);
        let number = match by {
            By::Size => totals.allocated,
            By::Reclaimable => totals.reclaimable,
            By::Files => totals.files,
            By::Grown => return totals.grown.unwrap_or(UNKNOWN),
        };
        i64::try_from(number).unwrap_or(i64::MAX)
    }

    /// Returns the parent of a directory; `None` for the root directory.
    pub fn parent(&self, dir: DirId) -> Option<DirId> {
        (dir != TOP).then(|| DirId(self.shape.parents[dir.0 as usize]))
    }

    /// Returns whether `dir` is `other` or below it.
    pub fn is_at_or_below(&self, dir: DirId, other: DirId) -> bool {
        (other.0..self.shape.ends[other.0 as usize]).contains(&dir.0)
    }

    /// Returns the name of a directory. The name of the root directory is empty.
    pub fn name(&self, dir: DirId) -> &[u8] {
        self.names.get(dir.0)
    }

    /// Returns the absolute path of a directory.
    pub fn path(&self, dir: DirId) -> Vec<u8> {
        let above = std::iter::successors(Some(dir), |&dir| self.parent(dir));
        let mut names: Vec<&[u8]> =
            above.filter(|&dir| dir != TOP).map(|dir| self.name(dir)).collect();
        names.push(b"");
        names.reverse();
        if names.len() == 1 { b"/".to_vec() } else { names.join(&b'/') }
    }

    /// Returns the totals of everything below a directory.
    pub fn totals(&self, dir: DirId) -> Totals {
        let at = dir.0 as usize;
        let sums = &self.sums[at];
        let grown = self.grown.as_ref().map(|grown| grown[at]);
        let has_names = sums.names > 0;
        Totals {
            bytes: sums.sizes.bytes,
            allocated: sums.sizes.allocated,
            files: sums.sizes.files.into(),
            names: sums.names.into(),
            oldest_ns: has_names.then_some(sums.oldest_ns),
            newest_ns: has_names.then_some(sums.newest_ns),
            reclaimable: sums.reclaimable,
            grown: grown.filter(|&grown| grown != UNKNOWN),
        }
    }

    /// Returns the size, disk space and number of the files that belong to a directory but to none
    /// of its subdirectories. The other totals are those of the whole directory.
    pub fn own(&self, dir: DirId) -> Totals {
        let mut own = self.totals(dir);
        for child in self.shape.children(dir.0) {
            let child = &self.sums[child as usize];
            own.bytes = own.bytes.saturating_sub(child.sizes.bytes);
            own.allocated = own.allocated.saturating_sub(child.sizes.allocated);
            own.files = own.files.saturating_sub(child.sizes.files.into());
        }
        own
    }
}
