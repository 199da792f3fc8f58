//! Why a mirror run does not start.

use std::io;
use std::path::PathBuf;

/// Why nothing is mirrored.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// One of them cannot be opened.
    #[error("cannot open {}", path.display())]
    Open {
        /// Which.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
    /// The tree whose files may be linked to cannot be opened.
    #[error("cannot open {}, for files to link to", path.display())]
    Base {
        /// Which.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
    /// The destination cannot be made.
    #[error("cannot create {}", path.display())]
    Create {
        /// Its path.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
    /// There is nothing in the source, so all of the destination would be removed.
    #[error(
        "{} is empty (is its disk mounted?), and --delete would remove everything from DST",
        path.display()
    )]
    Empty {
        /// The source.
        path: PathBuf,
    },
    /// The source has only directories, so all files in the destination would be removed.
    #[error(
        "{} has no files, only directories (is its disk mounted?), and --delete would remove all files from DST",
        path.display()
    )]
    OnlyDirs {
        /// The source.
        path: PathBuf,
    },
    /// On the way to the destination, or to the tree whose files may be linked to, is a link of somebody else.
    #[error(
        "{} is a symbolic link of user {owner}, who can have it lead anywhere; \
         name the directory itself",
        link.display()
    )]
    ForeignLink {
        /// The link.
        link: PathBuf,
        /// The number of its owner.
        owner: u32,
    },
    /// They are one directory.
    #[error("the source and the destination are one directory")]
    Same,
    /// The source is in the destination, of which things may be removed.
    #[error("the source is inside the destination")]
    SourceInside,
    /// The source is the destination, or inside it, under a second path.
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
    /// The source may be inside the destination under a second path, and the test for that failed.
    #[error(
        "cannot tell whether {} is inside {} by another path, as no directory can be created there",
        path.display(),
        destination.display()
    )]
    Unmarked {
        /// The source.
        path: PathBuf,
        /// The destination.
        destination: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
    /// The destination is where lop keeps files that can be brought back.
    #[error("the destination is where lop keeps files that can be brought back")]
    Quarantine,
    /// Another process mirrors to the same destination.
    #[error("another lop is at work on the destination")]
    Locked,
    /// Another process mirrors to a directory that the destination is in.
    #[error("another lop is at work on {}, which the destination is in", .0.display())]
    LockedAbove(PathBuf),
    /// Another process mirrors to a directory that is in the destination.
    #[error("another lop is at work on a directory in the destination")]
    LockedBelow,
}

impl Refusal {
    /// Returns whether it could be done, but will not be.
    pub fn is_on_purpose(&self) -> bool {
        !matches!(self, Refusal::Open { .. } | Refusal::Base { .. } | Refusal::Create { .. })
    }
}
