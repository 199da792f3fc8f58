//! Directories as held descriptors: listing them, and reaching what is in them without following
//! a link.

use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Mode, OFlags, RawDir, ResolveFlags};

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
    /// The name as it is on disk, NUL-terminated for the next system call.
    pub name: &'a CStr,
    /// The kind the listing gave, or [`Kind::Unknown`].
    pub kind: Kind,
    /// The inode number the listing gave. For a mount point it is that of the covered directory.
    pub inode: u64,
}

/// The buffer `getdents64` fills, reused from directory to directory.
///
/// 64 KiB hold some 2,000 names; larger buffers made no difference on directories of a million
/// entries, smaller ones cost a call more on ordinary ones.
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
    /// Opens the directory at `path`, following links: for a path the user typed.
    ///
    /// A path beyond `PATH_MAX`, which cannot have been typed, is opened in steps that follow no
    /// link.
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

    /// Opens the directory `name` in this one. A link in its place is an error (`ENOTDIR`).
    pub fn open_child(&self, name: &CStr) -> io::Result<Dir> {
        #[cfg(feature = "faults")]
        crate::faults::check(crate::Op::List, name.to_bytes())?;
        let flags = DIR_FLAGS | OFlags::NOFOLLOW;
        Ok(Dir { fd: rustix::fs::openat(&self.fd, name, flags, Mode::empty())? })
    }

    /// Opens a directory several components below this one. No component may be a link.
    ///
    /// `path` is relative, without a trailing slash, and may be longer than `PATH_MAX`: it is
    /// then opened in steps.
    pub fn open_below(&self, path: &[u8]) -> io::Result<Dir> {
        // The kernel's limit counts the final NUL.
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
            // Before Linux 5.6, or under a seccomp filter that does not know the call.
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

    /// Calls `each` for every name but `.` and `..`, in the file system's order.
    ///
    /// # Errors
    ///
    /// The error of `getdents64`; names listed before it have been handed out.
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
    pub fn stat(&self) -> io::Result<Stat> {
        Stat::of(&self.fd, c"", AtFlags::EMPTY_PATH)
    }

    /// Returns the metadata of `name`, a link itself rather than its target.
    pub fn stat_child(&self, name: &CStr) -> io::Result<Stat> {
        // No automount: looking at an entry must not mount a file system.
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
        Stat::of(&self.fd, name, flags)
    }

    /// Returns the metadata of `name` as it is at this moment, wherever it is kept.
    ///
    /// # Platform behavior
    ///
    /// NFS and FUSE answer [`Dir::stat_child`] from what they were told up to some seconds ago.
    pub fn stat_child_now(&self, name: &CStr) -> io::Result<Stat> {
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_FORCE_SYNC;
        Stat::of(&self.fd, name, flags)
    }

    /// Gets hold of what is called `name`, a link itself, without opening it: of what is returned only the
    /// metadata can be asked for, which stays that of the same thing whatever its name is by then.
    pub fn hold(&self, name: &CStr) -> io::Result<File> {
        File::hold_at(self.fd.as_fd(), name)
    }

    /// Opens the regular file `name` for reading. See [`File`] for what the open does not do.
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

    /// Returns the identity of the file system the directory is on.
    pub fn volume(&self) -> io::Result<crate::Volume> {
        crate::Volume::of(self.fd.as_fd())
    }

    /// Returns the block size of the file system the directory is on, in bytes: `f_frsize` of `statfs(2)`.
    pub fn block_size(&self) -> io::Result<u64> {
        Ok(rustix::fs::fstatfs(&self.fd)?.f_frsize.cast_unsigned())
    }

    /// Returns the identity of the file system that `name` is on: not the directory's where a
    /// file is a mount point.
    pub fn child_volume(&self, name: &CStr) -> io::Result<crate::Volume> {
        let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let fd = rustix::fs::openat(&self.fd, name, flags, Mode::empty())?;
        crate::Volume::of(fd.as_fd())
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
