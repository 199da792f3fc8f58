//! Files open for reading: positioned reads, metadata, holes.

pub(crate) mod cache;
pub(crate) mod extents;
pub(crate) mod lease;
pub(crate) mod new_file;
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
/// The open follows no link and does not block, so a FIFO that takes a regular file's place between
/// listing and opening does not hang the program. Callers MUST compare [`File::stat`] with the
/// metadata they expect before they trust a byte.
#[derive(Debug)]
pub struct File {
    fd: OwnedFd,
    #[cfg(feature = "faults")]
    name: Vec<u8>,
}

const FLAGS: OFlags = OFlags::RDONLY
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY);

impl File {
    /// Opens the file at `path`. Links in its directories are followed; the last component must not
    /// be a link.
    ///
    /// # Errors
    ///
    /// The error of `open(2)`, such as `ELOOP` for a link.
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

    /// Checks the type of `name` before opening it: see [`crate::Dir::open_regular`].
    pub(crate) fn open_regular_at(dir: BorrowedFd<'_>, name: &CStr) -> io::Result<File> {
        let found = File::hold_at(dir, name)?;
        if found.stat()?.kind != Kind::File {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // This is a link to the inode that was checked and not to a name.
        let path = format!("/proc/thread-self/fd/{}", found.fd.as_raw_fd());
        let flags = FLAGS.difference(OFlags::NOFOLLOW);
        let opened = match rustix::fs::open(&path, flags | OFlags::NOATIME, Mode::empty()) {
            Err(rustix::io::Errno::PERM) => rustix::fs::open(&path, flags, Mode::empty()),
            // Without /proc, the name is opened again and compared.
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

    /// Returns the metadata of the open file, whatever happened to its name.
    ///
    /// # Errors
    ///
    /// The error of `statx(2)`.
    pub fn stat(&self) -> io::Result<Stat> {
        Stat::of(&self.fd, c"", AtFlags::EMPTY_PATH)
    }

    /// Returns the identity of the file's file system.
    ///
    /// # Errors
    ///
    /// The error of `fstatfs(2)`.
    pub fn volume(&self) -> io::Result<crate::Volume> {
        crate::Volume::of(self.fd.as_fd())
    }

    /// Reads into `buffer` from `offset` until it is full or the file ends. Returns the number of
    /// bytes read.
    ///
    /// # Errors
    ///
    /// The error of `pread(2)`.
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
    /// As for [`File::stat`].
    ///
    /// # Platform behavior
    ///
    /// On NFS and FUSE, [`File::stat`] may return values that are some seconds old.
    pub fn stat_uncached(&self) -> io::Result<Stat> {
        Stat::of(&self.fd, c"", AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC)
    }

    /// Returns whether no byte can be read at or after `size`.
    ///
    /// The size in the metadata does not prove that: some file systems report 0 for files that they
    /// generate on reading, and others answer from a cache.
    ///
    /// # Errors
    ///
    /// The error of `pread(2)`.
    pub fn ends_at(&self, size: u64) -> io::Result<bool> {
        Ok(self.read_at(&mut [0], size)? == 0)
    }

    /// Returns the offset of the next data at or after `offset`, or `None` if only a hole follows.
    /// A file system without holes answers `offset`.
    ///
    /// # Errors
    ///
    /// The error of `lseek(2)`.
    pub fn next_data(&self, offset: u64) -> io::Result<Option<u64>> {
        match rustix::fs::seek(&self.fd, SeekFrom::Data(offset)) {
            Ok(at) => Ok(Some(at)),
            Err(rustix::io::Errno::NXIO) => Ok(None),
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::OPNOTSUPP) => Ok(Some(offset)),
            Err(e) => Err(e.into()),
        }
    }

    /// Returns the offset of the next hole at or after `offset`, at most the end of the file. A
    /// file system without holes answers the end.
    ///
    /// # Errors
    ///
    /// The error of `lseek(2)`.
    pub fn next_hole(&self, offset: u64) -> io::Result<u64> {
        match rustix::fs::seek(&self.fd, SeekFrom::Hole(offset)) {
            Ok(at) => Ok(at),
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::OPNOTSUPP) => Ok(u64::MAX),
            Err(e) => Err(e.into()),
        }
    }

    /// Returns the device offset of the first bytes at or after `offset`. It is suited for ordering
    /// reads and for nothing else.
    ///
    /// Returns `None` if the bytes have no place on the device: in a hole, inside the inode, or not
    /// yet written.
    ///
    /// # Errors
    ///
    /// Fails if the file system does not report extents.
    pub fn device_offset(&self, offset: u64) -> io::Result<Option<u64>> {
        extents::device_offset(self, offset)
    }

    /// Returns the file's layout if it shares all of its bytes with other files. Only meaningful on
    /// a volume with [`crate::Volume::equal_offsets_mean_equal_content`].
    pub fn shared_layout(&self) -> Option<SharedLayout> {
        extents::shared_layout(self)
    }

    /// Returns whether removing the file would free no space, because other files share all its
    /// extents or its bytes are inside its inode. Costs one system call for most files.
    pub fn frees_no_space(&self) -> bool {
        extents::frees_no_space(self)
    }

    /// Returns whether the file's bytes are inside its inode, where they occupy no space that could
    /// be shared.
    pub fn is_inline(&self) -> bool {
        extents::is_inline(self)
    }

    /// Returns whether `length` bytes from `offset` on are completely in the page cache, without
    /// reading any. `None` if the kernel does not say.
    ///
    /// # Platform behavior
    ///
    /// `cachestat(2)` exists since Linux 6.5; later versions refuse it for files that another user
    /// owns and the process may not write. A non-blocking read (`RWF_NOWAIT`) is no substitute, as
    /// it starts to fetch missing pages.
    pub fn is_cached(&self, offset: u64, length: u64) -> Option<bool> {
        cache::is_cached(self.fd(), offset, length)
    }

    /// Asks the kernel to read `length` bytes from `offset` on into the page cache, without
    /// waiting.
    pub fn fetch(&self, offset: u64, length: u64) {
        let length = std::num::NonZeroU64::new(length);
        // Advice that the kernel ignores has no effect.
        let _refused = rustix::fs::fadvise(&self.fd, offset, length, rustix::fs::Advice::WillNeed);
    }

    /// Tells the kernel to disable readahead for this file.
    pub fn expect_single_reads(&self) {
        // Advice that the kernel ignores has no effect.
        let _refused = rustix::fs::fadvise(&self.fd, 0, None, rustix::fs::Advice::Random);
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
