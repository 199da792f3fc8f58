//! What came of a mirroring, and what changes on the way.

use std::ffi::CString;
use std::io;

use fsops::{Kind, Op};
use wire::Spared;

/// Failures that are kept with their reasons, and bytes of these and of their paths; more are counted.
const KEPT: usize = 10_000;
const KEPT_BYTES: usize = 2 << 20;

/// What was done, or in a dry run would be, and what could not be.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Names that the source has, directories included, the top one not.
    pub names: u64,
    /// Regular files that were copied.
    pub files: u64,
    /// Bytes that they have.
    pub bytes: u64,
    /// Directories that were made.
    pub dirs: u64,
    /// Symbolic links, FIFOs, sockets and devices that were made.
    pub others: u64,
    /// Names that were linked to a file that the destination has.
    pub linked: u64,
    /// Regular files that were made of content that the destination had already.
    pub reused: u64,
    /// Bytes that they have.
    pub reused_bytes: u64,
    /// Inodes whose metadata was changed, and no more.
    pub adjusted: u64,
    /// Names removed, or directories with all in them.
    pub removed: u64,
    /// Names that the destination has and the source has not, which stay as the source could not be read as
    /// a whole, or as there are too many of them.
    pub spared: u64,
    /// Why.
    pub spared_why: Spared,
    /// Times that a file was copied again as no more names can be linked to the copy before.
    pub split: u64,
    /// Names that were gone when they were to be copied.
    pub vanished: u64,
    /// Entries left out as they are the destination, or lop's own.
    pub skipped: u64,
    /// Entries that are not what they are to be.
    pub failed: u64,
    /// The first of them.
    pub problems: Vec<Problem>,
    /// Whether anything of the source could not be read.
    pub source_failed: bool,
    /// Whether the destination, or some part of it, keeps no owners, so that these were left as they are there.
    pub no_owners: bool,
    /// Whether it keeps no permissions.
    pub no_modes: bool,
    /// The first time that it keeps, in seconds since the epoch, if the source has some that are before that.
    pub first_time: Option<i64>,
    /// The last time that it keeps, if the source has some that are after that.
    pub last_time: Option<i64>,
    kept_bytes: usize,
}

/// What is about to be removed: what the destination has and the source has not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removal {
    /// Entries, what is in directories included.
    pub entries: u64,
    /// Names that would go, with all in them.
    pub names: u64,
    /// Some of these, as paths below the top directories.
    pub some: Vec<Vec<u8>>,
    /// Entries that the source has.
    pub source: u64,
}

/// Something that could not be mirrored.
#[derive(Debug)]
pub struct Problem {
    /// Its path below the top directories.
    pub path: Vec<u8>,
    /// Why.
    pub reason: Reason,
}

/// Why something could not be mirrored.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// Something of the source could not be read.
    #[error("cannot {} the source: {source}", op.verb())]
    Source {
        /// What was tried.
        op: Op,
        /// What the system answered.
        source: io::Error,
    },
    /// Something of the destination could not be done.
    #[error("cannot {} the copy: {source}", op.verb())]
    Destination {
        /// What was tried.
        op: Op,
        /// What the system answered.
        source: io::Error,
    },
    /// It changed all the time; what is there is what was read last.
    #[error("changed while it was copied")]
    Changed,
    /// There are more extended attributes than can be read, so only ACLs are those of the source.
    #[error("has more extended attributes than can be read; copied without them")]
    Attributes,
    /// What was written is not what was read.
    #[error("reads differently from what was written")]
    Unlike,
    /// The destination takes the name for another one, which it has.
    #[error("the destination does not tell this name from {}, which it has", spelled(other.as_ref()))]
    Spelling {
        /// The name that it has, if that was found.
        other: Option<CString>,
    },
    /// What is behind the temporary name is not what was made under it.
    #[error("something else has taken the place of the temporary file")]
    Displaced,
    /// The destination has a directory of the name, and something is in it.
    #[error("a directory is in its place; --delete has it replaced")]
    Obstructed,
    /// The destination has a directory of the name, and nothing is removed this time.
    #[error("a directory is in its place, and nothing is removed")]
    Kept,
    /// What a receiver on another host says.
    #[error("{0}")]
    Said(String),
    /// It could not be removed.
    #[error(transparent)]
    Unremoved(#[from] purge::Reason),
}

fn spelled(other: Option<&CString>) -> String {
    other.map_or_else(|| "another one".into(), |other| other.as_bytes().escape_ascii().to_string())
}

/// One thing that was changed, or in a dry run would be.
#[derive(Clone, Debug)]
pub struct Change {
    /// What was done.
    pub what: What,
    /// The path below the top directories.
    pub path: Vec<u8>,
    /// What it was linked to or made of, as a path below the top directories.
    pub to: Option<Vec<u8>>,
    /// How it differed, of what was there.
    pub differs: Differs,
}

/// A name that is at the destination now: what of it is to be counted and told.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) what: What,
    pub(crate) kind: Kind,
    /// Bytes, of a file that was copied or reused.
    pub(crate) size: u64,
    /// What it was linked to, or made of.
    pub(crate) to: Option<Vec<u8>>,
    pub(crate) differs: Differs,
}

impl Made {
    pub(crate) fn change(self, path: Vec<u8>) -> Change {
        let Made { what, to, differs, .. } = self;
        Change { what, path, to, differs }
    }
}

/// What was done to a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// It was made: a file with its content.
    New,
    /// Something took the place of something else.
    Replaced,
    /// It was linked to another name.
    Linked,
    /// Its metadata was changed.
    Adjusted,
    /// It was removed.
    Removed,
    /// A file was made of content that the destination had already.
    Reused,
}

/// How two entries differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each says one thing of its own")]
pub struct Differs {
    /// One is a file and the other is not, or the like.
    pub kind: bool,
    /// Size in bytes, or what a symbolic link or a device is.
    pub content: bool,
    /// Time of modification.
    pub time: bool,
    /// Permissions.
    pub mode: bool,
    /// Owner or group.
    pub owner: bool,
    /// Extended attributes, ACLs among them.
    pub xattrs: bool,
    /// It is linked to something else.
    pub links: bool,
}

impl Differs {
    /// Returns whether they may differ in what is in them, or are of other kinds.
    pub(crate) fn in_content(self) -> bool {
        self.kind || self.content || self.time
    }

    /// Returns whether they do at all.
    pub fn at_all(self) -> bool {
        self != Differs::default()
    }
}

impl Outcome {
    pub(crate) fn fail(&mut self, path: impl FnOnce() -> Vec<u8>, reason: Reason) {
        self.failed += 1;
        self.source_failed |= matches!(reason, Reason::Source { .. });
        self.keep(|| Problem { path: path(), reason });
    }

    /// Counts a name that was made.
    pub(crate) fn count(&mut self, made: &Made) {
        match (made.what, made.kind) {
            (What::Linked, _) => self.linked += 1,
            (What::Reused, _) => {
                self.reused += 1;
                self.reused_bytes = self.reused_bytes.saturating_add(made.size);
            }
            (_, Kind::File) => {
                self.files += 1;
                // A sender on another host may say anything.
                self.bytes = self.bytes.saturating_add(made.size);
            }
            (_, Kind::Dir) => self.dirs += 1,
            _ => self.others += 1,
        }
    }

    pub(crate) fn keep(&mut self, problem: impl FnOnce() -> Problem) {
        if self.problems.len() < KEPT && self.kept_bytes < KEPT_BYTES {
            let problem = problem();
            let said = if let Reason::Said(text) = &problem.reason { text.len() } else { 0 };
            self.kept_bytes += problem.path.len() + said;
            self.problems.push(problem);
        }
    }

    /// Returns how many things were changed.
    pub fn changes(&self) -> u64 {
        let made = self.files + self.reused + self.dirs + self.others;
        made + self.linked + self.adjusted + self.removed
    }

    pub(crate) fn add(&mut self, other: Outcome) {
        self.names += other.names;
        self.files += other.files;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.dirs += other.dirs;
        self.others += other.others;
        self.linked += other.linked;
        self.reused += other.reused;
        self.reused_bytes = self.reused_bytes.saturating_add(other.reused_bytes);
        self.adjusted += other.adjusted;
        self.removed += other.removed;
        self.spared += other.spared;
        if other.spared > 0 {
            self.spared_why = other.spared_why;
        }
        self.split += other.split;
        self.vanished += other.vanished;
        self.skipped = self.skipped.saturating_add(other.skipped);
        self.failed += other.failed;
        self.source_failed |= other.source_failed;
        self.no_owners |= other.no_owners;
        self.no_modes |= other.no_modes;
        for problem in other.problems {
            self.keep(|| problem);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{KEPT_BYTES, Outcome, Problem, Reason};

    #[test]
    fn what_is_kept_of_problems_is_bounded_whatever_they_say() {
        let mut outcome = Outcome::default();
        for _ in 0..1000 {
            let reason = Reason::Said("x".repeat(100_000));
            outcome.keep(|| Problem { path: vec![b'p'; 1000], reason });
        }
        assert_eq!(outcome.problems.len(), KEPT_BYTES.div_ceil(101_000));
    }
}
