//! Creating entries as copies of others: inodes of every type, their metadata, and names replaced
//! by finished files. All calls are relative to open directories and follow no link.
//!
//! A new inode gets a temporary name and is renamed once it is finished. [`Dir::replace`] is the
//! only call of this crate that is meant to overwrite a name.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{
    AtFlags, CWD, FileType, FlockOperation, Gid, Mode, OFlags, RenameFlags, Uid, XattrFlags,
};
use rustix::io::Errno;

use crate::change::{about_to_change, timestamps};
use crate::dir::Dir;
use crate::file::File;
use crate::stat::{Kind, Stat, Time};
use crate::written::{NewFile, Xattr};
use crate::xattr;

impl Dir {
    /// Creates the regular file `name`, which must not exist, with the permissions of `mode` minus
    /// the umask, and opens it for writing.
    ///
    /// # Errors
    ///
    /// The error of `openat(2)`, such as `EEXIST`. Nothing has changed then.
    pub fn create_file_with(&self, name: &CStr, mode: u32) -> io::Result<NewFile> {
        about_to_change()?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(mode & 0o777);
        Ok(NewFile::from(rustix::fs::openat(self, name, flags | OFlags::NOFOLLOW, mode)?))
    }

    /// Opens the regular file `name` for reading, as [`Dir::open_file`] does, without updating its
    /// access time where this process may do so (`O_NOATIME`: the owner and root).
    ///
    /// # Errors
    ///
    /// As for [`Dir::open_file`].
    pub fn open_file_quietly(&self, name: &CStr) -> io::Result<File> {
        match self.open_file_with(name, OFlags::NOATIME) {
            Err(e) if e.raw_os_error() == Some(libc::EPERM) => self.open_file(name),
            opened => opened,
        }
    }

    /// Creates an unnamed regular file (`O_TMPFILE`) for the owner alone, open for writing. It does
    /// not change the directory and is gone once it is closed.
    ///
    /// # Errors
    ///
    /// `EOPNOTSUPP`, `EISDIR` or `ENOENT` where the file system has no unnamed files.
    pub fn create_unnamed(&self) -> io::Result<NewFile> {
        about_to_change()?;
        let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
        Ok(NewFile::from(rustix::fs::openat(self, c".", flags, Mode::RUSR | Mode::WUSR)?))
    }

    /// Opens `name` for reading as [`Dir::open_file_quietly`] does, if it is a regular file.
    /// Opening a device can have effects, and another user may decide what has the name.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if it is not a regular file; it has not been opened then.
    pub fn open_regular(&self, name: &CStr) -> io::Result<File> {
        #[cfg(feature = "faults")]
        crate::faults::check(crate::Op::Open, name.to_bytes())?;
        File::open_regular_at(self.as_fd(), name)
    }

    /// Makes listings of the directory leave its access time alone, where this process may do so.
    pub fn list_quietly(&self) {
        // No other settable flag has an effect on a directory.
        let _refused = rustix::fs::fcntl_setfl(self, OFlags::NOATIME);
    }

    /// Creates the FIFO, socket or device `name` for the owner alone. `like` has the type and
    /// device number.
    ///
    /// # Errors
    ///
    /// `EPERM` for a device without root rights. Nothing has changed then.
    pub fn make_node(&self, name: &CStr, like: &Stat) -> io::Result<()> {
        about_to_change()?;
        let kind = FileType::from_raw_mode(like.mode);
        Ok(rustix::fs::mknodat(self, name, kind, Mode::RUSR | Mode::WUSR, like.special)?)
    }

    /// Links `name` in `from` to `new_name` here, which must not exist. For a symbolic link, the
    /// link itself gets the new name.
    ///
    /// # Errors
    ///
    /// `EMLINK` at the link limit, `EXDEV` on a different mount. Nothing has changed then.
    pub fn link_name(&self, from: &Dir, name: &CStr, new_name: &CStr) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::linkat(from, name, self, new_name, AtFlags::empty())?)
    }

    /// Renames `ready` to `name` atomically, replacing what has that name.
    ///
    /// If both are names of one file, both stay: `rename(2)` does nothing then.
    ///
    /// # Errors
    ///
    /// `EISDIR` or `ENOTDIR` if only one is a directory, `ENOTEMPTY` for a non-empty directory.
    /// Nothing has changed then.
    pub fn replace(&self, ready: &CStr, name: &CStr) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::renameat(self, ready, self, name)?)
    }

    /// Renames `ready` to `name`, which must not exist, atomically.
    ///
    /// # Errors
    ///
    /// `EEXIST` if it exists, also under a different spelling where the file system treats both as
    /// one. Nothing has changed then.
    ///
    /// # Platform behavior
    ///
    /// NFS and some FUSE file systems lack a rename that refuses to replace. There a check for the
    /// name precedes a plain rename; other threads of this process wait in the meantime.
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

    /// Returns the extended attributes of `name` that this process may see; of the link itself for
    /// a link. Empty where there are none.
    ///
    /// # Errors
    ///
    /// The error of `llistxattr(2)` or `lgetxattr(2)`.
    pub fn child_xattrs(&self, name: &CStr) -> io::Result<Vec<Xattr>> {
        xattr::all_of_path(&self.path_of(name)?)
    }

    /// Returns the ACLs of `name`. Reading them needs no read permission, and works however many
    /// other attributes there are.
    ///
    /// # Errors
    ///
    /// The error of `lgetxattr(2)`.
    pub fn child_acls(&self, name: &CStr) -> io::Result<Vec<Xattr>> {
        xattr::acls_of_path(&self.path_of(name)?)
    }

    /// Returns the directory's own ACLs, as [`Dir::child_acls`] does.
    ///
    /// # Errors
    ///
    /// The error of `lgetxattr(2)`.
    pub fn acls(&self) -> io::Result<Vec<Xattr>> {
        xattr::acls_of_path(&self.path_of(c".")?)
    }

    /// Returns the directory's own extended attributes, as [`Dir::child_xattrs`] does.
    ///
    /// # Errors
    ///
    /// The error of `llistxattr(2)` or `lgetxattr(2)`.
    pub fn xattrs(&self) -> io::Result<Vec<Xattr>> {
        xattr::all(self.as_fd())
    }

    /// Sets owner and group of `name`; of the link itself for a link.
    ///
    /// # Errors
    ///
    /// The error of `fchownat(2)`, such as `EPERM`. Nothing has changed then.
    pub fn set_child_owner(&self, name: &CStr, owner: Option<u32>, group: u32) -> io::Result<()> {
        about_to_change()?;
        let (uid, gid) = (owner.map(Uid::from_raw), Gid::from_raw(group));
        Ok(rustix::fs::chownat(self, name, uid, Some(gid), AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Sets the permissions of `name`, which is not a link.
    ///
    /// # Errors
    ///
    /// `EOPNOTSUPP` or `ELOOP` for a link; otherwise the error of `fchmodat(2)`. Nothing has
    /// changed then.
    pub fn set_child_mode(&self, name: &CStr, mode: u32) -> io::Result<()> {
        about_to_change()?;
        // Before Linux 6.6 no call changes a mode without following a link. An `O_PATH` descriptor
        // is no link.
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let held = rustix::fs::openat(self, name, flags, Mode::empty())?;
        if FileType::from_raw_mode(rustix::fs::fstat(&held)?.st_mode) == FileType::Symlink {
            return Err(Errno::LOOP.into());
        }
        let path = format!("/proc/thread-self/fd/{}", held.as_raw_fd());
        let mode = Mode::from_raw_mode(mode & 0o7777);
        Ok(rustix::fs::chmodat(CWD, path, mode, AtFlags::empty())?)
    }

    /// Gives `name` exactly these extended attributes, except for those of security modules. For a
    /// link, the link itself gets them.
    ///
    /// # Errors
    ///
    /// The first attribute that could not be set or removed. The others have been processed all the
    /// same.
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

    /// Sets access and modification time of `name`; of the link itself for a link.
    ///
    /// # Errors
    ///
    /// The error of `utimensat(2)`. Nothing has changed then.
    pub fn set_child_times(&self, name: &CStr, atime: Time, mtime: Time) -> io::Result<()> {
        about_to_change()?;
        let times = timestamps(atime, mtime);
        Ok(rustix::fs::utimensat(self, name, &times, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Sets the directory's own owner and group.
    ///
    /// # Errors
    ///
    /// The error of `fchown(2)`, such as `EPERM`. Nothing has changed then.
    pub fn set_owner(&self, owner: Option<u32>, group: u32) -> io::Result<()> {
        about_to_change()?;
        let (uid, gid) = (owner.map(Uid::from_raw), Gid::from_raw(group));
        Ok(rustix::fs::fchown(self, uid, Some(gid))?)
    }

    /// Sets the directory's own permissions.
    ///
    /// # Errors
    ///
    /// The error of `fchmod(2)`. Nothing has changed then.
    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::fchmod(self, Mode::from_raw_mode(mode & 0o7777))?)
    }

    /// Gives the directory itself exactly these extended attributes, except for those of security
    /// modules.
    ///
    /// # Errors
    ///
    /// As for [`Dir::set_child_xattrs`].
    pub fn set_xattrs(&self, now: &[Xattr], wanted: &[Xattr]) -> io::Result<()> {
        about_to_change()?;
        xattr::set_on(self.as_fd(), now, wanted)
    }

    /// Waits until the directory's names are on the disk.
    ///
    /// # Errors
    ///
    /// The error of `fsync(2)`.
    pub fn sync(&self) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::fsync(self)?)
    }

    /// Returns whether new files in the directory inherit a default ACL.
    pub fn hands_down_acl(&self) -> bool {
        let name = c"system.posix_acl_default";
        match rustix::fs::fgetxattr_query(self, name) {
            Ok(length) => length > 0,
            // On any other error a default ACL is possible, so each new file is checked.
            Err(e) => !matches!(e, Errno::NODATA | Errno::OPNOTSUPP),
        }
    }

    /// Locks the directory (`flock(2)`) until [`Dir::unlock`], or until all copies of this
    /// descriptor are closed. Returns whether it got the lock. On file systems without directory
    /// locks it always does.
    ///
    /// # Errors
    ///
    /// The error of `flock(2)`.
    pub fn lock(&self) -> io::Result<bool> {
        match rustix::fs::flock(self, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => Ok(false),
            Ok(()) | Err(Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOLCK | Errno::BADF) => Ok(true),
            Err(e) => Err(e.into()),
        }
    }

    /// Releases the lock of [`Dir::lock`], for all copies of the descriptor.
    pub fn unlock(&self) {
        // Unlocking fails only if there was no lock.
        let _not_locked = rustix::fs::flock(self, FlockOperation::Unlock);
    }

    /// Returns a path to `name` that starts at this descriptor, for system calls that take no
    /// descriptor. Only the last component is looked up.
    fn path_of(&self, name: &CStr) -> io::Result<CString> {
        let mut path = format!("/proc/thread-self/fd/{}/", self.as_fd().as_raw_fd()).into_bytes();
        path.extend_from_slice(name.to_bytes());
        Ok(CString::new(path)?)
    }
}

impl NewFile {
    /// Sets owner and group. A new file needs this only if they differ from the defaults.
    ///
    /// # Errors
    ///
    /// The error of `fchown(2)`, such as `EPERM`. Nothing has changed then.
    pub fn set_owner_to(&self, owner: Option<u32>, group: u32) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::fchown(self.as_fd(), owner.map(Uid::from_raw), Some(Gid::from_raw(group)))?)
    }

    /// Sets the permissions.
    ///
    /// # Errors
    ///
    /// The error of `fchmod(2)`. Nothing has changed then.
    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::fchmod(self.as_fd(), Mode::from_raw_mode(mode & 0o7777))?)
    }

    /// Gives the file exactly these extended attributes, except for those of security modules.
    /// `now` has the current ones.
    ///
    /// # Errors
    ///
    /// As for [`Dir::set_child_xattrs`].
    pub fn set_xattrs_to(&self, now: &[Xattr], wanted: &[Xattr]) -> io::Result<()> {
        about_to_change()?;
        xattr::set_on(self.as_fd(), now, wanted)
    }

    /// Returns the extended attributes that this process may see.
    ///
    /// # Errors
    ///
    /// The error of `flistxattr(2)` or `fgetxattr(2)`.
    pub fn xattrs(&self) -> io::Result<Vec<Xattr>> {
        xattr::all(self.as_fd())
    }

    /// Sets access and modification time.
    ///
    /// # Errors
    ///
    /// The error of `futimens(2)`. Nothing has changed then.
    pub fn set_times(&self, atime: Time, mtime: Time) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::futimens(self.as_fd(), &timestamps(atime, mtime))?)
    }

    /// Writes all of `bytes` at `offset`.
    ///
    /// # Errors
    ///
    /// The error of `pwrite(2)`. Part of the bytes may have been written.
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

    /// Sets the size in bytes. Ranges that were not written are holes.
    ///
    /// # Errors
    ///
    /// The error of `ftruncate(2)`.
    pub fn set_size(&self, size: u64) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::ftruncate(self.as_fd(), size)?)
    }

    /// Makes the file share all extents of `source`. Returns false if these two files cannot share
    /// extents.
    ///
    /// # Errors
    ///
    /// The error of `ioctl_ficlone(2)`.
    pub fn clone_from(&self, source: &File) -> io::Result<bool> {
        about_to_change()?;
        match rustix::fs::ioctl_ficlone(self.as_fd(), source.fd()) {
            Ok(()) => Ok(true),
            Err(Errno::NOSPC | Errno::IO | Errno::DQUOT) => Err(Errno::NOSPC.into()),
            Err(_) => Ok(false),
        }
    }

    /// Copies up to `length` bytes at `at` from `source` inside the kernel. Returns the number of
    /// bytes, or `None` if the kernel cannot do that for these two files.
    ///
    /// # Errors
    ///
    /// The error of `copy_file_range(2)`. Part of the bytes may have been copied.
    pub fn copy_range(&self, source: &File, at: u64, length: u64) -> io::Result<Option<u64>> {
        about_to_change()?;
        let (mut from, mut to) = (at, at);
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        loop {
            let (from, to) = (Some(&mut from), Some(&mut to));
            match rustix::fs::copy_file_range(source.fd(), from, self.as_fd(), to, length) {
                Ok(copied) => return Ok(Some(copied as u64)),
                Err(Errno::INTR) => {}
                // Not between these two file systems, or not on this one. `ETXTBSY`: the kernel
                // does not copy an active swap file.
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

    /// Waits until the file's bytes are on the disk and drops them from the page cache, so that the
    /// next read comes from the disk.
    ///
    /// # Errors
    ///
    /// The error of `fsync(2)`.
    pub fn sync_and_forget(&self) -> io::Result<()> {
        about_to_change()?;
        rustix::fs::fdatasync(self.as_fd())?;
        // Advice that the kernel ignores has no effect.
        let _refused = rustix::fs::fadvise(self.as_fd(), 0, None, rustix::fs::Advice::DontNeed);
        Ok(())
    }
}

/// Returns the process's umask: the permissions that new files do not get (`umask(2)`).
///
/// # Platform behavior
///
/// Before Linux 4.7, or without `/proc`, reading the umask means to change it for a moment. Call
/// this while the process has a single thread.
pub fn umask() -> u32 {
    let status = std::fs::read_to_string("/proc/thread-self/status").unwrap_or_default();
    let said = status.lines().find_map(|line| line.strip_prefix("Umask:"));
    if let Some(known) = said.and_then(|said| u32::from_str_radix(said.trim(), 8).ok()) {
        return known;
    }
    let now = rustix::process::umask(Mode::from_raw_mode(0o077));
    rustix::process::umask(now);
    now.as_raw_mode()
}

/// Returns the process's group ids.
pub fn groups() -> Vec<u32> {
    let mut groups: Vec<u32> = rustix::process::getgroups()
        .map(|groups| groups.into_iter().map(Gid::as_raw).collect())
        .unwrap_or_default();
    groups.push(rustix::process::getegid().as_raw());
    groups
}

impl Kind {
    /// Returns whether this is a FIFO, a socket or a device: an inode without content.
    pub fn is_special(self) -> bool {
        matches!(self, Kind::Fifo | Kind::Socket | Kind::Device)
    }
}

#[cfg(test)]
mod tests {
    use std::io::ErrorKind;

    use crate::Dir;

    #[test]
    fn a_file_ends_where_nothing_can_be_read() {
        let temp = tempfile::tempdir().expect("a directory");
        let dir = Dir::open(temp.path()).expect("it is there");
        let new = dir.create_file_with(c"file", 0o600).expect("made");
        new.write_at(b"four", 0).expect("written");
        let file = dir.open_file(c"file").expect("it is opened");
        for (size, ends) in [(0, false), (3, false), (4, true), (5, true)] {
            assert_eq!(file.ends_at(size).expect("it is read"), ends, "{size}");
        }
        // The kernel generates this file on reading and reports a size of 0.
        if let Ok(made_up) = crate::File::open(std::path::Path::new("/proc/self/status")) {
            assert_eq!(made_up.stat().expect("there").size, 0);
            assert!(!made_up.ends_at(0).expect("it is read"));
        }
    }

    #[test]
    fn only_a_regular_file_is_opened() {
        let temp = tempfile::tempdir().expect("a directory");
        let dir = Dir::open(temp.path()).expect("it is there");
        let new = dir.create_file_with(c"file", 0o600).expect("made");
        new.write_at(b"f", 0).expect("written");
        dir.make_dir(c"dir").expect("made");
        dir.make_symlink(b"file", c"link").expect("made");
        let mut byte = [0];
        let file = dir.open_regular(c"file").expect("it is opened");
        assert_eq!(file.read_at(&mut byte, 0).expect("it is read"), 1);
        let like = |mode| crate::Stat { mode, special: 0, ..dir.stat().expect("there") };
        dir.make_node(c"fifo", &like(libc::S_IFIFO)).expect("made");
        for name in [c"dir", c"link", c"fifo"] {
            let refused = dir.open_regular(name).expect_err("it is no file");
            assert_eq!(refused.kind(), ErrorKind::InvalidInput, "{name:?}");
        }
        // A device without a driver; opening it fails.
        let device = crate::Stat { special: rustix::fs::makedev(240, 77), ..like(libc::S_IFCHR) };
        if dir.make_node(c"device", &device).is_ok() {
            let refused = dir.open_regular(c"device").expect_err("it is no file");
            assert_eq!(refused.kind(), ErrorKind::InvalidInput);
        }
    }
}
