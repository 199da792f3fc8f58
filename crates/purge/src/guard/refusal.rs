//! Reasons to refuse a path.

use std::io;

/// Reason why a directory is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// The directory is the root directory.
    Root,
    /// The directory is or contains the working directory.
    WorkingDirectory,
    /// The directory is or contains lop's catalog or its journals.
    Catalog,
    /// The directory is or contains the source of a mirror run.
    Source,
}

impl Why {
    fn text(self) -> &'static str {
        match self {
            Why::Root => "is the root directory",
            Why::WorkingDirectory => "is or holds the working directory",
            Why::Catalog => "is or holds lop's catalog",
            Why::Source => "is or holds the source of the mirror",
        }
    }
}

/// Reason why a path is refused.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// The path is empty.
    #[error("the path is empty")]
    Empty,
    /// The path ends in `.` or `..`.
    #[error("ends in . or ..; name the directory itself")]
    Dots,
    /// The path is in lop's quarantine.
    #[error("is part of lop's quarantine; remove it with 'lop quarantine purge'")]
    Store,
    /// The path is protected.
    #[error("{}", .0.text())]
    Protected(Why),
    /// The path is a link to a protected directory.
    #[error("is a link to a directory that {}", .0.text())]
    LinkToProtected(Why),
    /// The path is a link and ends in a slash.
    #[error("is a symbolic link; omit the slash to remove the link itself")]
    Link,
    /// The path is a mount point.
    #[error("is a mount point; unmount it, or name the entries in it")]
    Mount,
    /// The path is a link to a mount point.
    #[error("is a link to a mount point")]
    LinkToMount,
    /// The operands are in more directories than the process can open.
    #[error("is in one directory too many; name fewer at a time, or raise the limit on open files")]
    TooMany,
    /// The path could not be examined.
    #[error("cannot open: {0}")]
    Failed(#[source] io::Error),
}

impl Refusal {
    /// Returns true if the path was refused for safety reasons, false if it could not be examined.
    pub fn is_for_safety(&self) -> bool {
        !matches!(self, Refusal::Failed(_))
    }
}
