//! Files that are open for reading: positioned reads, metadata, and queries about holes and
//! storage.

pub(crate) mod cache;
pub(crate) mod extents;
pub(crate) mod lease;
pub(crate) mod new_file;
pub(crate) mod read_buffer;
mod send;
pub(crate) mod share;
pub(crate) mod xattr;

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, SeekFrom};

use crate::stat::{Kind, Stat};
use extents::SharedLayout;

/// A file open for reading.
///
/// Opening a file follows no links and does not block, so lop does not hang if a regular file is
/// replaced by a FIFO after it was listed. Callers MUST compare [`File::stat`] with the metadata
/// they expect before they rely on the file's bytes.
#[derive(Debug)]
pub struct File {
    fd: OwnedFd,
    #[cfg(feature = "faults")]
    name: Vec<u8>,
}

pub(crate) const FLAGS: OFlags = OFlags::RDONLY
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY);

impl File {
    /// Opens the file at `path`. The last component must not be a link. Links in other components
    /// are followed.
    ///
    /// # Errors
    ///
    /// Returns the error of `open(2)`, such as `ELOOP` for a link.
    pub fn open(path: &Path) -> io::Result<File> {
        use std::os::unix::ffi::OsStrExt;
        let name = std::ffi::CString::new(path.as_os_str().as_bytes())?;
        File::open_at(CWD, &name, OFlags::empty())
    }

    pub(crate) fn open_at(dir: BorrowedFd<'_>, name: &CStr, how: OFlags) -> io::Result<File> {
        Ok(File::called(name, rustix::fs::openat(dir, name, FLAGS | how, Mode::empty())?))
    }

    pub(crate) fn hold_at(dir: BorrowedFd<'_>, name: &CStr) -> io::Result<File> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::called(name, rustix::fs::openat(dir, name, flags, Mode::empty())?))
    }

    /// Implements [`crate::Dir::open_regular`].
    pub(crate) fn open_regular_at(dir: BorrowedFd<'_>, name: &CStr) -> io::Result<File> {
        let found = File::hold_at(dir, name)?;
        if found.stat()?.kind != Kind::File {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // This path refers to the inode that was checked, even if the name now belongs to another
        // file.
        let path = format!("/proc/thread-self/fd/{}", found.fd.as_raw_fd());
        let flags = FLAGS.difference(OFlags::NOFOLLOW);
        let opened = match rustix::fs::open(&path, flags | OFlags::NOATIME, Mode::empty()) {
            Err(rustix::io::Errno::PERM) => rustix::fs::open(&path, flags, Mode::empty()),
            // Without /proc, the name is opened again, and the identities of the two files are
            // compared.
            Err(rustix::io::Errno::NOENT) => {
                let file = File::open_at(dir, name, OFlags::empty())?;
                let is_same = file.stat()?.key() == found.stat()?.key();
                return if is_same { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) };
            }
            opened => opened,
        };
        Ok(File::called(name, opened?))
    }

    #[cfg_attr(not(feature = "faults"), expect(unused_variables, reason = "for faults"))]
    fn called(name: &CStr, fd: OwnedFd) -> File {
        File {
            fd,
            #[cfg(feature = "faults")]
            name: name.to_bytes().to_vec(),
        }
    }

    pub(crate) fn from_fd(fd: OwnedFd) -> File {
        File {
            fd,
            #[cfg(feature = "faults")]
            name: Vec::new(),
        }
    }

    /// Returns the metadata of the open file, even if its name has been removed or replaced.
    ///
    /// # Errors
    ///
    /// Returns the error of `statx(2)`.
    pub fn stat(&self) -> io::Result<Stat> {
        Stat::of(&self.fd, c"", AtFlags::EMPTY_PATH)
    }

    /// Returns the identity of the file's file system.
    ///
    /// # Errors
    ///
    /// Returns the error of `fstatfs(2)`.
    pub fn volume(&self) -> io::Result<crate::Volume> {
        crate::Volume::of(self.fd.as_fd())
    }

    /// Reads from `offset` until `buffer` is full or the file ends. Returns the number of bytes
    /// read.
    ///
    /// # Errors
    ///
    /// Returns the error of `pread(2)`.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        #[cfg(feature = "faults")]
        crate::faults::check(crate::Op::Read, &self.name)?;
        let mut filled = 0;
        while filled < buffer.len() {
            match rustix::io::pread(&self.fd, &mut buffer[filled..], offset + filled as u64) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
        Ok(filled)
    }

    /// Returns the current metadata of the open file, bypassing attribute caches.
    ///
    /// # Errors
    ///
    /// Same as for [`File::stat`].
    ///
    /// # Platform behavior
    ///
    /// On NFS and FUSE, [`File::stat`] may return values that are a few seconds old.
    pub fn stat_uncached(&self) -> io::Result<Stat> {
        Stat::of(&self.fd, c"", AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC)
    }

    /// Returns true if reading at offset `size` yields no bytes.
    ///
    /// The size in the metadata is not reliable enough for this check. Some file systems report 0
    /// for files whose content they generate on each read, and others return a cached size.
    ///
    /// # Errors
    ///
    /// Returns the error of `pread(2)`.
    pub fn ends_at(&self, size: u64) -> io::Result<bool> {
        Ok(self.read_at(&mut [0], size)? == 0)
    }

    /// Returns the offset of the next data at or after `offset`, or `None` if only a hole follows.
    /// On a file system that does not support holes, returns `offset`.
    ///
    /// # Errors
    ///
    /// Returns the error of `lseek(2)`.
    pub fn next_data(&self, offset: u64) -> io::Result<Option<u64>> {
        match rustix::fs::seek(&self.fd, SeekFrom::Data(offset)) {
            Ok(at) => Ok(Some(at)),
            Err(rustix::io::Errno::NXIO) => Ok(None),
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::OPNOTSUPP) => Ok(Some(offset)),
            Err(e) => Err(e.into()),
        }
    }

    /// Returns the offset of the next hole at or after `offset`, or the end of the file if no hole
    /// follows. On a file system that does not support holes, returns `u64::MAX`.
    ///
    /// # Errors
    ///
    /// Returns the error of `lseek(2)`.
    pub fn next_hole(&self, offset: u64) -> io::Result<u64> {
        match rustix::fs::seek(&self.fd, SeekFrom::Hole(offset)) {
            Ok(at) => Ok(at),
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::OPNOTSUPP) => Ok(u64::MAX),
            Err(e) => Err(e.into()),
        }
    }

    /// Returns the device offset of the first bytes at or after `offset`. Use the result only to
    /// sort reads.
    ///
    /// Returns `None` if those bytes have no location on the device because they belong to a hole,
    /// are stored inside the inode or have not been written yet.
    ///
    /// # Errors
    ///
    /// Fails if the file system does not report extents.
    pub fn device_offset(&self, offset: u64) -> io::Result<Option<u64>> {
        extents::device_offset(self, offset)
    }

    /// Returns the file's layout if it shares all of its bytes with other files. Layouts may be
    /// compared only on a volume for which [`crate::Volume::equal_offsets_mean_equal_content`] is
    /// true.
    pub fn shared_layout(&self) -> Option<SharedLayout> {
        extents::shared_layout(self)
    }

    /// Returns true if removing the file would not free any space, because all of its extents are
    /// shared with other files or its bytes are stored inside its inode. For most files, this takes
    /// one system call.
    pub fn frees_no_space(&self) -> bool {
        extents::frees_no_space(self)
    }

    /// Returns true if the file's bytes are stored inside its inode. Such bytes cannot be shared.
    pub fn is_inline(&self) -> bool {
        extents::is_inline(self)
    }

    /// Checks whether all of the `length` bytes starting at `offset` are in the page cache, without
    /// reading them. Returns `None` if the kernel does not report this.
    ///
    /// # Platform behavior
    ///
    /// `cachestat(2)` exists since Linux 6.5. Later versions refuse the call for a file that
    /// belongs to another user and is not writable. A non-blocking read (`RWF_NOWAIT`) is not a
    /// substitute because it starts to fetch missing pages.
    pub fn is_cached(&self, offset: u64, length: u64) -> Option<bool> {
        cache::is_cached(self.fd(), offset, length)
    }

    /// Starts reading `length` bytes at `offset` into the page cache. The call does not wait until
    /// they have been read.
    pub fn fetch(&self, offset: u64, length: u64) {
        let length = std::num::NonZeroU64::new(length);
        // The call is only advice, so a failure has no consequence.
        let _refused = rustix::fs::fadvise(&self.fd, offset, length, rustix::fs::Advice::WillNeed);
    }

    /// Tells the kernel to disable readahead for this file.
    pub fn expect_single_reads(&self) {
        // The call is only advice, so a failure has no consequence.
        let _refused = rustix::fs::fadvise(&self.fd, 0, None, rustix::fs::Advice::Random);
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
