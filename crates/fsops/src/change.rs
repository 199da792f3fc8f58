//! A hook that is called before every change to a file system, and helper functions for these
//! changes.

use std::io;

use rustix::fs::{Timespec, Timestamps};
use rustix::io::Errno;

use crate::stat::Time;

/// Called before every change to a file system. Tests use it to make the change fail, or to kill
/// the process before the change.
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

/// Converts an access time and a modification time to the form that `utimensat(2)` expects.
pub(crate) fn timestamps(atime: Time, mtime: Time) -> Timestamps {
    let time = |time: Time| Timespec { tv_sec: time.s, tv_nsec: time.ns.into() };
    Timestamps { last_access: time(atime), last_modification: time(mtime) }
}
