//! A file open for reading: positioned reads, metadata of what is open, holes.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, SeekFrom};

use crate::extents::SharedLayout;
use crate::stat::{Kind, Stat};

/// A file open for reading.
///
/// It is opened without following a link and without blocking, so a FIFO that takes the place of
/// a regular file between listing and opening does not hang the program; callers compare
/// [`File::stat`] with what they expected before they trust a byte.
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
    /// Opens the file at `path`; links in its directories are followed, a link as the last
    /// component is not.
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

    /// Looks what `name` is before it is opened: see [`crate::Dir::open_regular`].
    pub(crate) fn open_regular_at(dir: BorrowedFd<'_>, name: &CStr) -> io::Result<File> {
        let found = File::hold_at(dir, name)?;
        if found.stat()?.kind != Kind::File {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // A link to the very file that was looked at, not to a name.
        let path = format!("/proc/thread-self/fd/{}", found.fd.as_raw_fd());
        let flags = FLAGS.difference(OFlags::NOFOLLOW);
        let opened = match rustix::fs::open(&path, flags | OFlags::NOATIME, Mode::empty()) {
            Err(rustix::io::Errno::PERM) => rustix::fs::open(&path, flags, Mode::empty()),
            // There is no /proc: the name has to do, if it is the same file still.
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

    /// Returns the metadata of the open file, whatever its name is by now.
    pub fn stat(&self) -> io::Result<Stat> {
        Stat::of(&self.fd, c"", AtFlags::EMPTY_PATH)
    }

    /// Returns the identity of the file system that the file is on.
    pub fn volume(&self) -> io::Result<crate::Volume> {
        crate::Volume::of(self.fd.as_fd())
    }

    /// Reads into `buffer` from `offset` until it is full or the file ends; returns the number of
    /// bytes read.
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

    /// Returns the metadata of the open file as it is at this moment, wherever it is kept.
    ///
    /// # Platform behavior
    ///
    /// NFS and FUSE answer [`File::stat`] from what they were told up to some seconds ago.
    pub fn stat_now(&self) -> io::Result<Stat> {
        Stat::of(&self.fd, c"", AtFlags::EMPTY_PATH | AtFlags::STATX_FORCE_SYNC)
    }

    /// Returns whether nothing can be read at or after `size`.
    ///
    /// The size in the metadata does not prove that: some file systems say 0 for files that they make up
    /// while they are read, and others answer from a cache.
    pub fn ends_at(&self, size: u64) -> io::Result<bool> {
        Ok(self.read_at(&mut [0], size)? == 0)
    }

    /// Returns where the next data at or after `offset` starts, or `None` if only a hole is left.
    ///
    /// A file system that does not know holes answers `offset`.
    pub fn next_data(&self, offset: u64) -> io::Result<Option<u64>> {
        match rustix::fs::seek(&self.fd, SeekFrom::Data(offset)) {
            Ok(at) => Ok(Some(at)),
            Err(rustix::io::Errno::NXIO) => Ok(None),
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::OPNOTSUPP) => Ok(Some(offset)),
            Err(e) => Err(e.into()),
        }
    }

    /// Returns where the next hole at or after `offset` starts, at the latest where the file ends.
    ///
    /// A file system that does not know holes answers as if there were none.
    pub fn next_hole(&self, offset: u64) -> io::Result<u64> {
        match rustix::fs::seek(&self.fd, SeekFrom::Hole(offset)) {
            Ok(at) => Ok(at),
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::OPNOTSUPP) => Ok(u64::MAX),
            Err(e) => Err(e.into()),
        }
    }

    /// Returns where on its device the first bytes at or after `offset` lie; of use to order reads by,
    /// and for nothing else.
    ///
    /// `None` if they lie nowhere: in a hole, inside the inode, or not written yet.
    ///
    /// # Errors
    ///
    /// That the file system does not say.
    pub fn place(&self, offset: u64) -> io::Result<Option<u64>> {
        crate::extents::place(self, offset)
    }

    /// Returns where the file's bytes lie, if it shares all of them with other files; only for a
    /// file on a volume that says so ([`crate::Volume::same_place_is_same_content`]).
    pub fn shared_layout(&self) -> Option<SharedLayout> {
        crate::extents::shared_layout(self)
    }

    /// Returns whether no space would become free with the file: others have all its extents too, or its bytes
    /// are inside its inode. Costs one system call for most files.
    pub fn has_no_space_of_its_own(&self) -> bool {
        crate::extents::has_no_space_of_its_own(self)
    }

    /// Returns whether the file's bytes are inside its inode, where they take no space that could be shared.
    pub fn is_inline(&self) -> bool {
        crate::extents::is_inline(self)
    }

    /// Returns whether `length` bytes from `offset` on are all in the page cache, without fetching
    /// any; `None` if there is no telling.
    ///
    /// # Platform behavior
    ///
    /// `cachestat(2)`: not before Linux 6.5, and later not for files that somebody else owns and the
    /// process may not write. To ask by a read that must not wait (`RWF_NOWAIT`) is no way around that:
    /// it starts to fetch what is missing.
    pub fn is_cached(&self, offset: u64, length: u64) -> Option<bool> {
        crate::cache::is_cached(self.fd(), offset, length)
    }

    /// Has the kernel fetch `length` bytes from `offset` on into the page cache, without waiting for
    /// them.
    pub fn fetch(&self, offset: u64, length: u64) {
        let length = std::num::NonZeroU64::new(length);
        // Advice that is not taken changes nothing.
        let _refused = rustix::fs::fadvise(&self.fd, offset, length, rustix::fs::Advice::WillNeed);
    }

    /// Tells the kernel to read only what is asked for, and nothing ahead.
    pub fn expect_single_reads(&self) {
        // Advice that is not taken changes nothing.
        let _refused = rustix::fs::fadvise(&self.fd, 0, None, rustix::fs::Advice::Random);
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
