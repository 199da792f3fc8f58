//! The kinds of actions on a redundant file, and the amount of work they take.

use std::iter::Sum;
use std::ops::Add;
use std::sync::atomic::Ordering::Relaxed;

use runtime::Progress;
use serde::{Deserialize, Serialize};

/// The number of files that are compared side by side. With more files, each would get too small a
/// share of the processor's cache.
pub(crate) const MAX_COMPARED_AT_ONCE: usize = 31;

/// The action that a run performs on each redundant file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Removes the name.
    Delete,
    /// Makes the name a hard link to the kept file.
    Hardlink,
    /// Makes the file share the extents of the kept file. The file keeps its inode.
    Reflink,
    /// Makes the name a symbolic link to the kept file.
    Symlink,
    /// Moves the file into a quarantine directory on its file system.
    Quarantine,
    /// Turns one name of a hard-linked file into a separate file with the same content. With all
    /// other kinds, the kept file has a different inode.
    Separate,
    /// Moves an entry that a rule chose into a quarantine directory on its file system. The entry
    /// may be a file, a symbolic link or a directory tree. It is compared with nothing, and nothing
    /// is kept in its place.
    Sweep,
}

impl Kind {
    /// Returns the name of the kind on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Delete => "delete",
            Kind::Hardlink => "hardlink",
            Kind::Reflink => "reflink",
            Kind::Symlink => "symlink",
            Kind::Quarantine => "quarantine",
            Kind::Separate => "separate",
            Kind::Sweep => "sweep",
        }
    }

    /// Returns whether both files must be on one file system.
    pub fn needs_one_file_system(self) -> bool {
        matches!(self, Kind::Hardlink | Kind::Reflink | Kind::Separate)
    }

    /// Returns whether the action loses the file's metadata.
    pub(crate) fn loses_metadata(self) -> bool {
        !matches!(self, Kind::Reflink | Kind::Separate)
    }

    /// Returns whether an undo copies the kept file. The journal must then identify the content of
    /// the kept file.
    pub(crate) fn is_undone_by_copy(self) -> bool {
        matches!(self, Kind::Delete | Kind::Hardlink | Kind::Symlink)
    }

    /// Returns whether the action moves entries into quarantine, where they stay after the run.
    pub fn fills_quarantine(self) -> bool {
        matches!(self, Kind::Quarantine | Kind::Sweep)
    }

    /// Returns whether the action changes names and therefore needs a staging directory.
    pub(crate) fn changes_names(self) -> bool {
        self != Kind::Reflink
    }
}

/// A number of files, and the number of bytes to compare, copy or share for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    /// The number of files to act on.
    pub files: u64,
    /// The number of bytes.
    pub bytes: u64,
}

impl Amount {
    /// Returns the amount of work to act on `others` files of one size. Actions that compare also
    /// read the kept file, once for each set of files that are compared side by side.
    pub fn of(kind: Kind, size: u64, others: usize) -> Amount {
        let is_compared = !matches!(kind, Kind::Reflink | Kind::Separate);
        let kept = if is_compared { others.div_ceil(MAX_COMPARED_AT_ONCE) } else { 0 };
        let bytes = size.saturating_mul((others + kept) as u64);
        Amount { files: others as u64, bytes }
    }

    /// Adds the amount to the totals of `progress`.
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
