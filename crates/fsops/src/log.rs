//! An append-only file of lines that can be synced.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::change::about_to_change;

/// One of lop's own files, open for appending.
#[derive(Debug)]
pub struct Log {
    fd: OwnedFd,
}

impl Log {
    /// Creates the file `name` in a directory (mode 0600) and opens it for appending.
    ///
    /// # Errors
    ///
    /// Returns `EEXIST` if the name exists. If the file system lets other users write to the file,
    /// as FAT and NTFS may, removes the file and returns `PermissionDenied` with the reason.
    pub fn create(dir: &crate::Dir, name: &CStr) -> io::Result<Log> {
        about_to_change()?;
        let log = Log::open_with(dir, name, OFlags::CREATE | OFlags::EXCL)?;
        check_private(&log.fd).inspect_err(|_| {
            // If removing the empty file fails, the original error must still be reported.
            let _removed = rustix::fs::unlinkat(dir, name, AtFlags::empty());
        })?;
        Ok(log)
    }

    /// Opens the file `name` in a directory for appending.
    ///
    /// # Errors
    ///
    /// Same as for [`Log::reader`].
    pub fn open(dir: &crate::Dir, name: &CStr) -> io::Result<Log> {
        let log = Log::open_with(dir, name, OFlags::empty())?;
        check_private(&log.fd)?;
        Ok(log)
    }

    /// Opens the file at `path` for reading. Does not block on a FIFO.
    ///
    /// # Errors
    ///
    /// Returns `ELOOP` for a symbolic link and `InvalidInput` for any other non-regular file.
    /// Returns `PermissionDenied` with the reason if another user owns the file or may write to it,
    /// because that user could have changed the content.
    pub fn reader(path: &Path) -> io::Result<std::fs::File> {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = std::fs::File::from(rustix::fs::open(path, flags, Mode::empty())?);
        if !file.metadata()?.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        check_private(&file)?;
        Ok(file)
    }

    fn open_with(dir: &crate::Dir, name: &CStr, how: OFlags) -> io::Result<Log> {
        let flags = OFlags::WRONLY | OFlags::APPEND | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        Ok(Log { fd: rustix::fs::openat(dir, name, flags | how, Mode::RUSR | Mode::WUSR)? })
    }

    /// Appends all of `bytes`.
    ///
    /// # Errors
    ///
    /// Returns the error of `write(2)`. Some of the bytes may have been written.
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

    /// Writes all appended bytes to the disk and waits for completion.
    ///
    /// # Errors
    ///
    /// Returns the error of `fdatasync(2)`.
    pub fn sync(&self) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::fdatasync(&self.fd)?)
    }
}

/// Checks that nobody except this user and root can have written to a file or directory.
///
/// # Errors
///
/// Returns `PermissionDenied` with the reason.
pub fn check_private(fd: impl AsFd) -> io::Result<()> {
    let stat = rustix::fs::fstat(fd)?;
    let user = rustix::process::geteuid().as_raw();
    let denied = |why: String| Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    if stat.st_uid != user {
        return denied(format!("it belongs to user {}, and lop runs as user {user}", stat.st_uid));
    }
    let mode = stat.st_mode & 0o7777;
    if mode & 0o022 != 0 {
        return denied(format!("other users may write to it (mode {mode:04o})"));
    }
    Ok(())
}
