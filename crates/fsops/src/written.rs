//! A file that is being made: filled with another's bytes, given the metadata that it is to have.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Gid, Mode, Uid};
use rustix::io::Errno;

use crate::change::{about_to_change, timestamps};
use crate::file::File;
use crate::stat::Stat;

/// Bytes copied by one call: a stop is heard between two.
const STEP: u64 = 16 << 20;

/// An extended attribute: its name and its value.
pub type Xattr = (Vec<u8>, Vec<u8>);

/// A file that was just made and is open for writing.
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
    /// Makes its content that of `source`, sharing extents where the file system can, and else as
    /// sparse as it is. Calls `step` before each step with how many bytes the last one copied; its error ends the copy.
    ///
    /// # Errors
    ///
    /// What failed; the file then has part of the content.
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

    /// Gives it the owner and group of `like`.
    ///
    /// # Errors
    ///
    /// `EPERM` for who is not root and wants another owner than themselves.
    pub fn set_owner(&self, like: &Stat) -> io::Result<()> {
        about_to_change()?;
        let now = self.stat()?;
        if (now.uid, now.gid) == (like.uid, like.gid) {
            return Ok(());
        }
        let (uid, gid) = (Uid::from_raw(like.uid), Gid::from_raw(like.gid));
        Ok(rustix::fs::fchown(&self.fd, Some(uid), Some(gid))?)
    }

    /// Gives it mode, extended attributes and times; to be done after [`NewFile::set_owner`], which drops
    /// some modes and attributes.
    ///
    /// # Errors
    ///
    /// The first that could not be set. Attributes that a file system does not know are an error too:
    /// a file that lacks them is not what it is to be.
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

    /// Waits until its bytes and metadata are on the disk.
    pub fn sync(&self) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::fsync(&self.fd)?)
    }

    /// Returns the file open for reading.
    pub fn reader(&self) -> io::Result<File> {
        Ok(File::from_fd(self.fd.try_clone()?))
    }

    /// Returns its metadata.
    pub fn stat(&self) -> io::Result<Stat> {
        Stat::of(&self.fd, c"", AtFlags::EMPTY_PATH)
    }
}
