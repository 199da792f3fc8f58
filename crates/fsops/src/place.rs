//! Entries put into a directory as a copy of others: inodes of every kind made, names replaced by names
//! that are ready, metadata set, always relative to held directories and never through a link.
//!
//! What is made is made under a name of its own and renamed when it is what it is to be:
//! [`Dir::replace`] is the only call of this crate that is meant to overwrite a name.

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
    /// Makes the regular file `name`, which must be free, with the permissions of `mode` less those of the
    /// process's umask, open for writing.
    pub fn create_file_with(&self, name: &CStr, mode: u32) -> io::Result<NewFile> {
        about_to_change()?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode(mode & 0o777);
        Ok(NewFile::from(rustix::fs::openat(self, name, flags | OFlags::NOFOLLOW, mode)?))
    }

    /// Opens the regular file `name` for reading, as [`Dir::open_file`] does, and leaves its time of access as it
    /// is, where this process may: only the owner and root can ask for that.
    pub fn open_file_quietly(&self, name: &CStr) -> io::Result<File> {
        match self.open_file_with(name, OFlags::NOATIME) {
            Err(e) if e.raw_os_error() == Some(libc::EPERM) => self.open_file(name),
            opened => opened,
        }
    }

    /// Makes a regular file without a name, for the owner alone, open for writing: it changes nothing in the
    /// directory, and is gone when it is closed.
    ///
    /// # Errors
    ///
    /// `EOPNOTSUPP`, or `EISDIR` or `ENOENT`, where the file system has none.
    pub fn create_unnamed(&self) -> io::Result<NewFile> {
        about_to_change()?;
        let flags = OFlags::RDWR | OFlags::TMPFILE | OFlags::CLOEXEC;
        Ok(NewFile::from(rustix::fs::openat(self, c".", flags, Mode::RUSR | Mode::WUSR)?))
    }

    /// Opens `name` for reading as [`Dir::open_file_quietly`] does, if it is a regular file: to open a device can
    /// have it do something, and somebody else may decide what has the name.
    ///
    /// # Errors
    ///
    /// `InvalidInput` if it is something else, which was not opened then.
    pub fn open_regular(&self, name: &CStr) -> io::Result<File> {
        #[cfg(feature = "faults")]
        crate::faults::check(crate::Op::Open, name.to_bytes())?;
        File::open_regular_at(self.as_fd(), name)
    }

    /// Has listings of the directory leave its time of access as it is, where this process may have that.
    pub fn list_quietly(&self) {
        // No other flag that can be set means anything for a directory.
        let _refused = rustix::fs::fcntl_setfl(self, OFlags::NOATIME);
    }

    /// Makes the FIFO, socket or device `name` for the owner alone; `like` says which.
    ///
    /// # Errors
    ///
    /// `EPERM` for a device, unless one is root.
    pub fn make_node(&self, name: &CStr, like: &Stat) -> io::Result<()> {
        about_to_change()?;
        let kind = FileType::from_raw_mode(like.mode);
        Ok(rustix::fs::mknodat(self, name, kind, Mode::RUSR | Mode::WUSR, like.special)?)
    }

    /// Gives what is called `name` in `from` the further name `new_name` here, which must be free; a
    /// symbolic link gets it itself.
    ///
    /// # Errors
    ///
    /// `EMLINK` if it has as many names as it can have, `EXDEV` on another mount.
    pub fn link_name(&self, from: &Dir, name: &CStr, new_name: &CStr) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::linkat(from, name, self, new_name, AtFlags::empty())?)
    }

    /// Renames `ready` to `name` in one step. Whatever had that name loses it.
    ///
    /// Two names of one file stay as they are: `rename(2)` does nothing then.
    ///
    /// # Errors
    ///
    /// `EISDIR` or `ENOTDIR` if one is a directory and the other is not, `ENOTEMPTY` for a directory that
    /// something is in. Nothing has changed then.
    pub fn replace(&self, ready: &CStr, name: &CStr) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::renameat(self, ready, self, name)?)
    }

    /// Renames `ready` to `name`, which must be free, in one step.
    ///
    /// # Errors
    ///
    /// `EEXIST` if it is not free, also under another spelling where the file system does not tell these apart.
    ///
    /// # Platform behavior
    ///
    /// Where a rename cannot be told not to replace (NFS and some FUSE file systems), it is looked before whether
    /// the name is free, and other threads of this process wait meanwhile.
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

    /// Returns the extended attributes of `name` that this process may see, of a link itself; none where
    /// there can be none.
    pub fn child_xattrs(&self, name: &CStr) -> io::Result<Vec<Xattr>> {
        xattr::all_of_path(&self.path_of(name)?)
    }

    /// Returns the ACLs of `name`, which need no right to read it, and are found however many other attributes
    /// there are.
    pub fn child_acls(&self, name: &CStr) -> io::Result<Vec<Xattr>> {
        xattr::acls_of_path(&self.path_of(name)?)
    }

    /// Returns the directory's own ACLs, as [`Dir::child_acls`] does.
    pub fn acls(&self) -> io::Result<Vec<Xattr>> {
        xattr::acls_of_path(&self.path_of(c".")?)
    }

    /// Returns the directory's own extended attributes, as [`Dir::child_xattrs`] does.
    pub fn xattrs(&self) -> io::Result<Vec<Xattr>> {
        xattr::all(self.as_fd())
    }

    /// Gives `name`, a link itself, the owner and group.
    pub fn set_child_owner(&self, name: &CStr, owner: Option<u32>, group: u32) -> io::Result<()> {
        about_to_change()?;
        let (uid, gid) = (owner.map(Uid::from_raw), Gid::from_raw(group));
        Ok(rustix::fs::chownat(self, name, uid, Some(gid), AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Gives `name`, which is no link, the permissions of `mode`.
    ///
    /// # Errors
    ///
    /// `EOPNOTSUPP` or `ELOOP` for a link.
    pub fn set_child_mode(&self, name: &CStr, mode: u32) -> io::Result<()> {
        about_to_change()?;
        // Before Linux 6.6 no call does that without following a link; a descriptor is none.
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let held = rustix::fs::openat(self, name, flags, Mode::empty())?;
        if FileType::from_raw_mode(rustix::fs::fstat(&held)?.st_mode) == FileType::Symlink {
            return Err(Errno::LOOP.into());
        }
        let path = format!("/proc/thread-self/fd/{}", held.as_raw_fd());
        let mode = Mode::from_raw_mode(mode & 0o7777);
        Ok(rustix::fs::chmodat(CWD, path, mode, AtFlags::empty())?)
    }

    /// Gives `name`, a link itself, exactly these extended attributes, but for those of security modules.
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

    /// Sets the times of access and modification of `name`, a link itself.
    pub fn set_child_times(&self, name: &CStr, atime: Time, mtime: Time) -> io::Result<()> {
        about_to_change()?;
        let times = timestamps(atime, mtime);
        Ok(rustix::fs::utimensat(self, name, &times, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Gives the directory itself the owner and group.
    pub fn set_owner(&self, owner: Option<u32>, group: u32) -> io::Result<()> {
        about_to_change()?;
        let (uid, gid) = (owner.map(Uid::from_raw), Gid::from_raw(group));
        Ok(rustix::fs::fchown(self, uid, Some(gid))?)
    }

    /// Gives the directory itself the permissions of `mode`.
    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::fchmod(self, Mode::from_raw_mode(mode & 0o7777))?)
    }

    /// Gives the directory itself exactly these extended attributes, but for those of security modules.
    pub fn set_xattrs(&self, now: &[Xattr], wanted: &[Xattr]) -> io::Result<()> {
        about_to_change()?;
        xattr::set_on(self.as_fd(), now, wanted)
    }

    /// Waits until the directory's names are on the disk.
    pub fn sync(&self) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::fsync(self)?)
    }

    /// Returns whether new files in the directory get an ACL from it.
    pub fn hands_down_acl(&self) -> bool {
        let name = c"system.posix_acl_default";
        match rustix::fs::fgetxattr_query(self, name) {
            Ok(length) => length > 0,
            // What is not known may be so: then each new file is looked at.
            Err(e) => !matches!(e, Errno::NODATA | Errno::OPNOTSUPP),
        }
    }

    /// Locks the directory, until [`Dir::unlock`] or until all descriptors are closed that are copies of this
    /// one; returns whether nobody else has it locked. Where directories cannot be locked nobody has.
    pub fn lock(&self) -> io::Result<bool> {
        match rustix::fs::flock(self, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => Ok(false),
            Ok(()) | Err(Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOLCK | Errno::BADF) => Ok(true),
            Err(e) => Err(e.into()),
        }
    }

    /// Ends what [`Dir::lock`] began, for all copies of the descriptor.
    pub fn unlock(&self) {
        // What cannot be unlocked was not locked.
        let _not_locked = rustix::fs::flock(self, FlockOperation::Unlock);
    }

    /// Returns a path to `name` that begins with this descriptor, for calls that take no descriptor: the
    /// name itself is the only component that is looked up.
    fn path_of(&self, name: &CStr) -> io::Result<CString> {
        let mut path = format!("/proc/thread-self/fd/{}/", self.as_fd().as_raw_fd()).into_bytes();
        path.extend_from_slice(name.to_bytes());
        Ok(CString::new(path)?)
    }
}

impl NewFile {
    /// Gives it the owner and group; of a new file only what differs need be set.
    pub fn set_owner_to(&self, owner: Option<u32>, group: u32) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::fchown(self.as_fd(), owner.map(Uid::from_raw), Some(Gid::from_raw(group)))?)
    }

    /// Gives it the permissions of `mode`.
    pub fn set_mode(&self, mode: u32) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::fchmod(self.as_fd(), Mode::from_raw_mode(mode & 0o7777))?)
    }

    /// Gives it exactly these extended attributes, but for those of security modules; `now` is what it has.
    pub fn set_xattrs_to(&self, now: &[Xattr], wanted: &[Xattr]) -> io::Result<()> {
        about_to_change()?;
        xattr::set_on(self.as_fd(), now, wanted)
    }

    /// Returns its extended attributes that this process may see.
    pub fn xattrs(&self) -> io::Result<Vec<Xattr>> {
        xattr::all(self.as_fd())
    }

    /// Sets its times of access and modification.
    pub fn set_times(&self, atime: Time, mtime: Time) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::futimens(self.as_fd(), &timestamps(atime, mtime))?)
    }

    /// Writes all of `bytes` at `offset`.
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

    /// Makes it `size` bytes long; what was not written is a hole.
    pub fn set_size(&self, size: u64) -> io::Result<()> {
        about_to_change()?;
        Ok(rustix::fs::ftruncate(self.as_fd(), size)?)
    }

    /// Makes it share all extents of `source`; returns whether these files can.
    pub fn clone_from(&self, source: &File) -> io::Result<bool> {
        about_to_change()?;
        match rustix::fs::ioctl_ficlone(self.as_fd(), source.fd()) {
            Ok(()) => Ok(true),
            Err(Errno::NOSPC | Errno::IO | Errno::DQUOT) => Err(Errno::NOSPC.into()),
            Err(_) => Ok(false),
        }
    }

    /// Copies up to `length` bytes at `at` from `source` within the kernel; returns how many, or nothing if it
    /// cannot do that with these files.
    pub fn copy_range(&self, source: &File, at: u64, length: u64) -> io::Result<Option<u64>> {
        about_to_change()?;
        let (mut from, mut to) = (at, at);
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        loop {
            let (from, to) = (Some(&mut from), Some(&mut to));
            match rustix::fs::copy_file_range(source.fd(), from, self.as_fd(), to, length) {
                Ok(copied) => return Ok(Some(copied as u64)),
                Err(Errno::INTR) => {}
                // Not between these two file systems, or not on this one.
                // A swap file in use is none that the kernel copies.
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

    /// Waits until its bytes are on the disk, and has the page cache forget them, so that who reads them
    /// reads the disk.
    pub fn sync_and_forget(&self) -> io::Result<()> {
        about_to_change()?;
        rustix::fs::fdatasync(self.as_fd())?;
        // Advice that is not taken changes nothing.
        let _refused = rustix::fs::fadvise(self.as_fd(), 0, None, rustix::fs::Advice::DontNeed);
        Ok(())
    }
}

/// Returns the permissions that new files of this process do not get (`umask(2)`).
///
/// # Platform behavior
///
/// Before Linux 4.7, or without `/proc`, the only way to know it is to change it: to be called while there is one
/// thread then.
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

/// Returns the groups that this process is in.
pub fn groups() -> Vec<u32> {
    let mut groups: Vec<u32> = rustix::process::getgroups()
        .map(|groups| groups.into_iter().map(Gid::as_raw).collect())
        .unwrap_or_default();
    groups.push(rustix::process::getegid().as_raw());
    groups
}

impl Kind {
    /// Returns whether it is a FIFO, a socket or a device: an inode without content.
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
        // The kernel makes it up while it is read, and says that its size is 0.
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
        // A device of no driver: to open it fails otherwise.
        let device = crate::Stat { special: rustix::fs::makedev(240, 77), ..like(libc::S_IFCHR) };
        if dir.make_node(c"device", &device).is_ok() {
            let refused = dir.open_regular(c"device").expect_err("it is no file");
            assert_eq!(refused.kind(), ErrorKind::InvalidInput);
        }
    }
}
