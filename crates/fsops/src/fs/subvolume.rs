//! Removal of whole btrfs subvolumes.

use std::ffi::CStr;
use std::io;
use std::os::fd::AsRawFd;

use crate::change::about_to_change;
use crate::dir::Dir;
use crate::stat::{Kind, Stat};

/// `BTRFS_IOC_SNAP_DESTROY` of linux/btrfs.h: `_IOW(0x94, 15, struct btrfs_ioctl_vol_args)`.
const SNAP_DESTROY: libc::Ioctl = 0x5000_940F;

/// Inode number of the top directory of every subvolume (`BTRFS_FIRST_FREE_OBJECTID`). No other
/// directory has this number.
const TOP: u64 = 256;

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
    /// Returns `ENOTEMPTY` if the subvolume contains other subvolumes, `EPERM` if the process may
    /// not remove it, and `EBUSY` if it is a mount point. Unprivileged processes can remove
    /// subvolumes only if the file system is mounted with `user_subvol_rm_allowed`. On error,
    /// nothing is changed.
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

impl Stat {
    /// Returns true if this is the top directory of a subvolume. The caller must ensure that the
    /// directory is on btrfs.
    pub fn is_subvolume_root(&self) -> bool {
        self.kind == Kind::Dir && self.inode == TOP
    }
}
