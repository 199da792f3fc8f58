//! The error type of this crate. It includes the operation, the path and the system's error.

use std::io;
use std::path::PathBuf;

/// The operation that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Op {
    /// Opening a file or directory.
    Open,
    /// Reading a file's bytes.
    Read,
    /// Listing a directory.
    List,
    /// Reading metadata.
    Stat,
    /// Creating a file or directory.
    Create,
    /// Renaming a file to its final name.
    Rename,
    /// Waiting for a lock that another process holds.
    Lock,
    /// Removing a name.
    Remove,
    /// Creating a hard link or a symbolic link.
    Link,
    /// Writing bytes.
    Write,
    /// Syncing bytes to the disk.
    Sync,
    /// Setting metadata.
    Change,
    /// Setting the owner or group.
    SetOwner,
    /// Setting permissions.
    SetMode,
    /// Setting extended attributes, including ACLs.
    SetAttributes,
    /// Setting times.
    SetTimes,
    /// Sharing extents between files.
    Share,
    /// Comparing two files.
    Compare,
}

impl Op {
    /// Returns the verb for the operation in an error message, such as *open* in "cannot *open* …".
    pub fn verb(self) -> &'static str {
        match self {
            Op::Open => "open",
            Op::Read => "read",
            Op::List => "list",
            Op::Stat => "stat",
            Op::Create => "create",
            Op::Rename => "rename",
            Op::Lock => "lock",
            Op::Remove => "remove",
            Op::Link => "link",
            Op::Write => "write",
            Op::Sync => "sync",
            Op::Change => "change",
            Op::SetOwner => "set the owner of",
            Op::SetMode => "set the permissions of",
            Op::SetAttributes => "set the attributes of",
            Op::SetTimes => "set the times of",
            Op::Share => "share the extents of",
            Op::Compare => "compare",
        }
    }
}

/// A failed operation on a path.
///
/// The path is the one that the caller passed. The original [`io::Error`] is kept because callers
/// need its errno.
#[derive(Debug, thiserror::Error)]
#[error("cannot {} {}", op.verb(), path.display())]
pub struct Error {
    /// The operation.
    pub op: Op,
    /// The path.
    pub path: PathBuf,
    /// The system's error.
    #[source]
    pub source: io::Error,
}

/// Adds an operation and a path to an [`io::Result`].
pub trait Context<T> {
    /// If `self` is an error, adds `op` and the path that `path` returns. Otherwise `path` is not
    /// called.
    ///
    /// # Errors
    ///
    /// Fails if `self` is an error.
    fn context<P: Into<PathBuf>>(self, op: Op, path: impl FnOnce() -> P) -> Result<T, Error>;
}

impl<T> Context<T> for io::Result<T> {
    fn context<P: Into<PathBuf>>(self, op: Op, path: impl FnOnce() -> P) -> Result<T, Error> {
        self.map_err(|source| Error { op, path: path().into(), source })
    }
}
/// Returns the system message without its number, such as "Permission denied" for "Permission denied
/// (os error 13)".
pub fn io_text(error: &io::Error) -> String {
    let text = error.to_string();
    match error.raw_os_error() {
        Some(number) => text.replace(&format!(" (os error {number})"), ""),
        None => text,
    }
}

/// Returns true if an error means that a path does not exist: a name is missing, or a component is
/// not a directory or is a link that is not followed (`ELOOP`).
pub fn is_gone(error: &io::Error) -> bool {
    let link = rustix::io::Errno::LOOP.raw_os_error();
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        || error.raw_os_error() == Some(link)
}
