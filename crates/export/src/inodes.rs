//! Finds the names that belong to one inode, and sorts the inodes.

use std::cmp::Ordering;
use std::ops::RangeInclusive;

use catalog::{FileRow, FileState};
use content::Head;
use hashbrown::HashTable;
use runtime::Progress;

use crate::schema::bucket;

/// The number of a content in the export, for [`Contents`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ContentIndex(u32);

/// The contents of the catalog, sorted by id.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    ids: Vec<i64>,
    digests: Vec<Option<[u8; 32]>>,
    /// Number of inodes in groups without a digest.
    pub(crate) undigested: u64,
}

impl Contents {
    /// Adds a content. Ids must be in ascending order.
    pub(crate) fn push(&mut self, id: i64, digest: Option<[u8; 32]>) {
        self.ids.push(id);
        self.digests.push(digest);
    }

    /// Returns the content with an id of the catalog.
    pub(crate) fn find(&self, id: i64) -> Option<ContentIndex> {
        // Most catalogs number their contents from 1 without gaps.
        let likely = usize::try_from(id).unwrap_or(0).wrapping_sub(1);
        let at = match self.ids.get(likely) {
            Some(&found) if found == id => likely,
            _ => self.ids.binary_search(&id).ok()?,
        };
        Some(ContentIndex(u32::try_from(at).expect("fewer than 2^32 contents")))
    }

    pub(crate) fn id(&self, content: ContentIndex) -> i64 {
        self.ids[content.0 as usize]
    }

    pub(crate) fn digest(&self, content: ContentIndex) -> Option<&[u8; 32]> {
        self.digests[content.0 as usize].as_ref()
    }
}

/// An inode, with what its names say about it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Inode {
    /// Inode number.
    pub(crate) number: u64,
    pub(crate) size: u64,
    pub(crate) mtime_ns: i64,
    pub(crate) ctime_ns: i64,
    pub(crate) allocated: u64,
    /// Only for known inodes.
    pub(crate) head: Option<Head>,
    /// Only for known inodes.
    pub(crate) content: Option<ContentIndex>,
    pub(crate) volume: u32,
    pub(crate) names: u32,
    pub(crate) state: FileState,
}

/// An inode in the order of the export.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sorted {
    pub(crate) bucket: u8,
    size: u64,
    /// As it is exported, so that the order does not reveal what a key hides.
    pub(crate) head: Option<i64>,
    content: Option<ContentIndex>,
    pub(crate) number: u32,
}

/// The inodes, each with a number.
///
/// Names with the same file system, inode number, size, mtime and ctime belong to one inode. If two
/// scans saw different versions of an inode, the names that only the first scan saw keep their version,
/// as in the catalog.
#[derive(Debug)]
pub(crate) struct Inodes {
    rows: Vec<Inode>,
    numbers: HashTable<u32>,
}

impl Inodes {
    /// Returns an empty table with room for `expected` inodes.
    pub(crate) fn with_capacity(expected: usize) -> Inodes {
        Inodes { rows: Vec::with_capacity(expected), numbers: HashTable::with_capacity(expected) }
    }

    /// Adds a name. Returns the number of its inode.
    pub(crate) fn add(&mut self, file: &FileRow, contents: &Contents) -> u32 {
        let is_known = file.state == FileState::Known;
        let found = Inode {
            number: file.inode,
            size: file.size,
            mtime_ns: file.mtime_ns,
            ctime_ns: file.ctime_ns,
            allocated: file.allocated,
            head: file.head.filter(|_| is_known),
            content: file.content.filter(|_| is_known).and_then(|id| contents.find(id)),
            volume: u32::try_from(file.volume).unwrap_or(u32::MAX),
            names: 1,
            state: file.state,
        };
        let Inodes { rows, numbers } = self;
        let is_same = |&number: &u32| found.is_version_of(&rows[number as usize]);
        if let Some(&number) = numbers.find(found.hash(), is_same) {
            rows[number as usize].merge(&found);
            return number;
        }
        let number = u32::try_from(rows.len()).expect("fewer than 2^32 inodes");
        numbers.insert_unique(found.hash(), number, |&number| rows[number as usize].hash());
        rows.push(found);
        number
    }

    /// Returns the number of inodes, except empty ones, that have no digest.
    pub(crate) fn without_digest(&self, contents: &Contents) -> u64 {
        let digest = |inode: &Inode| inode.content.and_then(|content| contents.digest(content));
        self.rows.iter().filter(|inode| inode.size > 0 && digest(inode).is_none()).count() as u64
    }

    pub(crate) fn get(&self, number: u32) -> &Inode {
        &self.rows[number as usize]
    }

    /// Returns the inodes in some buckets, sorted by bucket, size, head and digest. Files that may be
    /// equal follow each other.
    pub(crate) fn sorted(
        &self,
        buckets: RangeInclusive<u8>,
        contents: &Contents,
        exported_head: impl Fn(Head, u64) -> i64,
        progress: &Progress,
    ) -> Vec<Sorted> {
        let sorted = |(number, inode): (u32, &Inode)| {
            let Inode { size, content, .. } = *inode;
            let head = inode.head.map(|head| exported_head(head, size));
            Sorted { bucket: bucket(size), size, head, content, number }
        };
        let all = (0..).zip(&self.rows).map(sorted);
        let mut inodes: Vec<Sorted> = all.filter(|inode| buckets.contains(&inode.bucket)).collect();
        let digest = |inode: &Sorted| inode.content.and_then(|content| contents.digest(content));
        inodes.sort_unstable_by(|a, b| {
            let key = |inode: &Sorted| (inode.bucket, inode.size, inode.head);
            let by_head = progress.compare(&key(a), &key(b));
            // Looking up a digest is slow, and most inodes with equal heads have the same content.
            let by_digest =
                || if a.content == b.content { Ordering::Equal } else { digest(a).cmp(&digest(b)) };
            by_head.then_with(by_digest).then(a.number.cmp(&b.number))
        });
        inodes
    }
}

impl Inode {
    fn is_version_of(&self, other: &Inode) -> bool {
        let version = |i: &Inode| (i.number, i.size, i.mtime_ns, i.ctime_ns, i.volume);
        version(self) == version(other)
    }

    fn hash(&self) -> u64 {
        // The multiplier is the one used in Fibonacci hashing: 2^64 divided by the golden ratio.
        const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;
        let mixed = self.number.wrapping_mul(MULTIPLIER) ^ self.ctime_ns.cast_unsigned();
        let mixed = (mixed ^ mixed >> 29).wrapping_mul(MULTIPLIER);
        mixed ^ mixed >> 32
    }

    /// Adds another name of the same inode. What was found bad under one name is bad under the other,
    /// and what was compared under one name needs no comparison under the other.
    fn merge(&mut self, name: &Inode) {
        let names = self.names + 1;
        let rank = |state| match state {
            FileState::Pending => 0,
            FileState::Known => 1,
            FileState::Damaged | FileState::Unreadable => 2,
        };
        let knowledge = |i: &Inode| (rank(i.state), i.content.is_some(), i.head.is_some());
        if knowledge(name) > knowledge(self) {
            *self = *name;
        }
        self.names = names;
    }
}
