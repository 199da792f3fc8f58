//! Why a path is refused.

use std::io;

/// Why a directory is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// It is the root directory.
    Root,
    /// It is the working directory, or contains it.
    WorkingDirectory,
    /// It is or contains lop's catalog or journals.
    Catalog,
    /// It is or contains the source of a mirror run.
    Source,
}

impl Why {
    fn text(self) -> &'static str {
        match self {
            Why::Root => "is the root directory",
            Why::WorkingDirectory => "is or holds the working directory",
            Why::Catalog => "is or holds lop's catalog",
            Why::Source => "is or holds what is mirrored",
        }
    }
}

/// Why a path is refused.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The path is empty.
    #[error("an empty path names nothing")]
    Empty,
    /// It ends in `.` or `..`.
    #[error("ends in . or ..; name the directory itself")]
    Dots,
    /// It is in lop's quarantine.
    #[error("is where files in quarantine are; 'lop quarantine purge' removes those")]
    Store,
    /// It is protected.
    #[error("{}", .0.text())]
    Protected(Why),
    /// It is a link to a protected directory.
    #[error("is a link to what {}", .0.text())]
    LinkToProtected(Why),
    /// It is a link followed by a slash.
    #[error("is a symbolic link; without the slash lop removes the link, not what it leads to")]
    Link,
    /// It is a mount point.
    #[error("is a mount point; unmount it, or name what is in it")]
    Mount,
    /// It is a link to a mount point.
    #[error("is a link to a mount point")]
    LinkToMount,
    /// The operands are in more directories than may be open.
    #[error("is in one directory too many; name fewer at a time, or raise the limit on open files")]
    TooMany,
    /// It could not be examined.
    #[error("cannot open: {0}")]
    Failed(#[source] io::Error),
}

impl Refusal {
    /// Returns whether this is a safety check, as opposed to a path that does not exist.
    pub fn is_for_safety(&self) -> bool {
        !matches!(self, Refusal::Failed(_))
    }
}
