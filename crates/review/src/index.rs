//! The groups of the catalog in memory, with their members.
//!
//! An [`Index`] is a snapshot: a scan or a run that changes the catalog does not change it. Groups
//! have two numbers. The position `at` is valid for one index. [`Group::number`] is the row of the
//! content in the catalog and stays the same when the catalog is loaded again.
//!
//! A path is built only for the group that needs it. One million files take about 70 bytes each.

mod assemble;
pub(crate) mod dirs;

use std::fmt;
use std::ops::Range;

use catalog::{Catalog, Error, Rows};
use content::Digest;
use walk::{FileId, FileRecord, Tree};

use crate::index::dirs::Dirs;

/// Marks a file that is in no group.
pub(crate) const NO_GROUP: u32 = u32::MAX;

/// The groups of a catalog at one point in time, sorted by reclaimable bytes, then by
/// [`Group::number`], as [`catalog::Catalog::top_groups`] returns them.
#[derive(Debug)]
pub struct Index {
    tree: Tree,
    pub(crate) dirs: Dirs,
    rows: Vec<Row>,
    /// The members of each group, one group after the other.
    members: Vec<FileId>,
    /// The group of each file, or [`NO_GROUP`].
    pub(crate) group_of: Vec<u32>,
    conditions: Vec<Condition>,
    /// All groups, sorted by number.
    by_number: Vec<u32>,
    /// The groups with a digest, sorted by digest.
    by_digest: Vec<u32>,
    /// The time from which the ages of files are counted, in nanoseconds since the epoch.
    pub(crate) now_ns: i64,
}

/// The stored facts about a group.
#[derive(Clone, Copy, Debug)]
struct Row {
    number: i64,
    digest: Option<Digest>,
    reclaimable: u64,
    /// The range of its members.
    first: u32,
    names: u32,
    inodes: u32,
}

/// The facts about a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// The number of its content in the catalog.
    pub number: i64,
    /// The digest of its content, if known.
    pub digest: Option<Digest>,
    /// The size of each file in bytes.
    pub size: u64,
    /// The bytes that keeping only one file would free.
    pub reclaimable: u64,
    /// Number of files. Several names of one inode are one file. Files whose content is unknown do
    /// not count.
    pub inodes: u32,
    /// Number of members, which are names.
    pub names: u32,
}

/// One name of a file in a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// The file in [`Index::tree`].
    pub file: FileId,
    /// The absolute path.
    pub path: Vec<u8>,
    /// Modification time in nanoseconds since the epoch.
    pub mtime_ns: i64,
    /// Status change time in nanoseconds since the epoch.
    pub ctime_ns: i64,
    /// Inode number, or 0 if the file is gone.
    pub inode: u64,
    /// Device number. No device has the number if the file is offline or gone.
    pub device: u64,
    /// Whether lop can rely on the file.
    pub condition: Condition,
}

impl Member {
    /// Returns the path of the directory that contains the file.
    pub fn dir(&self) -> &[u8] {
        match walk::split_path(&self.path).0 {
            b"" => b"/",
            dir => dir,
        }
    }

    /// Returns the name of the file in its directory.
    pub fn name(&self) -> &[u8] {
        walk::split_path(&self.path).1
    }
}

/// The condition of a file, which decides whether lop may act on it.
///
/// Only a [`Condition::Sound`] file is removed, and only a sound file counts as the copy that stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Condition {
    /// The file was identical to the other files of its group when it was scanned.
    Sound,
    /// The file is in a repository, a snapshot, a trash or a system directory, so only another
    /// program may change it ([`walk::managed_by_programs`]).
    Managed,
    /// The file has not been compared yet.
    Pending,
    /// The bytes of the file differ from the scanned ones.
    Damaged,
    /// The file could not be read.
    Unreadable,
    /// The file is on a disk that is not mounted.
    Offline,
    /// The directory of the file is gone, or another file system is mounted there.
    Gone,
}

impl Condition {
    /// Returns whether the file may be acted on and counts as a copy.
    pub fn is_sound(self) -> bool {
        self == Condition::Sound
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Condition::Sound => "sound",
            Condition::Managed => "managed by another program",
            Condition::Pending => "not compared yet",
            Condition::Damaged => "damaged",
            Condition::Unreadable => "unreadable",
            Condition::Offline => "offline",
            Condition::Gone => "gone",
        })
    }
}

impl Index {
    /// Loads the groups of a catalog. In filters, the ages of files are counted from `now_ns`, in
    /// nanoseconds since the epoch.
    ///
    /// Opens each directory that contains a group, to find out which disks are mounted.
    ///
    /// # Errors
    ///
    /// Fails if the catalog cannot be read or is damaged.
    pub fn load(catalog: &Catalog, now_ns: i64) -> Result<Index, Error> {
        Ok(assemble::index(catalog.load(Rows::Grouped)?, now_ns))
    }

    /// Returns the number of groups.
    pub fn len(&self) -> u32 {
        walk::to_u32(self.rows.len())
    }

    /// Returns whether the catalog has no groups.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the facts about a group.
    ///
    /// # Panics
    ///
    /// Panics if `at` is not less than [`Index::len`].
    pub fn group(&self, at: u32) -> Group {
        let Row { number, digest, reclaimable, names, inodes, .. } = self.rows[at as usize];
        Group { number, digest, size: self.size(at), reclaimable, inodes, names }
    }

    /// Returns the members of a group in the order of the directory tree.
    ///
    /// # Panics
    ///
    /// Panics if `at` is not less than [`Index::len`].
    pub fn members(&self, at: u32) -> Vec<Member> {
        self.files(at).iter().map(|&file| self.member_of(file)).collect()
    }

    /// Returns one of the members of a group, by its position in [`Index::members`]. Builds no other
    /// path.
    ///
    /// # Panics
    ///
    /// Panics if `at` is not less than [`Index::len`].
    pub fn member(&self, at: u32, ordinal: u32) -> Option<Member> {
        self.files(at).get(ordinal as usize).map(|&file| self.member_of(file))
    }

    /// Returns the path of the first member of a group.
    ///
    /// # Panics
    ///
    /// Panics if `at` is not less than [`Index::len`].
    pub fn first_path(&self, at: u32) -> Vec<u8> {
        self.tree.absolute_path(self.files(at)[0])
    }

    /// Returns the position of the group with a [`Group::number`].
    pub fn at(&self, number: i64) -> Option<u32> {
        let found = self.by_number.binary_search_by_key(&number, |&at| self.row(at).number);
        found.ok().map(|found| self.by_number[found])
    }

    /// Returns the position of the group with a digest.
    pub fn at_digest(&self, digest: &Digest) -> Option<u32> {
        let key = |&at: &u32| self.row(at).digest.map(|digest| digest.0);
        let found = self.by_digest.binary_search_by_key(&Some(digest.0), key);
        found.ok().map(|found| self.by_digest[found])
    }

    /// Returns the files of all groups. The tree may also contain files that are in no group.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Returns the positions of all groups.
    pub(crate) fn all(&self) -> Range<u32> {
        0..self.len()
    }

    /// Returns the files of a group in the order of [`Index::members`].
    pub(crate) fn files(&self, at: u32) -> &[FileId] {
        let Row { first, names, .. } = self.rows[at as usize];
        &self.members[first as usize..][..names as usize]
    }

    pub(crate) fn records(&self, at: u32) -> impl Iterator<Item = &FileRecord> {
        self.files(at).iter().map(|&file| self.tree.file(file))
    }

    pub(crate) fn condition(&self, file: FileId) -> Condition {
        self.conditions[file.0 as usize]
    }

    /// Returns the size of the files of a group.
    pub(crate) fn size(&self, at: u32) -> u64 {
        self.tree.file(self.files(at)[0]).size
    }

    /// Returns the reclaimable bytes and the number of files of a group.
    pub(crate) fn gain(&self, at: u32) -> (u64, u32) {
        let row = self.row(at);
        (row.reclaimable, row.inodes)
    }

    /// Returns how old a file is in seconds. A file from the future is 0 seconds old.
    pub(crate) fn age(&self, file: &FileRecord) -> u64 {
        let age_ns = self.now_ns.saturating_sub(file.mtime_ns);
        u64::try_from(age_ns).unwrap_or(0) / 1_000_000_000
    }

    fn member_of(&self, file: FileId) -> Member {
        let (record, key) = (self.tree.file(file), self.tree.key(file));
        Member {
            file,
            path: self.tree.absolute_path(file),
            mtime_ns: record.mtime_ns,
            ctime_ns: record.ctime_ns,
            inode: key.inode,
            device: key.device,
            condition: self.condition(file),
        }
    }

    fn row(&self, at: u32) -> &Row {
        &self.rows[at as usize]
    }
}
