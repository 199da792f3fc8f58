//! Names that a walk met and left out: by a filter, or because they could not be looked at.
//!
//! A directory that was listed to its end tells which of its remembered files are gone, but not if a
//! filter passed some of them over. A name takes eight bytes here: a number that follows from directory
//! and name, and from the file's metadata where that was looked at. Two of one number, one in 2^64, would
//! only keep a file remembered that is gone, until the next scan.

use std::hash::{DefaultHasher, Hash, Hasher};

use fsops::Stat;

use crate::remembered::Remembered;
use crate::tree::{DirId, Tree};

/// Names being gathered.
#[derive(Debug, Default)]
pub(crate) struct LeftOut(Vec<u64>);

impl LeftOut {
    /// Adds a name that was not looked at.
    pub(crate) fn add(&mut self, dir: DirId, name: &[u8]) {
        self.0.push(number(dir, name, None));
    }

    /// Adds a file as it is now.
    pub(crate) fn add_file(&mut self, dir: DirId, name: &[u8], stat: &Stat) {
        self.0.push(number(dir, name, Some(Remembered::of(stat))));
    }

    pub(crate) fn append(&mut self, other: &mut LeftOut) {
        self.0.append(&mut other.0);
    }

    /// Makes them ready to be looked up.
    pub(crate) fn sort(&mut self) {
        self.0.sort_unstable();
        self.0.shrink_to_fit();
    }

    fn has(&self, number: u64) -> bool {
        self.0.binary_search(&number).is_ok()
    }
}

impl Tree {
    /// Returns whether the walk met a file in a directory and left it out, unchanged as far as the walk
    /// knows: by a pattern it left it out without a look at it.
    pub fn left_out(&self, dir: DirId, name: &[u8], file: Remembered) -> bool {
        self.left_out_unseen(dir, name) || self.left_out.has(number(dir, name, Some(file)))
    }

    /// Returns whether the walk met a name in a directory, of a directory for one, and left it out without
    /// a look at it.
    pub fn left_out_unseen(&self, dir: DirId, name: &[u8]) -> bool {
        self.left_out.has(number(dir, name, None))
    }
}

fn number(dir: DirId, name: &[u8], file: Option<Remembered>) -> u64 {
    let mut hasher = DefaultHasher::new();
    (dir, name, file).hash(&mut hasher);
    hasher.finish()
}
