//! Reports that a receiver sends to the lop that the user started.

use serde::{Deserialize, Serialize};

/// A change in the destination. In a dry run, a change that a real run would make.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The kind of change.
    pub action: Action,
    /// The path relative to the top directory.
    pub path: Vec<u8>,
    /// The file type, as in the `S_IFMT` bits of `st_mode`. It is 0 for hard links, and for
    /// non-directories that were deleted together with their directory.
    pub file_type: u32,
    /// The size in bytes of a regular file that was copied or reused.
    pub size: Option<u64>,
    /// The path of the existing file that this file was linked to or created from, relative to the
    /// top directory.
    pub to: Option<Vec<u8>>,
    /// Differences from the entry that was at this path before.
    pub differences: Differences,
}

/// How two entries differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::struct_excessive_bools, reason = "each says one thing of its own")]
pub struct Differences {
    /// The kinds of the entries differ, for example if one is a file and the other a directory.
    pub kind: bool,
    /// The sizes, the targets of symbolic links or the device numbers differ.
    pub content: bool,
    /// The modification times differ.
    pub time: bool,
    /// The permissions differ.
    pub mode: bool,
    /// The owners or groups differ.
    pub owner: bool,
    /// The extended attributes differ, ACLs included.
    pub xattrs: bool,
    /// The name is linked to the wrong inode.
    pub links: bool,
}

impl Differences {
    /// Returns whether the kinds differ or the contents may differ.
    pub fn affect_content(self) -> bool {
        self.kind || self.content || self.time
    }

    /// Returns whether anything differs.
    pub fn any(self) -> bool {
        self != Differences::default()
    }
}

/// Kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Action {
    /// The name was created.
    New,
    /// A different file was replaced.
    Replaced,
    /// The name was hard linked.
    Linked,
    /// Only the metadata changed.
    Adjusted,
    /// The name was deleted.
    Removed,
    /// The name was created from content that was already in the destination.
    Reused,
}

/// The extraneous entries that a run is about to delete.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removal {
    /// Number of entries. Entries in extraneous directories are included.
    pub entries: u64,
    /// Number of names to delete. A directory counts as one name, regardless of the entries in it.
    pub names: u64,
    /// Examples of names to delete, as paths relative to the top directory.
    pub some: Vec<Vec<u8>>,
    /// Number of entries in the source.
    pub source: u64,
    /// Number of source entries that were already in the destination and did not change.
    pub unchanged: u64,
}

/// Reason why extraneous entries were kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeptReason {
    /// Part of the source could not be read.
    #[default]
    SourceFailed,
    /// The source is empty or contains only directories.
    SourceEmpty,
    /// More entries would be deleted than `--max-delete` allows.
    TooMany,
    /// The user declined.
    Declined,
    /// Part of the source could not be copied. The destination may contain this part under another
    /// path.
    NotCopied,
}

/// Reason why an entry of the source was skipped even though no pattern excludes the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum LeftOut {
    /// The entry is the destination itself.
    Destination,
    /// The entry is lop's quarantine directory.
    Quarantine,
    /// The entry is a temporary file or directory of another run.
    Temporary,
    /// The entry is a kernel pseudo file system, such as `/proc`.
    Pseudo,
    /// The entry has the same path in the destination as lop's catalog or one of its journals.
    Catalog,
}

/// A condition that blocks every write to the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Cause {
    /// The file system is full.
    Full,
    /// The user's disk quota is exhausted.
    Quota,
    /// The file system is mounted read-only, or became read-only.
    ReadOnly,
}

/// An entry that could not be mirrored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem<'a> {
    /// Path of the entry relative to the top directory.
    pub path: &'a [u8],
    /// Reason for the user.
    pub text: &'a str,
    /// True if the source caused the failure.
    pub of_source: bool,
    /// Cause of the failure, if this cause also affects other entries.
    pub cause: Option<Cause>,
}

/// Counts of the changes and failures of a run. In a dry run, counts of the changes that a real run
/// would make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Number of names in the source, including directories but not the top directory.
    pub names: u64,
    /// Number of regular files copied.
    pub files: u64,
    /// Total size in bytes of the files copied.
    pub bytes: u64,
    /// Number of directories created.
    pub dirs: u64,
    /// Number of symbolic links created.
    pub symlinks: u64,
    /// Number of FIFOs, sockets and devices created.
    pub specials: u64,
    /// Number of names hard linked.
    pub linked: u64,
    /// Number of regular files created from content that was already in the destination.
    pub reused: u64,
    /// Total size in bytes of the files reused.
    pub reused_bytes: u64,
    /// Number of inodes for which only the metadata was changed.
    pub adjusted: u64,
    /// Number of extraneous entries deleted, including those inside directories.
    pub removed: u64,
    /// Number of extraneous names that were kept.
    pub kept: u64,
    /// Number of entries that would have been deleted. Set only if this number exceeds
    /// `--max-delete`.
    pub kept_entries: u64,
    /// Number of additional copies made because files reached the link limit of the file system.
    pub link_limit_copies: u64,
    /// Number of names that vanished during the run.
    pub vanished: u64,
    /// Number of entries skipped even though no pattern excludes them.
    pub left_out: u64,
    /// Number of entries that do not match the source after the run.
    pub failed: u64,
    /// Number of failures to delete an entry. Included in `failed`.
    pub unremoved: u64,
    /// Number of failures for each [`Cause`], in the order of the variants. Included in `failed`.
    pub blocked: [u64; 3],
    /// Number of names in directories that could not be created.
    pub missing: u64,
    /// Number of source directories that could not be read. The number of names in these
    /// directories is unknown.
    pub unread_dirs: u64,
    /// Reason why extraneous names were kept.
    pub kept_reason: KeptReason,
    /// True if part of the source could not be read.
    pub source_failed: bool,
    /// True if the destination does not store owners.
    pub no_owners: bool,
    /// True if the destination does not store permissions.
    pub no_modes: bool,
    /// Earliest time that the destination can store, in seconds since the epoch. Set only if a file
    /// has an earlier time.
    pub first_time: Option<i64>,
    /// Latest time that the destination can store, in seconds since the epoch. Set only if a file
    /// has a later time.
    pub last_time: Option<i64>,
}

impl Counts {
    /// Adds the counts of `other`. The sums saturate, because counts from the peer may have any
    /// value.
    pub fn add(&mut self, other: &Counts) {
        let mut other = *other;
        for (count, more) in self.counts().into_iter().zip(other.counts()) {
            *count = count.saturating_add(*more);
        }
    }

    /// Returns the increase of each count since `before`.
    #[must_use]
    pub fn since(&self, before: &Counts) -> Counts {
        let (mut grown, mut before) = (*self, *before);
        for (count, less) in grown.counts().into_iter().zip(before.counts()) {
            *count = count.saturating_sub(*less);
        }
        grown
    }

    /// Returns the number of changes.
    #[must_use]
    pub fn changes(&self) -> u64 {
        let made = [self.files, self.reused, self.dirs, self.symlinks, self.specials];
        let others = [self.linked, self.adjusted, self.removed];
        made.into_iter().chain(others).fold(0, u64::saturating_add)
    }

    /// Returns the number of names that the destination already had and whose content did not
    /// change.
    #[must_use]
    pub fn unchanged(&self) -> u64 {
        let made = [self.files, self.dirs, self.symlinks, self.specials, self.linked, self.reused];
        self.names.saturating_sub(made.iter().sum())
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
            &mut self.kept,
            &mut self.kept_entries,
            &mut self.link_limit_copies,
            &mut self.vanished,
            &mut self.left_out,
            &mut self.failed,
            &mut self.unremoved,
            full,
            quota,
            read_only,
            &mut self.missing,
            &mut self.unread_dirs,
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::Counts;

    #[test]
    fn each_count_is_added_and_subtracted() {
        let mut one = Counts { files: 3, blocked: [1, 0, 2], ..Counts::default() };
        let other =
            Counts { files: u64::MAX, unread_dirs: 5, blocked: [0, 7, 1], ..Counts::default() };
        let before = one;
        one.add(&other);
        assert_eq!((one.files, one.unread_dirs, one.blocked), (u64::MAX, 5, [1, 7, 3]));
        let grown = one.since(&before);
        assert_eq!((grown.files, grown.unread_dirs, grown.blocked), (u64::MAX - 3, 5, [0, 7, 1]));
    }
}
