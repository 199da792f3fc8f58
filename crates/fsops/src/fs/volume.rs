//! Identity and type of file systems, and the properties that follow from the type. Where possible,
//! the identity does not change when the system is rebooted.

use std::io;
use std::os::fd::BorrowedFd;

/// Identity and type of a mounted file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Volume {
    /// `f_fsid` of `statfs(2)`, or 0 if the file system has none. ext4 and btrfs derive it from the
    /// file system's UUID, so it is the same after a reboot.
    pub fsid: u64,
    /// `f_type` of `statfs(2)`, such as 0xEF53.
    pub magic: u64,
}

const BTRFS_MAGIC: u64 = 0x9123_683E;
const XFS_MAGIC: u64 = 0x5846_5342;
const TMPFS_MAGIC: u64 = 0x0102_1994;
const RAMFS_MAGIC: u64 = 0x8584_58F6;
/// Also used by ext2 and ext3.
const EXT_MAGIC: u64 = 0xEF53;
/// FAT and exFAT.
const FAT_MAGICS: [u64; 2] = [0x4D44, 0x2011_BAB0];
/// F2FS, bcachefs, ZFS and overlayfs.
const OTHERS_OF_UNIX: [u64; 4] = [0xF2F5_2010, 0xCA45_1A4E, 0x2FC1_2FC1, OVERLAY_MAGIC];
const FUSE_MAGIC: u64 = 0x6573_5546;
/// The kernel drivers (`ntfs3`, `ntfs`). ntfs-3g is FUSE.
const NTFS_MAGIC: u64 = 0x7366_746E;
const OVERLAY_MAGIC: u64 = 0x794C_7630;

/// `f_type` of file systems on which two files can share extents (linux/magic.h): btrfs, XFS,
/// bcachefs, ocfs2 and overlayfs. Overlayfs passes such requests on to the underlying file system.
const REFLINK_MAGICS: [u64; 5] = [BTRFS_MAGIC, XFS_MAGIC, 0xCA45_1A4E, 0x7461_636f, OVERLAY_MAGIC];

/// `f_type` of local file systems without a block device number (linux/magic.h): btrfs, tmpfs,
/// ramfs, bcachefs, ZFS, UBIFS.
const LOCAL_MAGICS: [u64; 6] =
    [BTRFS_MAGIC, TMPFS_MAGIC, 0x8584_58F6, 0xCA45_1A4E, 0x2FC1_2FC1, 0x2405_1905];

/// Names of file systems by `f_type`. ext2 and ext3 have the `f_type` of ext4.
const NAMES: [(u64, &str); 17] = [
    (EXT_MAGIC, "ext4"),
    (XFS_MAGIC, "XFS"),
    (BTRFS_MAGIC, "btrfs"),
    (TMPFS_MAGIC, "tmpfs"),
    (OVERLAY_MAGIC, "overlayfs"),
    (FAT_MAGICS[0], "FAT"),
    (FAT_MAGICS[1], "exFAT"),
    (0xF2F5_2010, "F2FS"),
    (0xCA45_1A4E, "bcachefs"),
    (0x2FC1_2FC1, "ZFS"),
    (NTFS_MAGIC, "NTFS"),
    (0x6969, "NFS"),
    (0x517B, "SMB"),
    (0xFF53_4D42, "SMB"),
    (0xFE53_4D42, "SMB"),
    (FUSE_MAGIC, "FUSE"),
    (0x0102_1997, "9P"),
];

/// `f_type` of file systems that store no files, or whose files the kernel generates when they are
/// read (linux/magic.h and the source code of the file systems).
const SYNTHETIC_MAGICS: [u64; 23] = [
    0x9FA0,      // proc
    0x6265_6572, // sysfs
    0x6462_6720, // debugfs
    0x7472_6163, // tracefs
    0x6265_6570, // configfs
    0x7363_6673, // securityfs
    0x0027_E0EB, // cgroup
    0x6367_7270, // cgroup2
    0x6165_676C, // pstore
    0xCAFE_4A11, // bpf
    0xDE5E_81E4, // efivarfs
    0x4249_4E4D, // binfmt_misc
    0xF97C_FF8C, // selinuxfs
    0x4341_5D53, // smackfs
    0x6573_5543, // fusectl
    0x0765_5821, // resctrl
    0x0187,      // autofs
    0x1CD1,      // devpts
    0x1980_0202, // mqueue
    0x9584_58F6, // hugetlbfs
    0x6759_6969, // rpc_pipefs
    0x6E73_6673, // nsfs
    0x6E66_7364, // nfsd
];

impl Volume {
    pub(crate) fn of(fd: BorrowedFd<'_>) -> io::Result<Volume> {
        let raw = rustix::fs::fstatfs(fd)?;
        Ok(Volume { fsid: fsid_bits(&raw), magic: raw.f_type.cast_unsigned() })
    }

    /// Returns true if this is ext4, ext3 or ext2.
    pub fn is_ext(&self) -> bool {
        self.magic == EXT_MAGIC
    }

    /// Returns true if this is XFS.
    pub fn is_xfs(&self) -> bool {
        self.magic == XFS_MAGIC
    }

    /// Returns true if this is btrfs. Its directories can be subvolumes.
    pub fn is_btrfs(&self) -> bool {
        self.magic == BTRFS_MAGIC
    }

    /// Returns true if a position in a directory listing stays valid when names are removed, and
    /// can be used with other descriptors. On FUSE, overlayfs, and tmpfs before Linux 6.6, a
    /// position is the number of preceding entries, so a listing skips names if entries are removed
    /// before it continues.
    pub fn has_stable_listing_offsets(&self) -> bool {
        self.is_ext() || self.is_xfs() || self.is_btrfs()
    }

    /// Returns true if the content of the file system is lost when it is unmounted.
    fn is_in_memory(&self) -> bool {
        [TMPFS_MAGIC, RAMFS_MAGIC].contains(&self.magic)
    }

    /// Returns true if files that were on this file system should be considered offline rather than
    /// deleted. `here` is the file system that is currently mounted at the same path.
    ///
    /// Two file systems are the same if they have the same type and fsid. If there is no fsid (NFS,
    /// most FUSE file systems), only the type is compared. All subvolumes of a btrfs file system
    /// count as the same file system, so the files of a deleted subvolume are considered deleted
    /// rather than offline.
    pub fn is_offline_at(&self, here: &Volume) -> bool {
        if self.is_in_memory() {
            return false;
        }
        let mask = if self.is_btrfs() { first_word_mask() } else { u64::MAX };
        let is_known = self.fsid != 0 && here.fsid != 0;
        self.magic != here.magic || is_known && (self.fsid ^ here.fsid) & mask != 0
    }

    /// Returns true if directory listings include the same inode numbers as `stat(2)`, except for
    /// mount points. FUSE and overlayfs may list different numbers.
    pub fn lists_inodes(&self) -> bool {
        self.has_stable_listing_offsets() || self.magic == TMPFS_MAGIC
    }

    /// Returns true if this is FAT or exFAT. On these, times have a resolution of 10 milliseconds
    /// or worse, and owners and permissions are set by mount options.
    pub fn is_fat(&self) -> bool {
        FAT_MAGICS.contains(&self.magic)
    }

    /// Returns true if this is NTFS, FAT or exFAT, on which Windows compares names without regard to
    /// case. `device` is the device number of a file on it.
    ///
    /// A FUSE file system on a block device (`fuseblk`) is NTFS or exFAT in practice.
    pub fn stores_windows_names(&self, device: u64) -> bool {
        let is_fuseblk = self.magic == FUSE_MAGIC && device >> 32 != 0;
        is_fuseblk || self.is_fat() || self.magic == NTFS_MAGIC
    }

    /// Returns true if this file system is known to store owners and permissions. On NTFS, FUSE and
    /// network file systems, this depends on how they are mounted.
    pub fn keeps_owners_and_modes(&self) -> bool {
        self.lists_inodes() || OTHERS_OF_UNIX.contains(&self.magic)
    }

    /// Returns the maximum link count of a file, or `None` if no small limit is known. For ext4,
    /// the limit is `EXT4_LINK_MAX` in fs/ext4/ext4.h.
    pub fn most_links(&self) -> Option<u32> {
        self.is_ext().then_some(65_000)
    }

    /// Returns true if small files are known to occupy whole blocks. On other file systems, a small
    /// file may be compressed, or stored inside its inode or on another host.
    pub fn stores_small_files_in_blocks(&self) -> bool {
        self.is_ext() || self.magic == TMPFS_MAGIC
    }

    /// Returns true if the local kernel maintains the metadata of a file on this file system.
    /// Otherwise the metadata may come from another host and be out of date. `device` is the file's
    /// device number.
    ///
    /// Everything on a block device is local, even if it is mounted through FUSE (`fuseblk`).
    /// Network file systems, FUSE and other stacked file systems may show local files under
    /// different device and inode numbers.
    pub fn is_local(&self, device: u64) -> bool {
        device >> 32 != 0 || LOCAL_MAGICS.contains(&self.magic)
    }

    /// Returns true if this is overlayfs, which shows the files of other local file systems with
    /// the metadata that they have there.
    pub fn is_stacked(&self) -> bool {
        self.magic == OVERLAY_MAGIC
    }

    /// Returns true if this is FUSE, a network file system or overlayfs. Such a file system can
    /// show the files of another one under different device and inode numbers. `device` is the
    /// device number of the file to check.
    pub fn shows_others(&self, device: u64) -> bool {
        !self.is_local(device)
    }

    /// Like [`Volume::shows_others`], but works without a device number. Returns true if the answer
    /// depends on the device number.
    pub fn may_show_others(&self) -> bool {
        let is_disk = self.keeps_owners_and_modes() || self.is_fat();
        !is_disk || self.is_stacked()
    }

    /// Returns true if all files have the same device number as their directory. On overlayfs, the
    /// files of each underlying file system can have a separate device number
    /// (<https://docs.kernel.org/filesystems/overlayfs.html#inode-properties>).
    pub fn has_one_device(&self) -> bool {
        !self.is_stacked()
    }

    /// Returns true if inode numbers stay the same when the file system is mounted again. FUSE file
    /// systems may assign new numbers when files are accessed.
    pub fn keeps_inode_numbers(&self) -> bool {
        self.magic != FUSE_MAGIC
    }

    /// Returns the file system's common name, or a general description if it is uncommon.
    pub fn name(&self) -> &'static str {
        self.known_name().unwrap_or("this file system")
    }

    /// Returns the file system's common name, or `None` if it is uncommon.
    pub fn known_name(&self) -> Option<&'static str> {
        NAMES.iter().find(|(magic, _)| *magic == self.magic).map(|(_, name)| *name)
    }

    /// Returns true if files on this file system can share extents.
    pub fn can_share_extents(&self) -> bool {
        REFLINK_MAGICS.contains(&self.magic)
    }

    /// Returns true if files with the same extent locations are certain to have the same content.
    ///
    /// Apart from btrfs and XFS, file systems may use several devices whose locations all start at
    /// 0, or may report locations on another file system.
    pub fn equal_offsets_mean_equal_content(&self) -> bool {
        [BTRFS_MAGIC, XFS_MAGIC].contains(&self.magic)
    }

    /// Returns true if the kernel generates the files of this file system when they are read. On
    /// such a file system, a file with a size of 0 is not necessarily empty.
    pub fn is_synthetic(&self) -> bool {
        SYNTHETIC_MAGICS.contains(&self.magic)
    }

    /// Returns true if files on this file system can share extents with files on `other`.
    ///
    /// A btrfs subvolume has its own device number and `f_fsid`, but can share extents with other
    /// subvolumes of the same file system. The first word of `f_fsid` is the same for all of these
    /// subvolumes. The second word is combined with the subvolume's number by XOR (`btrfs_statfs`
    /// in fs/btrfs/super.c).
    pub fn shares_extents_with(&self, other: &Volume) -> bool {
        let first_word = |volume: &Volume| volume.fsid & first_word_mask();
        self.can_share_extents()
            && self.magic == other.magic
            && if self.magic == BTRFS_MAGIC {
                first_word(self) == first_word(other)
            } else {
                self.fsid == other.fsid
            }
    }
}

#[expect(unsafe_code, reason = "libc keeps the two words of fsid_t private")]
fn fsid_bits(raw: &rustix::fs::StatFs) -> u64 {
    const { assert!(size_of_val_of_fsid() == 8) };
    // SAFETY: `f_fsid` is a plain struct of eight bytes (statfs(2)), as asserted above. Any bit
    // pattern is a valid u64, and `read_unaligned` needs no alignment.
    unsafe { std::ptr::from_ref(&raw.f_fsid).cast::<u64>().read_unaligned() }
}

/// Bit mask of the first word of an `fsid_t` that has been read as a single integer.
const fn first_word_mask() -> u64 {
    u64::from_ne_bytes([0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0])
}

const fn size_of_val_of_fsid() -> usize {
    size_of::<libc::fsid_t>()
}

#[cfg(test)]
mod tests {
    use super::{BTRFS_MAGIC, EXT_MAGIC, Volume};

    #[test]
    fn files_are_offline_if_another_file_system_is_mounted() {
        let at = |magic, fsid| Volume { fsid, magic };
        let [ext4, xfs, fuse, tmpfs] = [EXT_MAGIC, super::XFS_MAGIC, 0x6573_5546, 0x0102_1994];
        assert!(!at(ext4, 7).is_offline_at(&at(ext4, 7)));
        assert!(at(ext4, 7).is_offline_at(&at(ext4, 8)));
        assert!(at(ext4, 7).is_offline_at(&at(xfs, 7)));
        assert!(!at(fuse, 0).is_offline_at(&at(fuse, 0)));
        assert!(!at(fuse, 0).is_offline_at(&at(fuse, 9)), "a newer kernel may report an fsid");
        assert!(at(fuse, 0).is_offline_at(&at(ext4, 7)));
        assert!(!at(tmpfs, 7).is_offline_at(&at(ext4, 7)), "the content of a tmpfs is gone");
    }

    #[test]
    fn windows_names_are_stored_on_file_systems_of_windows() {
        let stores = |magic, device| Volume { fsid: 7, magic }.stores_windows_names(device);
        let (disk, none) = ((8 << 32) + 1, 40);
        assert!(
            stores(super::NTFS_MAGIC, disk) && stores(0x4D44, disk) && stores(0x2011_BAB0, disk)
        );
        assert!(stores(super::FUSE_MAGIC, disk), "ntfs-3g");
        assert!(!stores(super::FUSE_MAGIC, none), "sshfs");
        assert!(!stores(EXT_MAGIC, disk));
    }

    #[test]
    fn deleted_subvolume_is_not_offline() {
        let btrfs = |words: [u32; 2]| {
            let [a, b] = words.map(u32::to_ne_bytes);
            let bytes = [a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]];
            Volume { fsid: u64::from_ne_bytes(bytes), magic: BTRFS_MAGIC }
        };
        assert!(!btrfs([7, 256]).is_offline_at(&btrfs([7, 5])));
        assert!(btrfs([7, 256]).is_offline_at(&btrfs([8, 256])));
    }

    #[test]
    fn extents_are_shared_between_subvolumes_only() {
        let btrfs = |words: [u32; 2]| {
            let [a, b] = words.map(u32::to_ne_bytes);
            let bytes = [a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]];
            Volume { fsid: u64::from_ne_bytes(bytes), magic: BTRFS_MAGIC }
        };
        assert!(btrfs([7, 5]).shares_extents_with(&btrfs([7, 256])));
        assert!(!btrfs([7, 5]).shares_extents_with(&btrfs([8, 5])));
        let xfs = |fsid| Volume { fsid, magic: 0x5846_5342 };
        assert!(xfs(7).shares_extents_with(&xfs(7)));
        assert!(!xfs(7).shares_extents_with(&xfs(8)));
        assert!(!xfs(7).shares_extents_with(&Volume { fsid: 7, magic: BTRFS_MAGIC }));
        let ext4 = Volume { fsid: 7, magic: EXT_MAGIC };
        assert!(!ext4.shares_extents_with(&ext4));
    }
}
