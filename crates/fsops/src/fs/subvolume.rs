//! Subvolumes of btrfs: removes a whole subvolume, and opens the top-level subvolume.

use std::ffi::CStr;
use std::io;
use std::os::fd::AsRawFd;

use rustix::fs::{Mode, OFlags};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags};

use crate::change::about_to_change;
use crate::dir::Dir;
use crate::fs::mounts::Mounts;
use crate::stat::{Kind, Stat};

/// `BTRFS_IOC_SNAP_DESTROY` of linux/btrfs.h: `_IOW(0x94, 15, struct btrfs_ioctl_vol_args)`.
const SNAP_DESTROY: libc::Ioctl = 0x5000_940F;

/// Inode number of the top directory of every subvolume (`BTRFS_FIRST_FREE_OBJECTID`). No other
/// directory has this number.
const TOP: u64 = 256;

/// The id of the top-level subvolume (`BTRFS_FS_TREE_OBJECTID`), as a mount option.
const TOP_LEVEL: &CStr = c"5";

/// `struct btrfs_ioctl_vol_args`.
#[repr(C)]
struct Request {
    fd: i64,
    name: [u8; 4088],
}

impl Dir {
    /// Removes the subvolume `name` and everything in it. The time this takes does not depend on
    /// the size of the subvolume, because the file system frees the disk space in the background.
    ///
    /// # Errors
    ///
    /// Returns `ENOTEMPTY` if the subvolume contains other subvolumes, `EPERM` if the process may not remove it, and
    /// `EBUSY` if it is a mount point. Unprivileged processes can remove subvolumes only if the file system is mounted
    /// with `user_subvol_rm_allowed`. On error, the file system stays unchanged.
    #[expect(unsafe_code, reason = "the ioctl has no safe wrapper")]
    pub fn remove_subvolume(&self, name: &CStr) -> io::Result<()> {
        about_to_change()?;
        let mut request = Request { fd: 0, name: [0; 4088] };
        let bytes = name.to_bytes();
        request
            .name
            .get_mut(..bytes.len())
            .ok_or(io::ErrorKind::InvalidFilename)?
            .copy_from_slice(bytes);
        // SAFETY: the kernel reads one `struct btrfs_ioctl_vol_args`. Its name is NUL-terminated
        // because no name is long enough to overwrite the last byte.
        let answer =
            unsafe { libc::ioctl(self.fd().as_raw_fd(), SNAP_DESTROY, &raw const request) };
        if answer == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }
}

impl Dir {
    /// Opens the top-level subvolume of the btrfs file system of this directory, through a new mount. The mount has no
    /// path, and closing the descriptor ends it.
    ///
    /// # Errors
    ///
    /// Fails with `Unsupported` if the file system is not btrfs, and with `EPERM` without `CAP_SYS_ADMIN`. Fails with
    /// `EROFS` if the mount table names no block device for it, or if the file system is read-only, because mounting it
    /// could make it writable.
    pub(crate) fn open_top_level_subvolume(&self) -> io::Result<Dir> {
        let stat = self.stat()?;
        if !self.volume()?.is_btrfs() {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let mounts = Mounts::read();
        let device = mounts.writable_device(stat.mount).ok_or(rustix::io::Errno::ROFS)?;
        let context = rustix::mount::fsopen(c"btrfs", FsOpenFlags::FSOPEN_CLOEXEC)?;
        rustix::mount::fsconfig_set_string(&context, c"source", device)?;
        rustix::mount::fsconfig_set_string(&context, c"subvolid", TOP_LEVEL)?;
        rustix::mount::fsconfig_create(&context)?;
        let attributes = MountAttrFlags::MOUNT_ATTR_RDONLY;
        let mount = rustix::mount::fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Dir::from(rustix::fs::openat(mount, c".", flags, Mode::empty())?))
    }
}

impl Stat {
    /// Returns true if this is the top directory of a subvolume. The caller must ensure that the
    /// directory is on btrfs.
    pub fn is_subvolume_root(&self) -> bool {
        self.kind == Kind::Dir && self.inode == TOP
    }
}
