//! The hook that every change passes through, and pieces that changes share.

use std::io;

use rustix::fs::{Timespec, Timestamps};
use rustix::io::Errno;

use crate::stat::Time;

/// Counts a change. Tests can make it fail, or kill the process before it.
#[cfg_attr(
    not(feature = "faults"),
    expect(clippy::unnecessary_wraps, reason = "tests have it fail")
)]
pub(crate) fn about_to_change() -> io::Result<()> {
    #[cfg(feature = "faults")]
    crate::faults::change()?;
    Ok(())
}

/// Returns whether an error means that the file system lacks a rename that refuses to replace.
pub(crate) fn is_unknown(error: Errno) -> bool {
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}

/// Converts an access and a modification time for `utimensat(2)`.
pub(crate) fn timestamps(atime: Time, mtime: Time) -> Timestamps {
    let time = |time: Time| Timespec { tv_sec: time.s, tv_nsec: time.ns.into() };
    Timestamps { last_access: time(atime), last_modification: time(mtime) }
}
