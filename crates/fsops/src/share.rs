//! Files made to share their extents, the kernel comparing them first.

use std::io;
use std::os::fd::AsRawFd;

use crate::change::about_to_change;
use crate::file::File;

/// Bytes that one request asks for: btrfs and XFS take no more at once, and silently do part of a
/// larger one (`ioctl_fideduperange(2)`).
const STEP: u64 = 16 << 20;

/// What came of an attempt to share extents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shared {
    /// The files share all their extents.
    Whole,
    /// They differ; what was alike before that may be shared now.
    Differs,
}

impl File {
    /// Makes the first `size` bytes of this file share the extents of `source`, as far as they are
    /// equal. Calls `step` before each step with how many bytes the last one shared, 16 MiB at most; its error ends the
    /// work.
    ///
    /// The kernel compares the bytes while it keeps writers out. Neither content changes, whatever
    /// happens.
    ///
    /// # Errors
    ///
    /// `EOPNOTSUPP` or `EINVAL` where it cannot be done, `EXDEV` between file systems, `EPERM` for a file
    /// of somebody else that the process may not write. Some extents may be shared by then.
    pub fn share_extents_of(
        &self,
        source: &File,
        size: u64,
        mut step: impl FnMut(u64) -> io::Result<()>,
    ) -> io::Result<Shared> {
        let (mut at, mut done) = (0, 0);
        while at < size {
            step(done)?;
            about_to_change()?;
            done = match share(source, self, at, (size - at).min(STEP))? {
                Some(0) => return Err(rustix::io::Errno::INVAL.into()),
                Some(done) => done,
                None => return Ok(Shared::Differs),
            };
            at += done;
        }
        Ok(Shared::Whole)
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

/// Asks once; returns how many bytes are shared now, or `None` if they differ.
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
    // SAFETY: the structure is laid out as in linux/fs.h with room for the one destination that it
    // counts, and both descriptors are open.
    let answer = unsafe { libc::ioctl(source.fd().as_raw_fd(), FIDEDUPERANGE, &raw mut request) };
    match (answer, request.status) {
        (0, 0) => Ok(Some(request.bytes_deduped)),
        (0, DIFFERS) => Ok(None),
        (0, status) => Err(io::Error::from_raw_os_error(-status)),
        _ => Err(io::Error::last_os_error()),
    }
}
