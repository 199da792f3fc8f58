//! Keeping writers away from a file for a moment.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::Errno;

use crate::file::File;

/// What came of the wish to keep writers away.
#[derive(Debug)]
pub enum Lease<'a> {
    /// Nobody has the file open for writing. Who wants to open it so, or truncate it, waits until this is
    /// dropped, but no longer than `/proc/sys/fs/lease-break-time` (45 s).
    Granted(Granted<'a>),
    /// Somebody has the file open for writing, or mapped so.
    Written,
    /// It cannot be told: the file is somebody else's, or the file system does not know leases.
    Unknown,
}

/// A lease that is given back when it is dropped.
#[derive(Debug)]
pub struct Granted<'a>(BorrowedFd<'a>);

/// `F_SETSIG` (asm-generic/fcntl.h).
const F_SETSIG: libc::c_int = 10;

impl File {
    /// Asks that nobody writes to the file until what is returned is dropped (`F_SETLEASE`, fcntl(2)).
    #[expect(unsafe_code, reason = "fcntl for leases has no safe wrapper")]
    pub fn keep_writers_away(&self) -> Lease<'_> {
        let fd = self.fd().as_raw_fd();
        // Who has to wait is told by a signal, by default one that ends the process. This one is
        // ignored unless somebody wants it.
        // SAFETY: both commands take an integer and touch no memory of ours.
        let answer = unsafe {
            libc::fcntl(fd, F_SETSIG, libc::SIGURG);
            libc::fcntl(fd, libc::F_SETLEASE, libc::F_RDLCK)
        };
        if answer == 0 {
            return Lease::Granted(Granted(self.fd()));
        }
        match io::Error::last_os_error().raw_os_error() {
            Some(error) if error == Errno::AGAIN.raw_os_error() => Lease::Written,
            _ => Lease::Unknown,
        }
    }
}

impl Lease<'_> {
    /// Returns whether nobody waits to write to the file, as far as the lease tells.
    ///
    /// Whoever opened the file for writing after the lease was granted waits in `open(2)`, and will write
    /// to this file whatever becomes of its name.
    pub fn holds(&self) -> bool {
        match self {
            Lease::Granted(granted) => granted.holds(),
            Lease::Written => false,
            Lease::Unknown => true,
        }
    }
}

impl Granted<'_> {
    #[expect(unsafe_code, reason = "fcntl for leases has no safe wrapper")]
    fn holds(&self) -> bool {
        // The kernel answers what the lease is about to become: `F_UNLCK` once somebody waits.
        // SAFETY: the command takes an integer and touches no memory of ours.
        let now = unsafe { libc::fcntl(self.0.as_raw_fd(), libc::F_GETLEASE, 0) };
        now == libc::F_RDLCK
    }
}

impl Drop for Granted<'_> {
    #[expect(unsafe_code, reason = "fcntl for leases has no safe wrapper")]
    fn drop(&mut self) {
        // SAFETY: the command takes an integer and touches no memory of ours.
        unsafe {
            libc::fcntl(self.0.as_raw_fd(), libc::F_SETLEASE, libc::F_UNLCK);
        }
    }
}
