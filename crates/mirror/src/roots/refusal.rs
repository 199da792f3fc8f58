//! The reasons why a run does not start, with the texts shown to users.

use std::io;
use std::path::PathBuf;

/// The reason why a run does not start. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// A directory cannot be opened.
    #[error("cannot open {}", path.display())]
    Open {
        /// The directory.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The base tree cannot be opened.
    #[error("cannot open {}, which has the files to link to", path.display())]
    Base {
        /// The base tree.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The destination cannot be created.
    #[error("cannot create {}", path.display())]
    Create {
        /// The destination.
        path: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The source is empty, so everything in the destination would be deleted.
    #[error(
        "{} is empty (is its disk mounted?), and --delete would remove everything from DST",
        path.display()
    )]
    Empty {
        /// The source.
        path: PathBuf,
    },
    /// The source contains only directories, so all files in the destination would be deleted.
    #[error(
        "{} has no files, only directories (is its disk mounted?), and --delete would remove all files from DST",
        path.display()
    )]
    OnlyDirs {
        /// The source.
        path: PathBuf,
    },
    /// The path of the destination or of the base tree leads through a symbolic link of another user.
    #[error(
        "{} is a symbolic link owned by user {owner}, who can redirect it; \
         name the directory itself",
        link.display()
    )]
    ForeignLink {
        /// The link.
        link: PathBuf,
        /// The user who owns the link.
        owner: u32,
    },
    /// The source and the destination are the same directory.
    #[error("the source and the destination are the same directory")]
    Same,
    /// The source is inside the destination, where a run may delete entries.
    #[error("the source is inside the destination")]
    SourceInside,
    /// The source is the destination or is inside it, but is visible there under a second path.
    #[error(
        "{} is the same directory as {}, or is inside it: a file system shows the same files at both paths",
        path.display(),
        destination.display()
    )]
    SourceSeenInside {
        /// The source.
        path: PathBuf,
        /// The destination.
        destination: PathBuf,
    },
    /// The source may be inside the destination under a second path, and the marker that would reveal this could
    /// not be created.
    #[error(
        "cannot tell whether {} is inside {} under another path, because no directory can be created there",
        path.display(),
        destination.display()
    )]
    Unmarked {
        /// The source.
        path: PathBuf,
        /// The destination.
        destination: PathBuf,
        /// The error.
        source: io::Error,
    },
    /// The destination is inside a quarantine directory.
    #[error("the destination is in a quarantine of lop, from which removed files can be restored")]
    Quarantine,
    /// Another process is mirroring to the same destination.
    #[error("another lop process is working on the destination")]
    Locked,
    /// Another process is mirroring to a directory above the destination.
    #[error("another lop process is working on {}, which contains the destination", .0.display())]
    LockedAbove(PathBuf),
    /// Another process is mirroring to a directory inside the destination.
    #[error("another lop process is working on a directory inside the destination")]
    LockedBelow,
}

impl Refusal {
    /// Returns true if lop refuses the run deliberately, and false if an error occurred.
    pub fn is_on_purpose(&self) -> bool {
        !matches!(self, Refusal::Open { .. } | Refusal::Base { .. } | Refusal::Create { .. })
    }
}
