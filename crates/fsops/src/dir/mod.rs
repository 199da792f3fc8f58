//! Open directories, whose entries are listed, examined and opened without following links.

mod beneath;
mod listing;
mod metadata;
mod names;
mod same_mount;

use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RawDir, ResolveFlags};

pub use beneath::Found;
pub use same_mount::DirIdentity;

use crate::file::File;
use crate::stat::{Kind, Stat, kind_of_type};

pub(crate) const DIR_FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC).union(OFlags::NOCTTY);

/// An open directory.
#[derive(Debug)]
pub struct Dir {
    fd: OwnedFd,
}

/// One name in a directory listing.
#[derive(Debug)]
pub struct DirItem<'a> {
    /// The name, NUL-terminated as system calls expect.
    pub name: &'a CStr,
    /// The type, or [`Kind::Unknown`] if the listing does not include types.
    pub kind: Kind,
    /// The inode number. For a mount point, this is the inode number of the directory that it
    /// covers.
    pub inode: u64,
}

/// A buffer for `getdents64` that can be reused for any number of directories.
///
/// The buffer is 64 KiB in size, enough for about 2,000 names. Larger buffers made no difference
/// for directories with a million entries. With smaller buffers, listing an ordinary directory took
/// one more system call.
#[derive(Debug)]
pub struct DirBuffer(Box<[MaybeUninit<u8>]>);

impl Default for DirBuffer {
    fn default() -> Self {
        DirBuffer(Box::new_uninit_slice(64 * 1024))
    }
}

impl DirBuffer {
    pub(crate) fn space(&mut self) -> &mut [MaybeUninit<u8>] {
        &mut self.0
    }
}

impl Dir {
    /// Opens the directory at `path`, following links. Use this for paths that the user typed.
    ///
    /// A path longer than `PATH_MAX` cannot have been typed by the user. Such a path is opened in
    /// several steps, without following any links.
    ///
    /// # Errors
    ///
    /// Returns the error of `open(2)`.
    pub fn open(path: &Path) -> io::Result<Dir> {
        let bytes = path.as_os_str().as_bytes();
        if bytes.len() >= libc::PATH_MAX as usize {
            let (start, rest) = match bytes.strip_prefix(b"/") {
                Some(rest) => ("/", rest),
                None => (".", bytes),
            };
            return Dir::open(Path::new(start))?.open_below(rest);
        }
        Ok(Dir { fd: rustix::fs::openat(CWD, path, DIR_FLAGS, Mode::empty())? })
    }

    /// Opens the subdirectory `name`.
    ///
    /// # Errors
    ///
    /// Returns the error of `openat(2)`, which is `ENOTDIR` if `name` is a link or not a directory.
    pub fn open_child(&self, name: &CStr) -> io::Result<Dir> {
        #[cfg(feature = "faults")]
        crate::faults::check(crate::Op::List, name.to_bytes())?;
        let flags = DIR_FLAGS | OFlags::NOFOLLOW;
        Ok(Dir { fd: rustix::fs::openat(&self.fd, name, flags, Mode::empty())? })
    }

    /// Opens the directory at `path`, relative to this one. No component may be a link.
    ///
    /// `path` must not start or end with a slash. A path longer than `PATH_MAX` is opened in
    /// several steps.
    ///
    /// # Errors
    ///
    /// Returns the error of `openat2(2)`, which is `ELOOP` or `ENOTDIR` if a component is a link or
    /// not a directory.
    pub fn open_below(&self, path: &[u8]) -> io::Result<Dir> {
        // The kernel's limit includes the final NUL.
        const STEP: usize = libc::PATH_MAX as usize - 1;
        #[cfg(feature = "faults")]
        crate::faults::check(crate::Op::List, path)?;
        let mut base: Option<Dir> = None;
        let mut rest = path;
        loop {
            let here = base.as_ref().unwrap_or(self);
            if rest.len() <= STEP {
                return here.open_step(rest);
            }
            let cut = rest[..=STEP].iter().rposition(|&b| b == b'/').ok_or_else(too_long)?;
            let next = here.open_step(&rest[..cut])?;
            rest = &rest[cut + 1..];
            base = Some(next);
        }
    }

    fn open_step(&self, path: &[u8]) -> io::Result<Dir> {
        let resolve = ResolveFlags::NO_SYMLINKS;
        match rustix::fs::openat2(&self.fd, path, DIR_FLAGS, Mode::empty(), resolve) {
            Ok(fd) => Ok(Dir { fd }),
            // The kernel is older than Linux 5.6, or a seccomp filter blocks the call.
            Err(rustix::io::Errno::NOSYS | rustix::io::Errno::PERM) => self.open_by_component(path),
            Err(e) => Err(e.into()),
        }
    }

    fn open_by_component(&self, path: &[u8]) -> io::Result<Dir> {
        let mut fd: Option<OwnedFd> = None;
        for name in path.split(|&b| b == b'/') {
            let here = fd.as_ref().map_or(self.fd.as_fd(), AsFd::as_fd);
            let flags = DIR_FLAGS | OFlags::NOFOLLOW;
            fd = Some(rustix::fs::openat(here, name, flags, Mode::empty())?);
        }
        Ok(Dir { fd: fd.ok_or(rustix::io::Errno::NOENT)? })
    }

    /// Calls `each` for every name except `.` and `..`, in the order in which the file system lists
    /// them.
    ///
    /// # Errors
    ///
    /// Returns the error of `getdents64`. The names listed before the error have already been
    /// passed to `each`.
    pub fn for_each(
        &self,
        buffer: &mut DirBuffer,
        mut each: impl FnMut(DirItem),
    ) -> io::Result<()> {
        let mut raw = RawDir::new(&self.fd, &mut buffer.0);
        while let Some(item) = raw.next() {
            let item = item?;
            let name = item.file_name();
            if matches!(name.to_bytes(), b"." | b"..") {
                continue;
            }
            each(DirItem { name, kind: kind_of_type(item.file_type()), inode: item.ino() });
        }
        Ok(())
    }

    /// Returns the directory's own metadata.
    ///
    /// # Errors
    ///
    /// Returns the error of `statx(2)`.
    pub fn stat(&self) -> io::Result<Stat> {
        Stat::of(&self.fd, c"", AtFlags::EMPTY_PATH)
    }

    /// Returns the metadata of `name`. If `name` is a link, returns the metadata of the link
    /// itself.
    ///
    /// # Errors
    ///
    /// Returns the error of `statx(2)`, such as `ENOENT`.
    pub fn stat_child(&self, name: &CStr) -> io::Result<Stat> {
        // Reading the metadata of a mount point must not trigger an automount.
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
        Stat::of(&self.fd, name, flags)
    }

    /// Returns the current metadata of `name`, bypassing attribute caches.
    ///
    /// # Errors
    ///
    /// Same as for [`Dir::stat_child`].
    ///
    /// # Platform behavior
    ///
    /// On NFS and FUSE, [`Dir::stat_child`] may return values that are a few seconds old.
    pub fn stat_child_uncached(&self, name: &CStr) -> io::Result<Stat> {
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_FORCE_SYNC;
        Stat::of(&self.fd, name, flags)
    }

    /// Opens a handle to `name` that gives access only to its metadata (`O_PATH`). If `name` is a
    /// link, the handle refers to the link itself. Even if the name is removed or replaced, the
    /// handle still refers to the same inode.
    ///
    /// # Errors
    ///
    /// Returns the error of `openat(2)`.
    pub fn hold(&self, name: &CStr) -> io::Result<File> {
        File::hold_at(self.fd.as_fd(), name)
    }

    /// Opens the regular file `name` for reading. See [`File`] for the checks that the caller has
    /// to make.
    ///
    /// # Errors
    ///
    /// Returns the error of `openat(2)`, such as `ELOOP` for a link.
    pub fn open_file(&self, name: &CStr) -> io::Result<File> {
        self.open_file_with(name, OFlags::empty())
    }

    pub(crate) fn open_file_with(&self, name: &CStr, how: OFlags) -> io::Result<File> {
        #[cfg(feature = "faults")]
        crate::faults::check(crate::Op::Open, name.to_bytes())?;
        File::open_at(self.fd.as_fd(), name, how)
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Returns the identity of the directory's file system.
    ///
    /// # Errors
    ///
    /// Returns the error of `fstatfs(2)`.
    pub fn volume(&self) -> io::Result<crate::Volume> {
        crate::Volume::of(self.fd.as_fd())
    }

    /// Returns the block size of the directory's file system in bytes (`f_frsize` of `statfs(2)`).
    ///
    /// # Errors
    ///
    /// Returns the error of `fstatfs(2)`.
    pub fn block_size(&self) -> io::Result<u64> {
        Ok(rustix::fs::fstatfs(&self.fd)?.f_frsize.cast_unsigned())
    }

    /// Returns the number of bytes in use on the directory's file system.
    ///
    /// # Errors
    ///
    /// Returns the error of `fstatfs(2)`.
    pub fn used_bytes(&self) -> io::Result<u64> {
        let status = rustix::fs::fstatfs(&self.fd)?;
        let blocks = status.f_blocks.saturating_sub(status.f_bfree);
        Ok(blocks.saturating_mul(status.f_bsize.cast_unsigned()))
    }

    /// Returns the identity of the file system that `name` is on. If `name` is a mount point, this
    /// is the mounted file system.
    ///
    /// # Errors
    ///
    /// Returns the error of `openat(2)` or `fstatfs(2)`.
    pub fn child_volume(&self, name: &CStr) -> io::Result<crate::Volume> {
        let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let fd = rustix::fs::openat(&self.fd, name, flags, Mode::empty())?;
        crate::Volume::of(fd.as_fd())
    }
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd()
    }
}

impl From<OwnedFd> for Dir {
    fn from(fd: OwnedFd) -> Dir {
        Dir { fd }
    }
}

fn too_long() -> io::Error {
    rustix::io::Errno::NAMETOOLONG.into()
}
