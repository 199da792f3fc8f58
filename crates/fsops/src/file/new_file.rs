//! New files, and methods that copy the content and metadata of other files into them.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Gid, Mode, Uid};
use rustix::io::Errno;

use super::File;
use super::read_buffer::ReadBuffer;
use super::xattr::{self, Xattr};
use crate::change::{about_to_change, timestamps};
use crate::stat::{Stat, Time};

/// Number of bytes copied per system call. A request to stop takes effect after the current call.
const STEP_BYTES: u64 = 16 << 20;

/// Size of the buffer for copies that cannot be made inside the kernel.
const BUFFER_BYTES: usize = 1 << 20;

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
    /// Copies the content of `source`. If the two files can share extents, no bytes are copied.
    /// Otherwise the bytes are copied and holes are preserved. Calls `step` before each part of the
    /// copy with the number of bytes copied in the previous part. If `step` fails, the copy ends.
    ///
    /// # Errors
    ///
    /// Returns the error of the failed system call or of `step`. The copy is then incomplete.
    pub fn copy_from(
        &self,
        source: &File,
        size: u64,
        mut step: impl FnMut(u64) -> io::Result<()>,
    ) -> io::Result<()> {
        // If sharing the extents fails for any reason, the bytes can still be copied.
        if self.clone_from(source).unwrap_or(false) {
            return Ok(());
        }
        self.set_size(size)?;
        let (mut at, mut copied) = (0, 0);
        while let Some(data) = source.next_data(at)? {
            let end = source.next_hole(data)?.min(size);
            at = data;
            while at < end {
                step(copied)?;
                copied = self.copy_step(source, at, (end - at).min(STEP_BYTES))?;
                at += copied;
            }
            if at >= size {
                break;
            }
        }
        Ok(())
    }

    fn copy_step(&self, source: &File, at: u64, length: u64) -> io::Result<u64> {
        let copied = match self.copy_range(source, at, length)? {
            Some(copied) => copied,
            None => self.copy_through_memory(source, at, length)?,
        };
        if copied == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(copied) }
    }

    fn copy_through_memory(&self, source: &File, at: u64, length: u64) -> io::Result<u64> {
        let length = usize::try_from(length).unwrap_or(BUFFER_BYTES).min(BUFFER_BYTES);
        let mut buffer = ReadBuffer::default();
        let buffer = buffer.bytes(length);
        let read = source.read_at(buffer, at)?;
        self.write_at(&buffer[..read], at)?;
        Ok(read as u64)
    }

    /// Sets the owner and group of this file to those of `like`.
    ///
    /// # Errors
    ///
    /// Returns `EPERM` if the process may not change the owner. On error, nothing is changed.
    pub fn copy_owner(&self, like: &Stat) -> io::Result<()> {
        let now = self.stat()?;
        if (now.uid, now.gid) == (like.uid, like.gid) {
            return Ok(());
        }
        self.set_owner(Some(like.uid), like.gid)
    }

    /// Sets the mode and times to those of `like`, and the extended attributes to `xattrs`. Call
    /// this after [`NewFile::copy_owner`], because changing the owner clears some mode bits and
    /// attributes.
    ///
    /// # Errors
    ///
    /// Returns the error of the first step that failed. Later steps have not been attempted. An
    /// attribute that the file system does not support is also an error, because the copy would be
    /// incomplete without it.
    pub fn copy_metadata(&self, like: &Stat, xattrs: &[Xattr]) -> io::Result<()> {
        self.set_mode(like.mode)?;
        self.set_xattrs(&self.xattrs()?, xattrs)?;
        self.set_times(like.atime, like.mtime)
    }

    /// Sets the owner and group. For a new file, this is needed only if they differ from the
    /// defaults.
    ///
    /// # Errors
    ///
    /// Returns the error of `fchown(2)`, such as `EPERM`. On error, nothing is changed.
    pub fn set_owner(&self, owner: Option<u32>, group: u32) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::fchown(self.as_fd(), owner.map(Uid::from_raw), Some(Gid::from_raw(group)))?)
    }

    /// Sets the permissions.
    ///
    /// # Errors
    ///
    /// Returns the error of `fchmod(2)`. On error, nothing is changed.
    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::fchmod(self.as_fd(), Mode::from_raw_mode(mode & 0o7777))?)
    }

    /// Sets the extended attributes to `wanted` and removes all others, except those of security
    /// modules. `now` lists the current attributes.
    ///
    /// # Errors
    ///
    /// Same as for [`crate::Dir::set_child_xattrs`].
    pub fn set_xattrs(&self, now: &[Xattr], wanted: &[Xattr]) -> io::Result<()> {
        about_to_change()?;
        xattr::set_on(self.as_fd(), now, wanted)
    }

    /// Returns the extended attributes that this process may see.
    ///
    /// # Errors
    ///
    /// Returns the error of `flistxattr(2)` or `fgetxattr(2)`.
    pub fn xattrs(&self) -> io::Result<Vec<Xattr>> {
        xattr::all(self.as_fd())
    }

    /// Sets the access and modification times.
    ///
    /// # Errors
    ///
    /// Returns the error of `futimens(2)`. On error, nothing is changed.
    pub fn set_times(&self, atime: Time, mtime: Time) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::futimens(self.as_fd(), &timestamps(atime, mtime))?)
    }

    /// Writes all of `bytes` to the file at `offset`.
    ///
    /// # Errors
    ///
    /// Returns the error of `pwrite(2)`. Some of the bytes may have been written.
    pub fn write_at(&self, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
        about_to_change()?;
        while !bytes.is_empty() {
            match rustix::io::pwrite(self.as_fd(), bytes, offset) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => {
                    bytes = &bytes[n..];
                    offset += n as u64;
                }
                Err(Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
        Ok(())
    }

    /// Sets the size in bytes. Ranges that have not been written become holes.
    ///
    /// # Errors
    ///
    /// Returns the error of `ftruncate(2)`.
    pub fn set_size(&self, size: u64) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::ftruncate(self.as_fd(), size)?)
    }

    /// Makes this file share all of the extents of `source`. Returns false if the two files cannot
    /// share extents.
    ///
    /// # Errors
    ///
    /// Returns the error of `ioctl_ficlone(2)`.
    pub fn clone_from(&self, source: &File) -> io::Result<bool> {
        about_to_change()?;
        match rustix::fs::ioctl_ficlone(self.as_fd(), source.fd()) {
            Ok(()) => Ok(true),
            Err(Errno::NOSPC | Errno::IO | Errno::DQUOT) => Err(Errno::NOSPC.into()),
            Err(_) => Ok(false),
        }
    }

    /// Copies up to `length` bytes at offset `at` from `source` to the same offset in this file,
    /// inside the kernel. Returns the number of bytes copied, or `None` if the kernel cannot copy
    /// between these two files.
    ///
    /// # Errors
    ///
    /// Returns the error of `copy_file_range(2)`. Some of the bytes may have been copied.
    pub fn copy_range(&self, source: &File, at: u64, length: u64) -> io::Result<Option<u64>> {
        about_to_change()?;
        let (mut from, mut to) = (at, at);
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        loop {
            let (from, to) = (Some(&mut from), Some(&mut to));
            match rustix::fs::copy_file_range(source.fd(), from, self.as_fd(), to, length) {
                Ok(copied) => return Ok(Some(copied as u64)),
                Err(Errno::INTR) => {}
                // The kernel cannot copy within this file system or between these two file systems,
                // or one of the files is an active swap file (`ETXTBSY`).
                Err(
                    Errno::XDEV
                    | Errno::INVAL
                    | Errno::OPNOTSUPP
                    | Errno::NOSYS
                    | Errno::PERM
                    | Errno::TXTBSY,
                ) => return Ok(None),
                Err(e) => return Err(e.into()),
            }
        }
    }

    /// Writes the file's bytes to the disk, waits for completion, and drops the bytes from the page
    /// cache, so that the next read fetches them from the disk.
    ///
    /// # Errors
    ///
    /// Returns the error of `fdatasync(2)`.
    pub fn sync_and_forget(&self) -> io::Result<()> {
        about_to_change()?;
        rustix::fs::fdatasync(self.as_fd())?;
        // The call is only advice, so a failure has no consequence.
        let _refused = rustix::fs::fadvise(self.as_fd(), 0, None, rustix::fs::Advice::DontNeed);
        Ok(())
    }

    /// Writes the file's bytes and metadata to the disk and waits for completion.
    ///
    /// # Errors
    ///
    /// Returns the error of `fsync(2)`.
    pub fn sync(&self) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::fsync(&self.fd)?)
    }

    /// Returns a [`File`] for reading this file. It has its own copy of the descriptor.
    ///
    /// # Errors
    ///
    /// Returns the error of `fcntl(2)`.
    pub fn reader(&self) -> io::Result<File> {
        Ok(File::from_fd(self.fd.try_clone()?))
    }

    /// Returns the file's metadata.
    ///
    /// # Errors
    ///
    /// Returns the error of `statx(2)`.
    pub fn stat(&self) -> io::Result<Stat> {
        Stat::of(&self.fd, c"", AtFlags::EMPTY_PATH)
    }
}
