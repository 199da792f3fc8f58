//! Leases, which make other processes wait before they can write to a file.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use rustix::io::Errno;

use super::File;

/// Result of a request for a lease.
#[derive(Debug)]
pub enum Lease<'a> {
    /// No process has the file open for writing. If a process tries to open the file for writing or
    /// to truncate it, the kernel makes that process wait until this value is dropped. The wait is
    /// limited to the time in `/proc/sys/fs/lease-break-time` (45 s by default).
    LeaseGuard(LeaseGuard<'a>),
    /// No lease was granted because a process has opened the file for writing or has a writable
    /// mapping of it.
    Written,
    /// No lease was granted because another user owns the file or the file system does not support
    /// leases. Other processes may be writing to the file.
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
        // The kernel sends this process a signal when another process has to wait for the lease.
        // The signal used by default would terminate this process, so SIGURG is used, which is
        // ignored by default. SAFETY: both commands take an integer and access no memory of this
        // process.
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
    /// Returns false if a process is known to have the file open for writing, or to be waiting to
    /// open it for writing.
    ///
    /// A process that opens the file for writing after the lease was granted blocks in `open(2)`.
    /// Once unblocked, it writes to this file, even if the file's name has been replaced in the
    /// meantime.
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
        // The kernel returns the state that the lease will change to, which is `F_UNLCK` as soon as
        // a writer waits. SAFETY: the command takes an integer and accesses no memory of this
        // process.
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
