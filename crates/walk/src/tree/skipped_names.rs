//! Names that a walk met and skipped, because of a filter or because they could not be examined.
//!
//! After a complete listing of a directory, remembered files that were not found are gone, unless a
//! filter skipped them. A skipped name takes eight bytes: a hash of directory and name, and of the
//! metadata if that is known. A collision (one in 2^64) would merely keep a deleted file remembered
//! until the next scan.

use std::hash::{DefaultHasher, Hash, Hasher};

use fsops::Stat;

use crate::tree::records::{DirId, Remembered};

/// A growing set of skipped names.
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

    /// Sorts the set for lookups.
    pub(crate) fn sort(&mut self) {
        self.0.sort_unstable();
        self.0.shrink_to_fit();
    }

    /// Returns whether a name is in the set, with this metadata or with none.
    pub(crate) fn has(&self, dir: DirId, name: &[u8], file: Option<Remembered>) -> bool {
        self.0.binary_search(&number(dir, name, file)).is_ok()
    }
}

fn number(dir: DirId, name: &[u8], file: Option<Remembered>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (dir, name, file).hash(&mut hasher);
    hasher.finish()
}
