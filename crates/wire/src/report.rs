//! What a receiver says of its work to the lop that started it.

use serde::{Deserialize, Serialize};

/// What was done to a name, or would be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change<'a> {
    /// What it was.
    pub what: What,
    /// The path below the top.
    pub path: &'a [u8],
    /// The type of the entry, as in the `S_IFMT` bits of `st_mode`; 0 if it is not known.
    pub file_type: u32,
    /// Bytes, of a regular file that was copied or made of content that was there.
    pub size: Option<u64>,
    /// What it was linked to, or made of.
    #[serde(borrow)]
    pub to: Option<&'a [u8]>,
    /// How it differed: kind, content, time, mode, owner, attributes, links, from the lowest bit on.
    pub differs: u8,
}

/// What was done to a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum What {
    /// Made.
    New,
    /// Made instead of something else.
    Replaced,
    /// Linked.
    Linked,
    /// Given other metadata.
    Adjusted,
    /// Removed.
    Removed,
    /// Made of content that was there.
    Reused,
}

/// What the destination has and the source has not.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removal<'a> {
    /// Entries, what is in directories included.
    pub entries: u64,
    /// Names that would go, with all in them.
    pub names: u64,
    /// Some of these, as paths below the top.
    #[serde(borrow)]
    pub some: Vec<&'a [u8]>,
    /// Entries that the source has.
    pub source: u64,
    /// Of these, entries that the destination had before, and that were not changed.
    pub unchanged: u64,
}

/// Why what the destination has and the source has not was not removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Spared {
    /// Not all of the source could be read.
    #[default]
    SourceFailed,
    /// The source has nothing to mirror, or only directories.
    SourceEmpty,
    /// It is more than `--max-delete`.
    TooMany,
    /// The user said no.
    Declined,
    /// Not all of the source could be copied, and the destination may contain the source under another path.
    NotCopied,
}

/// Why something of the source is left out, though no pattern says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum LeftOut {
    /// It is the destination itself.
    Destination,
    /// It is where lop keeps files in quarantine.
    Quarantine,
    /// It is a temporary file or directory of another run.
    Temporary,
    /// It is a file system that the kernel makes up, such as `/proc`.
    Pseudo,
    /// It is the place of lop's catalog or one of its journals in the destination.
    Catalog,
}

/// What keeps a destination from taking anything, whatever it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Cause {
    /// Its file system is full.
    Full,
    /// The user has used up what the disk quota allows.
    Quota,
    /// Its file system is mounted read-only, or has become so.
    ReadOnly,
}

/// Something that could not be mirrored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem<'a> {
    /// The path below the top.
    pub path: &'a [u8],
    /// Why, for the user.
    pub text: &'a str,
    /// Whether it is the source that something is wrong with.
    pub of_source: bool,
    /// Whether others have the same cause.
    pub cause: Option<Cause>,
}

/// What came of it: the counts of `lop mirror --json`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each says one thing of its own")]
pub struct Summary {
    /// Names that the source has.
    pub names: u64,
    /// Regular files that were copied.
    pub files: u64,
    /// Bytes that they have.
    pub bytes: u64,
    /// Directories that were made.
    pub dirs: u64,
    /// Symbolic links that were made.
    pub symlinks: u64,
    /// FIFOs, sockets and devices that were made.
    pub specials: u64,
    /// Names that were linked.
    pub linked: u64,
    /// Regular files made of content that was there.
    pub reused: u64,
    /// Bytes that they have.
    pub reused_bytes: u64,
    /// Inodes given other metadata.
    pub adjusted: u64,
    /// What was removed.
    pub removed: u64,
    /// Names that were not removed, though the source has them not.
    pub spared: u64,
    /// Entries that would have been removed, if that was too many.
    pub spared_entries: u64,
    /// Copies begun again.
    pub split: u64,
    /// Names gone meanwhile.
    pub vanished: u64,
    /// Entries left out.
    pub left_out: u64,
    /// Failures.
    pub failed: u64,
    /// Of these, entries that could not be removed.
    pub unremoved: u64,
    /// Of these, what failed as the destination is full, as the quota is used up, as it is read-only.
    pub blocked: [u64; 3],
    /// Names below directories that could not be made.
    pub missing: u64,
    /// Directories of the source that could not be read, so that nobody knows how many names are below them.
    pub unread: u64,
    /// Why names were not removed.
    pub spared_why: Spared,
    /// Whether anything of the source could not be read.
    pub source_failed: bool,
    /// Whether the destination keeps no owners.
    pub no_owners: bool,
    /// Whether it keeps no permissions.
    pub no_modes: bool,
    /// The first time that it keeps, in seconds since the epoch, if there was one before that.
    pub first_time: Option<i64>,
    /// The last time that it keeps, if there was one after that.
    pub last_time: Option<i64>,
    /// Which patterns matched something, as in [`crate::FromSender::Bye`].
    pub matched: u64,
    /// Whether it was told to stop.
    pub stopped: bool,
}

impl Summary {
    /// Adds the counts of another one, each up to the most that there can be: they may be anything.
    pub fn add(&mut self, other: &Summary) {
        let mut other = *other;
        for (count, more) in self.counts().into_iter().zip(other.counts()) {
            *count = count.saturating_add(*more);
        }
    }

    /// Returns by how much the counts have grown since they were `before`.
    #[must_use]
    pub fn since(&self, before: &Summary) -> Summary {
        let (mut grown, mut before) = (*self, *before);
        for (count, less) in grown.counts().into_iter().zip(before.counts()) {
            *count = count.saturating_sub(*less);
        }
        grown
    }

    fn counts(&mut self) -> [&mut u64; 23] {
        let [full, quota, read_only] = &mut self.blocked;
        [
            &mut self.names,
            &mut self.files,
            &mut self.bytes,
            &mut self.dirs,
            &mut self.symlinks,
            &mut self.specials,
            &mut self.linked,
            &mut self.reused,
            &mut self.reused_bytes,
            &mut self.adjusted,
            &mut self.removed,
            &mut self.spared,
            &mut self.spared_entries,
            &mut self.split,
            &mut self.vanished,
            &mut self.left_out,
            &mut self.failed,
            &mut self.unremoved,
            full,
            quota,
            read_only,
            &mut self.missing,
            &mut self.unread,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::Summary;

    #[test]
    fn counts_are_added_and_taken_off_each_for_itself() {
        let mut one = Summary { files: 3, blocked: [1, 0, 2], ..Summary::default() };
        let other =
            Summary { files: u64::MAX, unread: 5, blocked: [0, 7, 1], ..Summary::default() };
        let before = one;
        one.add(&other);
        assert_eq!((one.files, one.unread, one.blocked), (u64::MAX, 5, [1, 7, 3]));
        let grown = one.since(&before);
        assert_eq!((grown.files, grown.unread, grown.blocked), (u64::MAX - 3, 5, [0, 7, 1]));
    }
}
