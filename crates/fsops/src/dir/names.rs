//! Creates, renames, exchanges, links and removes names. Each operation is relative to open
//! directories and follows no links.
//!
//! Only [`Dir::replace`] overwrites a name. To replace a name safely, a caller exchanges it with a
//! file in a private directory, then checks and removes the file that it got in return.

use std::ffi::CStr;
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{Access, AtFlags, CWD, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::Dir;
use crate::change::{about_to_change, is_unknown, timestamps};
use crate::file::File;
use crate::file::new_file::NewFile;
use crate::stat::{Stat, Time};

impl Dir {
    /// Renames `name` to `to_name` in another directory of the same mount. `to_name` must not
    /// exist.
    ///
    /// # Errors
    ///
    /// Returns `EEXIST` if `to_name` exists, and `EXDEV` if the directories are on different
    /// mounts. On error, nothing is changed.
    ///
    /// # Platform behavior
    ///
    /// NFS and some FUSE file systems do not support `RENAME_NOREPLACE`. On these, the new name is
    /// created as a hard link before the old name is removed, so the file has both names for a
    /// moment. For directories, and on file systems without hard links (exFAT through FUSE, cloud
    /// storage), lop checks that the new name is free and then uses a plain rename. If another
    /// process creates a file or an empty directory with that name between the check and the
    /// rename, the rename replaces it.
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

    /// Renames `name`, which may be of any type, to `to_name` in a directory that only this process
    /// uses. `to_name` must not exist.
    ///
    /// Unlike [`Dir::move_new`], this takes a single step on every file system.
    ///
    /// # Errors
    ///
    /// Same as for [`Dir::move_new`].
    pub fn take_out(&self, name: &CStr, to: &Dir, to_name: &CStr) -> io::Result<()> {
        about_to_change()?;
        match rustix::fs::renameat_with(self, name, to, to_name, RenameFlags::NOREPLACE) {
            Err(error) if is_unknown(error) => self.rename_if_free(name, to, to_name),
            answer => Ok(answer?),
        }
    }

    fn rename_if_free(&self, name: &CStr, to: &Dir, to_name: &CStr) -> io::Result<()> {
        match to.stat_child_uncached(to_name) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {
                Ok(rustix::fs::renameat(self, name, to, to_name)?)
            }
            Ok(_) => Err(Errno::EXIST.into()),
            Err(e) => Err(e),
        }
    }

    /// Atomically exchanges two existing names on the same mount.
    ///
    /// # Errors
    ///
    /// Returns `EINVAL` if the file system does not support this operation (NFS, some FUSE file
    /// systems). On error, nothing is changed.
    pub fn exchange(&self, name: &CStr, with: &Dir, with_name: &CStr) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::renameat_with(self, name, with, with_name, RenameFlags::EXCHANGE)?)
    }

    /// Gives an open file the additional name `name`, which must not exist. This works even if the
    /// file's other names have changed since it was opened.
    ///
    /// # Errors
    ///
    /// Returns `ENOENT` if the file has no name left, `EMLINK` if it has reached the link limit,
    /// and `EPERM` if the file system does not support hard links or only the owner may link the
    /// file. On error, nothing is changed.
    pub fn link_file(&self, file: &File, name: &CStr) -> io::Result<()> {
        about_to_change()?;
        match rustix::fs::linkat(file.fd(), c"", self, name, AtFlags::EMPTY_PATH) {
            // Before Linux 6.10, linkat with an empty path fails with ENOENT unless the process has
            // the required capability.
            Err(Errno::NOENT | Errno::PERM | Errno::INVAL) => {
                // A thread can have its own descriptor table, but /proc/self shows the table of the
                // main thread.
                let path = format!("/proc/thread-self/fd/{}", file.fd().as_raw_fd());
                Ok(rustix::fs::linkat(CWD, path, self, name, AtFlags::SYMLINK_FOLLOW)?)
            }
            answer => Ok(answer?),
        }
    }

    /// Creates the symbolic link `name`, whose target is exactly `target`.
    ///
    /// # Errors
    ///
    /// Returns the error of `symlinkat(2)`, such as `EEXIST`. On error, nothing is changed.
    pub fn make_symlink(&self, target: &[u8], name: &CStr) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::symlinkat(target, self, name)?)
    }

    /// Returns the target of the symbolic link `name`.
    ///
    /// # Errors
    ///
    /// Returns the error of `readlinkat(2)`.
    pub fn read_symlink(&self, name: &CStr) -> io::Result<Vec<u8>> {
        Ok(rustix::fs::readlinkat(self, name, Vec::new())?.into_bytes())
    }

    /// Creates the directory `name`, which only its owner can access (mode 0700).
    ///
    /// # Errors
    ///
    /// Returns the error of `mkdirat(2)`. On error, nothing is changed.
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
    /// Returns the error of `mkdirat(2)`. On error, nothing is changed.
    pub fn make_dir(&self, name: &CStr) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::mkdirat(self, name, Mode::from_raw_mode(0o777))?)
    }

    /// Removes the empty directory `name`.
    ///
    /// # Errors
    ///
    /// Returns the error of `unlinkat(2)`. On error, nothing is changed.
    pub fn remove_empty_dir(&self, name: &CStr) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::unlinkat(self, name, AtFlags::REMOVEDIR)?)
    }

    /// Unlinks `name`, which must not be a directory. If this is the file's last name, its content
    /// is lost.
    ///
    /// # Errors
    ///
    /// Returns the error of `unlinkat(2)`. On error, nothing is changed.
    pub fn remove_name(&self, name: &CStr) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::unlinkat(self, name, AtFlags::empty())?)
    }

    /// Creates the file `name`, which only its owner can access (mode 0600), and opens it for
    /// writing. `name` must not exist.
    ///
    /// # Errors
    ///
    /// Returns the error of `openat(2)`, such as `EEXIST`. On error, nothing is changed.
    pub fn create_private_file(&self, name: &CStr) -> io::Result<NewFile> {
        about_to_change()?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        Ok(NewFile::from(rustix::fs::openat(self, name, flags | OFlags::NOFOLLOW, mode)?))
    }

    /// Checks that this process may create, rename and remove names in the directory.
    ///
    /// # Errors
    ///
    /// Returns the error of `faccessat(2)`, such as `EACCES` or `EROFS`.
    pub fn may_change(&self) -> io::Result<()> {
        let wanted = Access::WRITE_OK | Access::EXEC_OK;
        Ok(rustix::fs::accessat(self, c".", wanted, AtFlags::EACCESS)?)
    }

    /// Writes all cached data and metadata of the directory's file system to the disk
    /// (`syncfs(2)`).
    ///
    /// # Errors
    ///
    /// Fails if some data could not be written.
    pub fn sync_file_system(&self) -> io::Result<()> {
        Ok(rustix::fs::syncfs(self)?)
    }

    /// Sets the directory's access and modification times.
    ///
    /// # Errors
    ///
    /// Returns the error of `futimens(2)`. On error, nothing is changed.
    pub fn set_times(&self, atime: Time, mtime: Time) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::futimens(self, &timestamps(atime, mtime))?)
    }

    /// Creates the regular file `name` with the permissions in `mode` that the umask allows, and
    /// opens it for writing. `name` must not exist.
    ///
    /// # Errors
    ///
    /// Returns the error of `openat(2)`, such as `EEXIST`. On error, nothing is changed.
    pub fn create_file(&self, name: &CStr, mode: u32) -> io::Result<NewFile> {
        about_to_change()?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(mode & 0o777);
        Ok(NewFile::from(rustix::fs::openat(self, name, flags | OFlags::NOFOLLOW, mode)?))
    }

    /// Opens the regular file `name` for reading, like [`Dir::open_file`]. If this process is root
    /// or the owner of the file, reads do not update the access time (`O_NOATIME`).
    ///
    /// # Errors
    ///
    /// Same as for [`Dir::open_file`].
    pub fn open_file_quietly(&self, name: &CStr) -> io::Result<File> {
        match self.open_file_with(name, OFlags::NOATIME) {
            Err(e) if e.raw_os_error() == Some(libc::EPERM) => self.open_file(name),
            opened => opened,
        }
    }

    /// Creates an unnamed regular file (`O_TMPFILE`), which only its owner can access, and opens it
    /// for writing. The directory does not change, and the file is removed when it is closed.
    ///
    /// # Errors
    ///
    /// Returns `EOPNOTSUPP`, `EISDIR` or `ENOENT` if the file system does not support unnamed
    /// files.
    pub fn create_unnamed(&self) -> io::Result<NewFile> {
        about_to_change()?;
        let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
        Ok(NewFile::from(rustix::fs::openat(self, c".", flags, Mode::RUSR | Mode::WUSR)?))
    }

    /// Opens `name` for reading, like [`Dir::open_file_quietly`], but only if it is a regular file.
    /// Use this if another user may be able to replace the file with a device, because opening a
    /// device can have side effects.
    ///
    /// # Errors
    ///
    /// Returns `InvalidInput`, without opening `name`, if it is not a regular file.
    pub fn open_regular(&self, name: &CStr) -> io::Result<File> {
        #[cfg(feature = "faults")]
        crate::faults::check(crate::Op::Open, name.to_bytes())?;
        File::open_regular_at(self.as_fd(), name)
    }

    /// Prevents listings from updating the directory's access time, if this process is permitted to
    /// do so.
    pub fn list_quietly(&self) {
        // The other flags that this call resets have no effect on a directory.
        let _refused = rustix::fs::fcntl_setfl(self, OFlags::NOATIME);
    }

    /// Creates the FIFO, socket or device `name` with the type and device number of `like`. Only
    /// the owner can access it.
    ///
    /// # Errors
    ///
    /// Returns `EPERM` for a device, unless the process is privileged. On error, nothing is
    /// changed.
    pub fn make_node(&self, name: &CStr, like: &Stat) -> io::Result<()> {
        about_to_change()?;
        let kind = FileType::from_raw_mode(like.mode);
        Ok(rustix::fs::mknodat(self, name, kind, Mode::RUSR | Mode::WUSR, like.special)?)
    }

    /// Creates `new_name` in this directory as a hard link to `name` in `from`. `new_name` must not
    /// exist. If `name` is a symbolic link, the link itself gets the additional name.
    ///
    /// # Errors
    ///
    /// Returns `EMLINK` if the file has reached the link limit, and `EXDEV` if the directories are
    /// on different mounts. On error, nothing is changed.
    pub fn link_name(&self, from: &Dir, name: &CStr, new_name: &CStr) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::linkat(from, name, self, new_name, AtFlags::empty())?)
    }

    /// Atomically renames `ready` to `name`. If `name` exists, it is replaced.
    ///
    /// If both names belong to the same file, `rename(2)` does nothing and both names remain.
    ///
    /// # Errors
    ///
    /// Returns `EISDIR` or `ENOTDIR` if only one of the two is a directory, and `ENOTEMPTY` if
    /// `name` is a directory that is not empty. On error, nothing is changed.
    pub fn replace(&self, ready: &CStr, name: &CStr) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::renameat(self, ready, self, name)?)
    }

    /// Atomically renames `ready` to `name`, which must not exist.
    ///
    /// # Errors
    ///
    /// Returns `EEXIST` if `name` exists. Some file systems ignore case, so the existing name may
    /// differ in case. On error, nothing is changed.
    ///
    /// # Platform behavior
    ///
    /// NFS and some FUSE file systems do not support `RENAME_NOREPLACE`. On these, lop checks that
    /// the name is free and then uses a plain rename. A lock keeps other threads of this process
    /// from creating the name in between.
    pub fn rename_new(&self, ready: &CStr, name: &CStr) -> io::Result<()> {
        about_to_change()?;
        match rustix::fs::renameat_with(self, ready, self, name, RenameFlags::NOREPLACE) {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                static LOOK_AND_RENAME: Mutex<()> = Mutex::new(());
                let _turn = LOOK_AND_RENAME.lock().unwrap_or_else(PoisonError::into_inner);
                match self.stat_child(name) {
                    Ok(_) => Err(Errno::EXIST.into()),
                    Err(e) if e.kind() == io::ErrorKind::NotFound => {
                        Ok(rustix::fs::renameat(self, ready, self, name)?)
                    }
                    Err(e) => Err(e),
                }
            }
            answer => Ok(answer?),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use crate::Dir;

    #[test]
    fn end_of_file_is_found_by_reading() {
        let temp = tempfile::tempdir().expect("a directory");
        let dir = Dir::open(temp.path()).expect("exists");
        let new = dir.create_file(c"file", 0o600).expect("created");
        new.write_at(b"four", 0).expect("written");
        let file = dir.open_file(c"file").expect("opens");
        for (size, ends) in [(0, false), (3, false), (4, true), (5, true)] {
            assert_eq!(file.ends_at(size).expect("readable"), ends, "{size}");
        }
        // The kernel generates this file when it is read and reports a size of 0.
        if let Ok(made_up) = crate::File::open(std::path::Path::new("/proc/self/status")) {
            assert_eq!(made_up.stat().expect("exists").size, 0);
            assert!(!made_up.ends_at(0).expect("readable"));
        }
    }

    #[test]
    fn only_regular_files_are_opened() {
        let temp = tempfile::tempdir().expect("a directory");
        let dir = Dir::open(temp.path()).expect("exists");
        let new = dir.create_file(c"file", 0o600).expect("created");
        new.write_at(b"f", 0).expect("written");
        dir.make_dir(c"dir").expect("created");
        dir.make_symlink(b"file", c"link").expect("created");
        let mut byte = [0];
        let file = dir.open_regular(c"file").expect("opens");
        assert_eq!(file.read_at(&mut byte, 0).expect("readable"), 1);
        let like = |mode| crate::Stat { mode, special: 0, ..dir.stat().expect("exists") };
        dir.make_node(c"fifo", &like(libc::S_IFIFO)).expect("created");
        for name in [c"dir", c"link", c"fifo"] {
            let refused = dir.open_regular(name).expect_err("not a regular file");
            assert_eq!(refused.kind(), ErrorKind::InvalidInput, "{name:?}");
        }
        // This device has no driver, so opening it would fail with a different error.
        let device = crate::Stat { special: rustix::fs::makedev(240, 77), ..like(libc::S_IFCHR) };
        if dir.make_node(c"device", &device).is_ok() {
            let refused = dir.open_regular(c"device").expect_err("not a regular file");
            assert_eq!(refused.kind(), ErrorKind::InvalidInput);
        }
    }
}
