//! Shares extents between files. The kernel compares the bytes first.

use std::io;
use std::os::fd::AsRawFd;

use super::File;
use crate::change::about_to_change;

/// Number of bytes per request. If a request is larger, btrfs and XFS silently process only this
/// many bytes (`ioctl_fideduperange(2)`).
const STEP: u64 = 16 << 20;

/// The result of an attempt to share extents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShareOutcome {
    /// The files share all their extents.
    Whole,
    /// The files differ. They may share extents that precede the first difference.
    Differs,
}

impl File {
    /// Shares extents of `source` with this file, up to the first difference or offset `size`.
    /// Before each request, calls `step` with the number of bytes that the previous request shared,
    /// which is at most 16 MiB. If `step` fails, no further request is made.
    ///
    /// The kernel keeps other processes from writing to the files while it compares them. The
    /// contents of the files do not change.
    ///
    /// # Errors
    ///
    /// Returns `EOPNOTSUPP` or `EINVAL` if the files cannot share extents, `EXDEV` if they are on
    /// different file systems, and `EPERM` if this file belongs to another user and the process may
    /// not write to it. Some extents may already have been shared.
    pub fn share_extents_of(
        &self,
        source: &File,
        size: u64,
        mut step: impl FnMut(u64) -> io::Result<()>,
    ) -> io::Result<ShareOutcome> {
        let (mut at, mut done) = (0, 0);
        while at < size {
            step(done)?;
            about_to_change()?;
            done = match share(source, self, at, (size - at).min(STEP))? {
                Some(0) => return Err(rustix::io::Errno::INVAL.into()),
                Some(done) => done,
                None => return Ok(ShareOutcome::Differs),
            };
            at += done;
        }
        Ok(ShareOutcome::Whole)
    }
}

/// `struct file_dedupe_range` with one destination (linux/fs.h).
#[repr(C)]
#[derive(Default)]
struct Request {
    src_offset: u64,
    src_length: u64,
    dest_count: u16,
    reserved1: u16,
    reserved2: u32,
    dest_fd: i64,
    dest_offset: u64,
    bytes_deduped: u64,
    status: i32,
    reserved: u32,
}

/// `FIDEDUPERANGE`, `_IOWR(0x94, 54, struct file_dedupe_range)`.
const FIDEDUPERANGE: libc::Ioctl = libc::_IOWR::<[u8; 24]>(0x94, 54);
/// `FILE_DEDUPE_RANGE_DIFFERS`.
const DIFFERS: i32 = 1;

/// Makes one request. Returns the number of shared bytes, or `None` if the ranges differ.
#[expect(unsafe_code, reason = "the ioctl has no safe wrapper")]
fn share(source: &File, file: &File, at: u64, length: u64) -> io::Result<Option<u64>> {
    let mut request = Request {
        src_offset: at,
        src_length: length,
        dest_count: 1,
        dest_fd: i64::from(file.fd().as_raw_fd()),
        dest_offset: at,
        ..Request::default()
    };
    // SAFETY: the struct has the layout defined in linux/fs.h, with room for the single destination
    // that `dest_count` declares. Both descriptors are open.
    let answer = unsafe { libc::ioctl(source.fd().as_raw_fd(), FIDEDUPERANGE, &raw mut request) };
    match (answer, request.status) {
        (0, 0) => Ok(Some(request.bytes_deduped)),
        (0, DIFFERS) => Ok(None),
        (0, status) => Err(io::Error::from_raw_os_error(-status)),
        _ => Err(io::Error::last_os_error()),
    }
}
