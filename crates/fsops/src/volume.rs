//! Which file system something is on, in a form that outlives a reboot where possible.

use std::io;
use std::os::fd::BorrowedFd;

/// Identity and kind of a mounted file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Volume {
    /// `f_fsid` of `statfs(2)`. ext4 and btrfs derive it from the file system's UUID, so it
    /// stays the same over reboots; 0 where the file system has none.
    pub fsid: u64,
    /// `f_type` of `statfs(2)`, such as 0xEF53.
    pub magic: u64,
}

/// `f_type` of the file systems on which two files can share their extents (linux/magic.h):
/// btrfs, xfs, bcachefs, ocfs2 and overlayfs, which passes the question on.
const REFLINK_MAGICS: [u64; 5] = [0x9123_683E, 0x5846_5342, 0xCA45_1A4E, 0x7461_636f, 0x794c_7630];

impl Volume {
    pub(crate) fn of(fd: BorrowedFd<'_>) -> io::Result<Volume> {
        let raw = rustix::fs::fstatfs(fd)?;
        Ok(Volume { fsid: fsid_bits(&raw), magic: raw.f_type as u64 })
    }

    /// Returns whether files on this file system can share extents.
    pub fn can_share_extents(&self) -> bool {
        REFLINK_MAGICS.contains(&self.magic)
    }
}

#[expect(unsafe_code, reason = "libc keeps the two words of fsid_t private")]
fn fsid_bits(raw: &rustix::fs::StatFs) -> u64 {
    const { assert!(size_of_val_of_fsid() == 8) };
    // SAFETY: `f_fsid` is a plain struct of eight bytes (statfs(2)), checked above; any bit
    // pattern is a valid u64, and `read_unaligned` asks for no alignment.
    unsafe { std::ptr::from_ref(&raw.f_fsid).cast::<u64>().read_unaligned() }
}

const fn size_of_val_of_fsid() -> usize {
    size_of::<libc::fsid_t>()
}
