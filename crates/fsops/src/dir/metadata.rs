//! Metadata of a directory and its entries: owners, modes, times, extended attributes and locks.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd};

use rustix::fs::{AtFlags, CWD, FileType, FlockOperation, Gid, Mode, OFlags, Uid, XattrFlags};
use rustix::io::Errno;

use super::Dir;
use crate::change::{about_to_change, timestamps};
use crate::file::xattr::{self, Xattr};
use crate::stat::Time;

impl Dir {
    /// Returns the extended attributes of `name` that this process may see. If `name` is a link,
    /// returns the attributes of the link itself. The list is empty if the file system does not
    /// support attributes.
    ///
    /// # Errors
    ///
    /// Returns the error of `llistxattr(2)` or `lgetxattr(2)`.
    pub fn child_xattrs(&self, name: &CStr) -> io::Result<Vec<Xattr>> {
        xattr::all_of_path(&self.path_of(name)?)
    }

    /// Returns the ACLs of `name`. This needs no read permission, and works even if the list of all
    /// attributes is too long for `llistxattr(2)`.
    ///
    /// # Errors
    ///
    /// Returns the error of `lgetxattr(2)`.
    pub fn child_acls(&self, name: &CStr) -> io::Result<Vec<Xattr>> {
        xattr::acls_of_path(&self.path_of(name)?)
    }

    /// Like [`Dir::child_acls`], but returns the ACLs of the directory itself.
    ///
    /// # Errors
    ///
    /// Returns the error of `lgetxattr(2)`.
    pub fn acls(&self) -> io::Result<Vec<Xattr>> {
        xattr::acls_of_path(&self.path_of(c".")?)
    }

    /// Like [`Dir::child_xattrs`], but returns the attributes of the directory itself.
    ///
    /// # Errors
    ///
    /// Returns the error of `llistxattr(2)` or `lgetxattr(2)`.
    pub fn xattrs(&self) -> io::Result<Vec<Xattr>> {
        xattr::all(self.as_fd())
    }

    /// Sets the owner and group of `name`. If `name` is a link, the link itself is changed.
    ///
    /// # Errors
    ///
    /// Returns the error of `fchownat(2)`, such as `EPERM`. On error, nothing is changed.
    pub fn set_child_owner(&self, name: &CStr, owner: Option<u32>, group: u32) -> io::Result<()> {
        about_to_change()?;
        let (uid, gid) = (owner.map(Uid::from_raw), Gid::from_raw(group));
        Ok(rustix::fs::chownat(self, name, uid, Some(gid), AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Sets the permissions of `name`, which must not be a link.
    ///
    /// # Errors
    ///
    /// Returns `EOPNOTSUPP` or `ELOOP` for a link, and the error of `fchmodat(2)` for any other
    /// failure. On error, nothing is changed.
    pub fn set_child_mode(&self, name: &CStr, mode: u32) -> io::Result<()> {
        about_to_change()?;
        // Before Linux 6.6, every call that changes the mode of a path follows links. Changing the
        // mode through an `O_PATH` descriptor avoids looking up the name again.
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let held = rustix::fs::openat(self, name, flags, Mode::empty())?;
        if FileType::from_raw_mode(rustix::fs::fstat(&held)?.st_mode) == FileType::Symlink {
            return Err(Errno::LOOP.into());
        }
        let path = format!("/proc/thread-self/fd/{}", held.as_raw_fd());
        let mode = Mode::from_raw_mode(mode & 0o7777);
        Ok(rustix::fs::chmodat(CWD, path, mode, AtFlags::empty())?)
    }

    /// Sets the extended attributes of `name` to `wanted` and removes all others, except those of
    /// security modules. `now` lists the current attributes. If `name` is a link, the link itself
    /// is changed.
    ///
    /// # Errors
    ///
    /// Returns the error for the first attribute that could not be set or removed. The remaining
    /// attributes have still been processed.
    pub fn set_child_xattrs(&self, name: &CStr, now: &[Xattr], wanted: &[Xattr]) -> io::Result<()> {
        about_to_change()?;
        let path = self.path_of(name)?;
        xattr::set(
            now,
            wanted,
            |name| rustix::fs::lremovexattr(&path, name),
            |name, value| rustix::fs::lsetxattr(&path, name, value, XattrFlags::empty()),
        )
    }

    /// Sets the access and modification times of `name`. If `name` is a link, the link itself is
    /// changed.
    ///
    /// # Errors
    ///
    /// Returns the error of `utimensat(2)`. On error, nothing is changed.
    pub fn set_child_times(&self, name: &CStr, atime: Time, mtime: Time) -> io::Result<()> {
        about_to_change()?;
        let times = timestamps(atime, mtime);
        Ok(rustix::fs::utimensat(self, name, &times, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Sets the directory's own owner and group.
    ///
    /// # Errors
    ///
    /// Returns the error of `fchown(2)`, such as `EPERM`. On error, nothing is changed.
    pub fn set_owner(&self, owner: Option<u32>, group: u32) -> io::Result<()> {
        about_to_change()?;
        let (uid, gid) = (owner.map(Uid::from_raw), Gid::from_raw(group));
        Ok(rustix::fs::fchown(self, uid, Some(gid))?)
    }

    /// Sets the directory's own permissions.
    ///
    /// # Errors
    ///
    /// Returns the error of `fchmod(2)`. On error, nothing is changed.
    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::fchmod(self, Mode::from_raw_mode(mode & 0o7777))?)
    }

    /// Sets the directory's own extended attributes to `wanted` and removes all others, except
    /// those of security modules.
    ///
    /// # Errors
    ///
    /// Same as for [`Dir::set_child_xattrs`].
    pub fn set_xattrs(&self, now: &[Xattr], wanted: &[Xattr]) -> io::Result<()> {
        about_to_change()?;
        xattr::set_on(self.as_fd(), now, wanted)
    }

    /// Writes the directory's entries to the disk and waits for completion.
    ///
    /// # Errors
    ///
    /// Returns the error of `fsync(2)`.
    pub fn sync(&self) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::fsync(self)?)
    }

    /// Returns true if new files in the directory inherit a default ACL, or if this cannot be
    /// determined.
    pub fn hands_down_acl(&self) -> bool {
        let name = c"system.posix_acl_default";
        match rustix::fs::fgetxattr_query(self, name) {
            Ok(length) => length > 0,
            // After any other error, there might be a default ACL.
            Err(e) => !matches!(e, Errno::NODATA | Errno::OPNOTSUPP),
        }
    }

    /// Locks the directory (`flock(2)`) until [`Dir::unlock`], or until all copies of this
    /// descriptor are closed. Returns true if the lock was acquired, or if the file system does not
    /// support locks on directories.
    ///
    /// # Errors
    ///
    /// Returns the error of `flock(2)`.
    pub fn lock(&self) -> io::Result<bool> {
        match rustix::fs::flock(self, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => Ok(false),
            Ok(()) | Err(Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOLCK | Errno::BADF) => Ok(true),
            Err(e) => Err(e.into()),
        }
    }

    /// Returns whether a process holds an exclusive lock on the directory (`flock(2)`).
    ///
    /// # Errors
    ///
    /// Returns the error of `flock(2)`.
    pub fn is_locked(&self) -> io::Result<bool> {
        match rustix::fs::flock(self, FlockOperation::NonBlockingLockShared) {
            Err(Errno::WOULDBLOCK) => Ok(true),
            Ok(()) => {
                self.unlock();
                Ok(false)
            }
            Err(Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOLCK | Errno::BADF) => Ok(false),
            Err(e) => Err(e.into()),
        }
    }

    /// Releases the lock taken by [`Dir::lock`], for all copies of the descriptor.
    pub fn unlock(&self) {
        // This fails only if the directory was not locked.
        let _not_locked = rustix::fs::flock(self, FlockOperation::Unlock);
    }

    /// Returns a path to `name` through `/proc/thread-self/fd`, for system calls that do not take a
    /// descriptor. The kernel looks up `name` in the open directory and resolves no other name.
    fn path_of(&self, name: &CStr) -> io::Result<CString> {
        let mut path = format!("/proc/thread-self/fd/{}/", self.as_fd().as_raw_fd()).into_bytes();
        path.extend_from_slice(name.to_bytes());
        Ok(CString::new(path)?)
    }
}
