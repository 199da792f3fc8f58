//! What a receiver says of its work to the lop that started it.

use serde::{Deserialize, Serialize};

/// What was done to a name, or would be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change<'a> {
    /// What it was.
    pub what: What,
    /// The path below the top.
    pub path: &'a [u8],
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
}

/// Why what the destination has and the source has not was not removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Spared {
    /// Not all of the source could be read.
    #[default]
    SourceFailed,
    /// There is nothing in the source that is mirrored.
    SourceEmpty,
    /// It is more than `--max-delete`.
    TooMany,
    /// The user said no.
    Declined,
}

/// Something that could not be mirrored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem<'a> {
    /// The path below the top.
    pub path: &'a [u8],
    /// Why, for the user.
    pub text: &'a str,
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
    /// Symbolic links, FIFOs, sockets and devices that were made.
    pub others: u64,
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
    /// What was not, though the source has it not.
    pub spared: u64,
    /// Why.
    pub spared_why: Spared,
    /// Copies begun again.
    pub split: u64,
    /// Names gone meanwhile.
    pub vanished: u64,
    /// Names left out.
    pub skipped: u64,
    /// Failures.
    pub failed: u64,
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
