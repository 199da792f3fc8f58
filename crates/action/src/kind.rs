//! What can be done with a file that is equal to one that stays.

use serde::{Deserialize, Serialize};

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
