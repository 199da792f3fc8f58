//! New files: filled with the bytes of another file and given their metadata.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Gid, Mode, Uid};
use rustix::io::Errno;

use crate::change::{about_to_change, timestamps};
use crate::file::File;
use crate::stat::Stat;

/// Bytes copied per system call. A request to stop takes effect between two calls.
const STEP: u64 = 16 << 20;

/// Name and value of an extended attribute.
pub type Xattr = (Vec<u8>, Vec<u8>);

/// A newly created file, open for writing.
#[derive(Debug)]
pub struct NewFile {
    fd: OwnedFd,
}

impl From<OwnedFd> for NewFile {
    fn from(fd: OwnedFd) -> NewFile {
        NewFile { fd }
    }
}

impl AsFd for NewFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl NewFile {
    /// Copies the content of `source`: by sharing extents where the file system can, otherwise with
    /// the same holes. Calls `step` before each step with the bytes copied by the last one; its
    /// error ends the copy.
    ///
    /// # Errors
    ///
    /// The error of the failed call or of `step`. The file has part of the content then.
    pub fn copy_from(
        &self,
        source: &File,
        size: u64,
        mut step: impl FnMut(u64) -> io::Result<()>,
    ) -> io::Result<()> {
        about_to_change()?;
        if rustix::fs::ioctl_ficlone(&self.fd, source.fd()).is_ok() {
            return Ok(());
        }
        rustix::fs::ftruncate(&self.fd, size)?;
        let (mut at, mut copied) = (0, 0);
        while let Some(data) = source.next_data(at)? {
            let end = source.next_hole(data)?.min(size);
            at = data;
            while at < end {
                step(copied)?;
                about_to_change()?;
                copied = self.copy_step(source, at, (end - at).min(STEP))?;
                at += copied;
            }
            if at >= size {
                break;
            }
        }
        Ok(())
    }

    fn copy_step(&self, source: &File, at: u64, length: u64) -> io::Result<u64> {
        let (mut from, mut to) = (at, at);
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        match rustix::fs::copy_file_range(
            source.fd(),
            Some(&mut from),
            &self.fd,
            Some(&mut to),
            length,
        ) {
            Ok(0) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(copied) => Ok(copied as u64),
            // Not between these two file systems, or not on this one.
            Err(Errno::XDEV | Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS | Errno::PERM) => {
                self.copy_through_memory(source, at, length)
            }
            Err(Errno::INTR) => Ok(0),
            Err(e) => Err(e.into()),
        }
    }

    fn copy_through_memory(&self, source: &File, at: u64, length: usize) -> io::Result<u64> {
        let mut buffer = vec![0; length.min(1 << 20)];
        let read = source.read_at(&mut buffer, at)?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut written = 0;
        while written < read {
            match rustix::io::pwrite(&self.fd, &buffer[written..read], at + written as u64) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => written += n,
                Err(Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
        Ok(read as u64)
    }

    /// Sets the owner and group of `like`.
    ///
    /// # Errors
    ///
    /// `EPERM` for another owner without root rights. Nothing has changed then.
    pub fn set_owner(&self, like: &Stat) -> io::Result<()> {
        about_to_change()?;
        let now = self.stat()?;
        if (now.uid, now.gid) == (like.uid, like.gid) {
            return Ok(());
        }
        let (uid, gid) = (Uid::from_raw(like.uid), Gid::from_raw(like.gid));
        Ok(rustix::fs::fchown(&self.fd, Some(uid), Some(gid))?)
    }

    /// Sets mode, extended attributes and times. Call it after [`NewFile::set_owner`], which clears
    /// some modes and attributes.
    ///
    /// # Errors
    ///
    /// The first of them that could not be set; later ones have not been tried. An attribute that
    /// the file system does not support is an error too, as a file without it is no equal copy.
    pub fn set_metadata(&self, like: &Stat, xattrs: &[Xattr]) -> io::Result<()> {
        about_to_change()?;
        rustix::fs::fchmod(&self.fd, Mode::from_raw_mode(like.mode & 0o7777))?;
        self.set_xattrs(xattrs)?;
        Ok(rustix::fs::futimens(&self.fd, &timestamps(like.atime, like.mtime))?)
    }

    fn set_xattrs(&self, wanted: &[Xattr]) -> io::Result<()> {
        let now = crate::xattr::all(self.fd.as_fd())?;
        crate::xattr::set_on(self.fd.as_fd(), &now, wanted)
    }

    /// Waits until the file's bytes and metadata are on the disk.
    ///
    /// # Errors
    ///
    /// The error of `fsync(2)`.
    pub fn sync(&self) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::fsync(&self.fd)?)
    }

    /// Returns the file, open for reading.
    ///
    /// # Errors
    ///
    /// The error of `openat(2)`.
    pub fn reader(&self) -> io::Result<File> {
        Ok(File::from_fd(self.fd.try_clone()?))
    }

    /// Returns the file's metadata.
    ///
    /// # Errors
    ///
    /// The error of `statx(2)`.
    pub fn stat(&self) -> io::Result<Stat> {
        Stat::of(&self.fd, c"", AtFlags::EMPTY_PATH)
    }
}
