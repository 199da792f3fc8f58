//! What can be done with a file that is equal to one that stays.

use std::iter::Sum;
use std::ops::Add;
use std::sync::atomic::Ordering::Relaxed;

use runtime::Progress;
use serde::{Deserialize, Serialize};

/// Files that are compared side by side: more at once share the processor's cache too thinly.
pub(crate) const MAX_COMPARED_AT_ONCE: usize = 31;

/// What is done with each redundant file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Its name is removed.
    Delete,
    /// Its name becomes one of the kept file.
    Hardlink,
    /// It shares the extents of the kept file, and stays a file of its own.
    Reflink,
    /// Its name becomes a symbolic link to the kept file.
    Symlink,
    /// It is moved into a store on its file system.
    Quarantine,
    /// A name of a file with several becomes a file of its own, equal to it. This is the one kind whose
    /// files are names of the kept file.
    Separate,
}

impl Kind {
    /// Returns the kind in a word, as it is typed.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Delete => "delete",
            Kind::Hardlink => "hardlink",
            Kind::Reflink => "reflink",
            Kind::Symlink => "symlink",
            Kind::Quarantine => "quarantine",
            Kind::Separate => "separate",
        }
    }

    /// Returns whether the file has to be on the kept file's file system.
    pub fn needs_one_file_system(self) -> bool {
        matches!(self, Kind::Hardlink | Kind::Reflink | Kind::Separate)
    }

    /// Returns whether what there is to a file besides its bytes goes with it.
    pub(crate) fn loses_metadata(self) -> bool {
        !matches!(self, Kind::Reflink | Kind::Separate)
    }

    /// Returns whether undo makes a copy of the kept file, so that it has to know what was in that.
    pub(crate) fn is_undone_by_copy(self) -> bool {
        matches!(self, Kind::Delete | Kind::Hardlink | Kind::Symlink)
    }

    /// Returns whether names change, so that a store is needed on the way.
    pub(crate) fn changes_names(self) -> bool {
        self != Kind::Reflink
    }
}

/// Files, and bytes of them that are compared, copied or shared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// Files to act on.
    pub files: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Amount {
    /// Returns the work of acting on `others` files of one size that equal a kept file. Kinds that compare read the
    /// kept file too, once for all the files that are compared side by side.
    pub fn of(kind: Kind, size: u64, others: usize) -> Amount {
        let is_compared = !matches!(kind, Kind::Reflink | Kind::Separate);
        let kept = if is_compared { others.div_ceil(MAX_COMPARED_AT_ONCE) } else { 0 };
        let bytes = size.saturating_mul((others + kept) as u64);
        Amount { files: others as u64, bytes }
    }

    /// Adds this to the totals of a watch.
    pub fn expect(self, progress: &Progress) {
        progress.files_total.fetch_add(self.files, Relaxed);
        progress.bytes_total.fetch_add(self.bytes, Relaxed);
    }
}

impl Add for Amount {
    type Output = Amount;

    fn add(self, other: Amount) -> Amount {
        let bytes = self.bytes.saturating_add(other.bytes);
        Amount { files: self.files + other.files, bytes }
    }
}

impl Sum for Amount {
    fn sum<I: Iterator<Item = Amount>>(all: I) -> Amount {
        all.fold(Amount::default(), Add::add)
    }
}
