//! A hook that every change to a file system passes through, and helpers for such changes.

use std::io;

use rustix::fs::{Timespec, Timestamps};
use rustix::io::Errno;

use crate::stat::Time;

/// Called before every change to a file system. Tests can make the change fail, or kill the process
/// before it.
#[cfg_attr(
    not(feature = "faults"),
    expect(clippy::unnecessary_wraps, reason = "tests have it fail")
)]
pub(crate) fn about_to_change() -> io::Result<()> {
    #[cfg(feature = "faults")]
    crate::faults::change()?;
    Ok(())
}

/// Returns true if an error means that the file system does not support `RENAME_NOREPLACE`.
pub(crate) fn is_unknown(error: Errno) -> bool {
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}

/// Converts an access and a modification time for `utimensat(2)`.
pub(crate) fn timestamps(atime: Time, mtime: Time) -> Timestamps {
    let time = |time: Time| Timespec { tv_sec: time.s, tv_nsec: time.ns.into() };
    Timestamps { last_access: time(atime), last_modification: time(mtime) }
}
