//! A file that lines are appended to, on the disk when that is asked for.

use std::ffi::CStr;
use std::io;
use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;

use crate::change::about_to_change;

/// Appends to a file of the program's own, and syncs it.
#[derive(Debug)]
pub struct Log {
    fd: OwnedFd,
}

impl Log {
    /// Opens the file `name` in a directory, made if missing (mode 0600), for appending.
    pub fn open(dir: &crate::Dir, name: &CStr) -> io::Result<Log> {
        about_to_change()?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::APPEND | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        Ok(Log { fd: rustix::fs::openat(dir, name, flags | OFlags::NOFOLLOW, mode)? })
    }

    /// Appends all of `bytes`.
    ///
    /// # Errors
    ///
    /// Part of them may have been written.
    pub fn append(&self, mut bytes: &[u8]) -> io::Result<()> {
        about_to_change()?;
        while !bytes.is_empty() {
            match rustix::io::write(&self.fd, bytes) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => bytes = &bytes[n..],
                Err(Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
        Ok(())
    }

    /// Waits until what was appended is on the disk.
    pub fn sync(&self) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::fdatasync(&self.fd)?)
    }
}
