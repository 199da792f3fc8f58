//! Names that a walk skipped because of a filter, or could not examine.
//!
//! If a directory was listed completely, remembered files that were not found have been deleted,
//! unless they were skipped. This set distinguishes skipped files from deleted ones.
//!
//! A skipped name takes eight bytes. They are a hash of its directory, its name and, if known, its
//! metadata. If two hashes collide (with a probability of 1 in 2^64), a deleted file merely stays
//! remembered until the next scan.

use std::hash::{DefaultHasher, Hash, Hasher};

use fsops::Stat;

use crate::tree::records::{DirId, Remembered};

/// A set of skipped names.
#[derive(Debug, Default)]
pub(crate) struct SkippedNames(Vec<u64>);

impl SkippedNames {
    /// Adds a name whose metadata is unknown.
    pub(crate) fn add(&mut self, dir: DirId, name: &[u8]) {
        self.0.push(number(dir, name, None));
    }

    /// Adds a file with its current metadata.
    pub(crate) fn add_file(&mut self, dir: DirId, name: &[u8], stat: &Stat) {
        self.0.push(number(dir, name, Some(Remembered::of(stat))));
    }

    pub(crate) fn append(&mut self, other: &mut SkippedNames) {
        self.0.append(&mut other.0);
    }

    /// Sorts the set. Required before [`SkippedNames::has`].
    pub(crate) fn sort(&mut self) {
        self.0.sort_unstable();
        self.0.shrink_to_fit();
    }

    /// Returns whether a name was added with the metadata `file`, or without metadata if `file` is
    /// `None`.
    pub(crate) fn has(&self, dir: DirId, name: &[u8], file: Option<Remembered>) -> bool {
        self.0.binary_search(&number(dir, name, file)).is_ok()
    }
}

fn number(dir: DirId, name: &[u8], file: Option<Remembered>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (dir, name, file).hash(&mut hasher);
    hasher.finish()
}
