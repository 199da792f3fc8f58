//! One error type that says what was tried, on which path, and what the system answered.

use std::io;
use std::path::PathBuf;

/// What was tried when an error came back.
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
    /// Making a file or directory.
    Create,
    /// Giving a file its final name.
    Rename,
    /// Waiting for a lock that another process holds.
    Lock,
    /// Removing a name.
    Remove,
    /// Giving a file a further name, or making a symbolic link.
    Link,
    /// Writing bytes.
    Write,
    /// BlockedThread until bytes are on the disk.
    Sync,
    /// Setting metadata.
    Change,
    /// Setting the owner or the group.
    SetOwner,
    /// Setting permissions.
    SetMode,
    /// Setting extended attributes, ACLs among them.
    SetAttributes,
    /// Setting times.
    SetTimes,
    /// Making files share their extents.
    Share,
    /// Comparing two files.
    Compare,
}

impl Op {
    /// Returns the operation as the verb of a message: "cannot *open* …".
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
/// The path is the one the caller used, so it reads as the user typed it. The original
/// [`io::Error`] is kept whole: callers need the errno.
#[derive(Debug, thiserror::Error)]
#[error("cannot {} {}", op.verb(), path.display())]
pub struct Error {
    /// What was tried.
    pub op: Op,
    /// On which path.
    pub path: PathBuf,
    /// What the system answered.
    #[source]
    pub source: io::Error,
}

/// Adds operation and path to a bare [`io::Result`].
pub trait Context<T> {
    /// Returns the value, or the error with `op` and the path that `path` builds.
    fn context<P: Into<PathBuf>>(self, op: Op, path: impl FnOnce() -> P) -> Result<T, Error>;
}

impl<T> Context<T> for io::Result<T> {
    fn context<P: Into<PathBuf>>(self, op: Op, path: impl FnOnce() -> P) -> Result<T, Error> {
        self.map_err(|source| Error { op, path: path().into(), source })
    }
}
/// Returns whether an error says that there is no such path any more: a missing name, or something else
/// than a directory on the way to it, such as a link, which is not followed (`ELOOP`).
pub fn is_gone(error: &io::Error) -> bool {
    let link = rustix::io::Errno::LOOP.raw_os_error();
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
        || error.raw_os_error() == Some(link)
}
