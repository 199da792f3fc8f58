//! Changes to a tree, one system call each: renames, exchanges, links and removals, always relative
//! to open directories and never through a link.
//!
//! None of these calls overwrites a name. To replace a name safely, a caller exchanges it with one
//! in a private directory, checks what it got, and removes that.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, RenameFlags, Timespec, Timestamps};
use rustix::io::Errno;

use crate::dir::Dir;
use crate::file::File;
use crate::stat::Time;
use crate::written::NewFile;

/// Counts a change. Tests can make it fail, or kill the process before it.
#[cfg_attr(
    not(feature = "faults"),
    expect(clippy::unnecessary_wraps, reason = "tests have it fail")
)]
pub(crate) fn about_to_change() -> io::Result<()> {
    #[cfg(feature = "faults")]
    crate::faults::change()?;
    Ok(())
}

impl Dir {
    /// Renames `name` to `to_name`, which must not exist, in another directory of the same mount.
    ///
    /// # Errors
    ///
    /// `EEXIST` if `to_name` exists, `EXDEV` if the directories are on different mounts. Nothing
    /// has changed then.
    ///
    /// # Platform behavior
    ///
    /// NFS and some FUSE file systems lack a rename that refuses to replace. There the file is
    /// linked to its new name and then unlinked from the old one, so for a moment it has both.
    /// Without hard links (exFAT through FUSE, cloud storage), and for directories, a check for the
    /// new name precedes a plain rename. That rename replaces a file, or an empty directory, that
    /// gets the name between the two calls.
    pub fn move_new(&self, name: &CStr, to: &Dir, to_name: &CStr) -> io::Result<()> {
        about_to_change()?;
        match rustix::fs::renameat_with(self, name, to, to_name, RenameFlags::NOREPLACE) {
            Err(error) if is_unknown(error) => {}
            answer => return Ok(answer?),
        }
        match rustix::fs::linkat(self, name, to, to_name, AtFlags::empty()) {
            Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS | Errno::MLINK | Errno::XDEV) => {
                about_to_change()?;
                self.rename_if_free(name, to, to_name)
            }
            Err(error) => Err(error.into()),
            Ok(()) => {
                about_to_change()?;
                Ok(rustix::fs::unlinkat(self, name, AtFlags::empty())?)
            }
        }
    }

    /// Renames `name`, whatever it is, to `to_name`, which must not exist, in a directory that only
    /// this process uses.
    ///
    /// Unlike [`Dir::move_new`] this is a single step on every file system.
    ///
    /// # Errors
    ///
    /// As for [`Dir::move_new`].
    pub fn take_out(&self, name: &CStr, to: &Dir, to_name: &CStr) -> io::Result<()> {
        about_to_change()?;
        match rustix::fs::renameat_with(self, name, to, to_name, RenameFlags::NOREPLACE) {
            Err(error) if is_unknown(error) => self.rename_if_free(name, to, to_name),
            answer => Ok(answer?),
        }
    }

    fn rename_if_free(&self, name: &CStr, to: &Dir, to_name: &CStr) -> io::Result<()> {
        match to.stat_child_now(to_name) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                Ok(rustix::fs::renameat(self, name, to, to_name)?)
            }
            Ok(_) => Err(Errno::EXIST.into()),
            Err(e) => Err(e),
        }
    }

    /// Exchanges two existing names on the same mount atomically.
    ///
    /// # Errors
    ///
    /// `EINVAL` where the file system lacks this operation (NFS, some FUSE). Nothing has changed
    /// then.
    pub fn exchange(&self, name: &CStr, with: &Dir, with_name: &CStr) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::renameat_with(self, name, with, with_name, RenameFlags::EXCHANGE)?)
    }

    /// Links an open file to `name`, which must not exist. The link is to this very file, whatever
    /// its other names are by now.
    ///
    /// # Errors
    ///
    /// `ENOENT` if the file has no name left, `EMLINK` at the link limit, `EPERM` where there are
    /// no hard links or the kernel reserves them for the owner. Nothing has changed then.
    pub fn link_file(&self, file: &File, name: &CStr) -> io::Result<()> {
        about_to_change()?;
        match rustix::fs::linkat(file.fd(), c"", self, name, AtFlags::EMPTY_PATH) {
            // Before Linux 6.10 an empty path needs a capability and otherwise fails with ENOENT.
            Err(Errno::NOENT | Errno::PERM | Errno::INVAL) => {
                // Threads may have their own descriptor tables, and /proc/self is that of the main
                // thread.
                let path = format!("/proc/thread-self/fd/{}", file.fd().as_raw_fd());
                Ok(rustix::fs::linkat(CWD, path, self, name, AtFlags::SYMLINK_FOLLOW)?)
            }
            answer => Ok(answer?),
        }
    }

    /// Creates the symbolic link `name` with exactly `target` as its target.
    ///
    /// # Errors
    ///
    /// The error of `symlinkat(2)`, such as `EEXIST`. Nothing has changed then.
    pub fn make_symlink(&self, target: &[u8], name: &CStr) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::symlinkat(target, self, name)?)
    }

    /// Returns the target of the symbolic link `name`.
    ///
    /// # Errors
    ///
    /// The error of `readlinkat(2)`.
    pub fn read_symlink(&self, name: &CStr) -> io::Result<Vec<u8>> {
        Ok(rustix::fs::readlinkat(self, name, Vec::new())?.into_bytes())
    }

    /// Creates the directory `name` for the owner alone (mode 0700).
    ///
    /// # Errors
    ///
    /// The error of `mkdirat(2)` or of setting the mode. In the latter case the directory exists.
    pub fn make_private_dir(&self, name: &CStr) -> io::Result<()> {
        about_to_change()?;
        #[cfg(feature = "faults")]
        crate::faults::check(crate::Op::Create, name.to_bytes())?;
        Ok(rustix::fs::mkdirat(self, name, Mode::RWXU)?)
    }

    /// Creates the directory `name` with this process's default mode.
    ///
    /// # Errors
    ///
    /// The error of `mkdirat(2)`. Nothing has changed then.
    pub fn make_dir(&self, name: &CStr) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::mkdirat(self, name, Mode::from_raw_mode(0o777))?)
    }

    /// Removes the empty directory `name`.
    ///
    /// # Errors
    ///
    /// The error of `unlinkat(2)`. Nothing has changed then.
    pub fn remove_empty_dir(&self, name: &CStr) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::unlinkat(self, name, AtFlags::REMOVEDIR)?)
    }

    /// Unlinks `name`, which is not a directory. The content is lost if this was the file's last
    /// name.
    ///
    /// # Errors
    ///
    /// The error of `unlinkat(2)`. Nothing has changed then.
    pub fn remove_name(&self, name: &CStr) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::unlinkat(self, name, AtFlags::empty())?)
    }

    /// Creates the file `name`, which must not exist, for the owner alone (mode 0600), and opens it
    /// for writing.
    ///
    /// # Errors
    ///
    /// The error of `openat(2)`, such as `EEXIST`. Nothing has changed then.
    pub fn create_file(&self, name: &CStr) -> io::Result<NewFile> {
        about_to_change()?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        Ok(NewFile::from(rustix::fs::openat(self, name, flags | OFlags::NOFOLLOW, mode)?))
    }

    /// Checks whether this process may change names in the directory.
    ///
    /// # Errors
    ///
    /// The reason why not, such as `EACCES` or `EROFS`.
    pub fn may_change(&self) -> io::Result<()> {
        let wanted = Access::WRITE_OK | Access::EXEC_OK;
        Ok(rustix::fs::accessat(self, c".", wanted, AtFlags::EACCESS)?)
    }

    /// Writes all cached data and metadata of the file system to its disk (`syncfs(2)`).
    ///
    /// # Errors
    ///
    /// Fails if something could not be written.
    pub fn sync_file_system(&self) -> io::Result<()> {
        Ok(rustix::fs::syncfs(self)?)
    }

    /// Sets the directory's access and modification times.
    ///
    /// # Errors
    ///
    /// The error of `futimens(2)`. Nothing has changed then.
    pub fn set_times(&self, atime: Time, mtime: Time) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::futimens(self, &timestamps(atime, mtime))?)
    }
}

impl AsFd for Dir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd()
    }
}

/// Returns whether an error means that the file system lacks a rename that refuses to replace.
fn is_unknown(error: Errno) -> bool {
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}

pub(crate) fn timestamps(atime: Time, mtime: Time) -> Timestamps {
    let time = |time: Time| Timespec { tv_sec: time.s, tv_nsec: time.ns.into() };
    Timestamps { last_access: time(atime), last_modification: time(mtime) }
}
