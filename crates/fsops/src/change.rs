//! Changes to a tree, one system call each: names moved, exchanged, linked and removed, always relative
//! to held directories and never through a link.
//!
//! Nothing here overwrites. A caller that wants to replace a name
//! safely exchanges it with one in a directory that nobody else uses, looks at what it got, and
//! removes that.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use rustix::fs::{Access, AtFlags, CWD, Mode, OFlags, RenameFlags, Timespec, Timestamps};
use rustix::io::Errno;

use crate::dir::Dir;
use crate::file::File;
use crate::stat::Time;
use crate::written::NewFile;

/// Counts a change, which a test may want to fail or to be the last.
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
    /// Moves `name` to `to_name` in another directory of the same mount, where that name must be free.
    ///
    /// # Errors
    ///
    /// `EEXIST` if it is not free, `EXDEV` if the directories are not on one mount. Nothing has changed
    /// then.
    ///
    /// # Platform behavior
    ///
    /// Where a rename cannot be told not to replace (NFS and some FUSE file systems), the file gets its
    /// second name first and then loses the first one: for a moment it has both. Where there are no hard
    /// links either (exFAT through FUSE, clouds), and for directories, the name is looked at right before
    /// a plain rename, which replaces a file that gets this name in that moment; of directories only an
    /// empty one.
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

    /// Moves whatever `name` is to `to_name` in a directory that only this process uses, where that name
    /// must be free.
    ///
    /// Unlike [`Dir::move_new`] it is a single step everywhere.
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

    /// Exchanges two names on the same mount in one step; both must exist.
    ///
    /// # Errors
    ///
    /// `EINVAL` where the file system cannot (NFS, some FUSE ones). Nothing has changed then.
    pub fn exchange(&self, name: &CStr, with: &Dir, with_name: &CStr) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::renameat_with(self, name, with, with_name, RenameFlags::EXCHANGE)?)
    }

    /// Gives an open file the further name `name`, which must be free.
    ///
    /// It is that very file, whatever its names are by now.
    ///
    /// # Errors
    ///
    /// `ENOENT` if it has no name left, `EMLINK` if it has as many as it can have, `EPERM` where there
    /// are no hard links or the kernel lets nobody but the owner make them.
    pub fn link_file(&self, file: &File, name: &CStr) -> io::Result<()> {
        about_to_change()?;
        match rustix::fs::linkat(file.fd(), c"", self, name, AtFlags::EMPTY_PATH) {
            // Before Linux 6.10 the empty path needs a capability, and is not found without it.
            Err(Errno::NOENT | Errno::PERM | Errno::INVAL) => {
                // Each thread may have descriptors of its own: /proc/self would be another's.
                let path = format!("/proc/thread-self/fd/{}", file.fd().as_raw_fd());
                Ok(rustix::fs::linkat(CWD, path, self, name, AtFlags::SYMLINK_FOLLOW)?)
            }
            answer => Ok(answer?),
        }
    }

    /// Makes the symbolic link `name` with exactly `target` in it.
    pub fn make_symlink(&self, target: &[u8], name: &CStr) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::symlinkat(target, self, name)?)
    }

    /// Returns what is in the symbolic link `name`.
    pub fn read_symlink(&self, name: &CStr) -> io::Result<Vec<u8>> {
        Ok(rustix::fs::readlinkat(self, name, Vec::new())?.into_bytes())
    }

    /// Makes the directory `name` for the owner alone (mode 0700).
    pub fn make_private_dir(&self, name: &CStr) -> io::Result<()> {
        about_to_change()?;
        #[cfg(feature = "faults")]
        crate::faults::check(crate::Op::Create, name.to_bytes())?;
        Ok(rustix::fs::mkdirat(self, name, Mode::RWXU)?)
    }

    /// Makes the directory `name` with the mode that new directories of this process have.
    pub fn make_dir(&self, name: &CStr) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::mkdirat(self, name, Mode::from_raw_mode(0o777))?)
    }

    /// Removes the empty directory `name`.
    pub fn remove_empty_dir(&self, name: &CStr) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::unlinkat(self, name, AtFlags::REMOVEDIR)?)
    }

    /// Removes `name`, which is not a directory. What it was is gone if it had no other name.
    pub fn remove_name(&self, name: &CStr) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::unlinkat(self, name, AtFlags::empty())?)
    }

    /// Makes the file `name`, which must be free, for the owner alone (mode 0600), open for writing.
    pub fn create_file(&self, name: &CStr) -> io::Result<NewFile> {
        about_to_change()?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        Ok(NewFile::from(rustix::fs::openat(self, name, flags | OFlags::NOFOLLOW, mode)?))
    }

    /// Returns whether names in the directory may be changed by this process.
    ///
    /// # Errors
    ///
    /// Why not, such as `EACCES` or `EROFS`.
    pub fn may_change(&self) -> io::Result<()> {
        let wanted = Access::WRITE_OK | Access::EXEC_OK;
        Ok(rustix::fs::accessat(self, c".", wanted, AtFlags::EACCESS)?)
    }

    /// Writes everything that the file system has in memory, data and metadata of all files, to its
    /// disk.
    pub fn sync_file_system(&self) -> io::Result<()> {
        Ok(rustix::fs::syncfs(self)?)
    }

    /// Sets the directory's times of access and modification.
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

/// Returns whether an error says that a rename cannot be told not to replace.
fn is_unknown(error: Errno) -> bool {
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}

pub(crate) fn timestamps(atime: Time, mtime: Time) -> Timestamps {
    let time = |time: Time| Timespec { tv_sec: time.s, tv_nsec: time.ns.into() };
    Timestamps { last_access: time(atime), last_modification: time(mtime) }
}
