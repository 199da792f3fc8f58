//! Leases, which keep writers away from a file for a moment.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::Errno;

use super::File;

/// The result of asking for a lease.
#[derive(Debug)]
pub enum Lease<'a> {
    /// No process has the file open for writing. A process that opens it for writing or truncates
    /// it blocks until this value is dropped, or for at most `/proc/sys/fs/lease-break-time` (45
    /// s).
    LeaseGuard(LeaseGuard<'a>),
    /// A process has the file open for writing, or has a writable mapping of it.
    Written,
    /// Unknown: another user owns the file, or the file system has no leases.
    Unknown,
}

/// A lease, released on drop.
#[derive(Debug)]
pub struct LeaseGuard<'a>(BorrowedFd<'a>);

/// `F_SETSIG` (asm-generic/fcntl.h).
const F_SETSIG: libc::c_int = 10;

impl File {
    /// Takes a lease on the file (`F_SETLEASE`, fcntl(2)).
    #[expect(unsafe_code, reason = "fcntl for leases has no safe wrapper")]
    pub fn take_lease(&self) -> Lease<'_> {
        let fd = self.fd().as_raw_fd();
        // The kernel signals a process that has to wait; the default signal would end this process.
        // The one chosen here is ignored by default. SAFETY: both commands take an integer and
        // access no memory of this process.
        let answer = unsafe {
            libc::fcntl(fd, F_SETSIG, libc::SIGURG);
            libc::fcntl(fd, libc::F_SETLEASE, libc::F_RDLCK)
        };
        if answer == 0 {
            return Lease::LeaseGuard(LeaseGuard(self.fd()));
        }
        match io::Error::last_os_error().raw_os_error() {
            Some(error) if error == Errno::AGAIN.raw_os_error() => Lease::Written,
            _ => Lease::Unknown,
        }
    }
}

impl Lease<'_> {
    /// Returns whether no process is waiting to write to the file, as far as the lease tells.
    ///
    /// A process that opened the file for writing after the lease was granted blocks in `open(2)`,
    /// and will write to this file whatever happens to its name.
    pub fn holds(&self) -> bool {
        match self {
            Lease::LeaseGuard(granted) => granted.holds(),
            Lease::Written => false,
            Lease::Unknown => true,
        }
    }
}

impl LeaseGuard<'_> {
    #[expect(unsafe_code, reason = "fcntl for leases has no safe wrapper")]
    fn holds(&self) -> bool {
        // The kernel answers what the lease is about to become: `F_UNLCK` once a process waits.
        // SAFETY: the command takes an integer and accesses no memory of this process.
        let now = unsafe { libc::fcntl(self.0.as_raw_fd(), libc::F_GETLEASE, 0) };
        now == libc::F_RDLCK
    }
}

impl Drop for LeaseGuard<'_> {
    #[expect(unsafe_code, reason = "fcntl for leases has no safe wrapper")]
    fn drop(&mut self) {
        // SAFETY: the command takes an integer and accesses no memory of this process.
        unsafe {
            libc::fcntl(self.0.as_raw_fd(), libc::F_SETLEASE, libc::F_UNLCK);
        }
    }
}
