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

const BTRFS_MAGIC: u64 = 0x9123_683E;
const XFS_MAGIC: u64 = 0x5846_5342;
const TMPFS_MAGIC: u64 = 0x0102_1994;
const RAMFS_MAGIC: u64 = 0x8584_58F6;
/// That of ext2 and ext3 too.
const EXT_MAGIC: u64 = 0xEF53;
/// FAT and exFAT.
const FAT_MAGICS: [u64; 2] = [0x4D44, 0x2011_BAB0];
/// F2FS, bcachefs, ZFS, and overlayfs, which is on one of these.
const OTHERS_OF_UNIX: [u64; 4] = [0xF2F5_2010, 0xCA45_1A4E, 0x2FC1_2FC1, OVERLAY_MAGIC];
const FUSE_MAGIC: u64 = 0x6573_5546;
const OVERLAY_MAGIC: u64 = 0x794C_7630;

/// `f_type` of the file systems on which two files can share their extents (linux/magic.h):
/// btrfs, xfs, bcachefs, ocfs2 and overlayfs, which passes the question on.
const REFLINK_MAGICS: [u64; 5] = [BTRFS_MAGIC, XFS_MAGIC, 0xCA45_1A4E, 0x7461_636f, OVERLAY_MAGIC];

/// `f_type` of file systems without a block device of their own whose files the kernel keeps itself
/// (linux/magic.h): btrfs, tmpfs, ramfs, bcachefs, ZFS, UBIFS.
const LOCAL_MAGICS: [u64; 6] =
    [BTRFS_MAGIC, TMPFS_MAGIC, 0x8584_58F6, 0xCA45_1A4E, 0x2FC1_2FC1, 0x2405_1905];

/// What file systems are called, by `f_type`. ext2 and ext3 have that of ext4.
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
    (0x7366_746E, "NTFS"),
    (0x6969, "NFS"),
    (0x517B, "SMB"),
    (0xFF53_4D42, "SMB"),
    (0xFE53_4D42, "SMB"),
    (FUSE_MAGIC, "FUSE"),
    (0x0102_1997, "9P"),
];

/// `f_type` of file systems whose files the kernel makes up while they are read, or that are no place for
/// files at all (linux/magic.h and the sources of each).
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

    /// Returns whether it is ext4, or an older one of its kind.
    pub fn is_ext(&self) -> bool {
        self.magic == EXT_MAGIC
    }

    /// Returns whether it is XFS.
    pub fn is_xfs(&self) -> bool {
        self.magic == XFS_MAGIC
    }

    /// Returns whether it is btrfs, where directories can be subvolumes.
    pub fn is_btrfs(&self) -> bool {
        self.magic == BTRFS_MAGIC
    }

    /// Returns whether a place in a listing is the same for whoever opens the directory anew, and after names
    /// were removed. Where a place is the number of entries before it (FUSE, overlayfs, tmpfs before Linux
    /// 6.6) names would be passed over.
    pub fn keeps_places(&self) -> bool {
        self.is_ext() || self.is_xfs() || self.is_btrfs()
    }

    /// Returns whether what is on it is gone when it is unmounted.
    fn is_in_memory(&self) -> bool {
        [TMPFS_MAGIC, RAMFS_MAGIC].contains(&self.magic)
    }

    /// Returns whether files that were on this file system are out of reach, rather than gone, where
    /// there is now `here`.
    ///
    /// The same file system has the same kind and the same fsid. Where there is none (NFS, most of FUSE)
    /// any other of the kind is taken for it, and subvolumes of btrfs for each other: when one is deleted
    /// its files are gone.
    pub fn is_offline_at(&self, here: &Volume) -> bool {
        if self.is_in_memory() {
            return false;
        }
        let mask = if self.is_btrfs() { first_word_mask() } else { u64::MAX };
        let is_known = self.fsid != 0 && here.fsid != 0;
        self.magic != here.magic || is_known && (self.fsid ^ here.fsid) & mask != 0
    }

    /// Returns whether a listing tells the inode numbers that metadata has, where nothing is mounted.
    /// Elsewhere (FUSE, overlayfs) it may make them up.
    pub fn lists_inodes(&self) -> bool {
        self.keeps_places() || self.magic == TMPFS_MAGIC
    }

    /// Returns whether it is FAT or exFAT: times are kept to 10 milliseconds or less exactly, owners and permissions
    /// are those that the mount says.
    pub fn is_fat(&self) -> bool {
        FAT_MAGICS.contains(&self.magic)
    }

    /// Returns whether it is known that a file here has the owner and the permissions that it is given. Others
    /// (NTFS, FUSE, NFS and other networks) may have been mounted to do so, or not.
    pub fn keeps_owners_and_modes(&self) -> bool {
        self.lists_inodes() || OTHERS_OF_UNIX.contains(&self.magic)
    }

    /// Returns how many names a file can have, if that is less than anybody has: `EXT4_LINK_MAX` in
    /// fs/ext4/ext4.h.
    pub fn most_links(&self) -> Option<u32> {
        self.is_ext().then_some(65_000)
    }

    /// Returns whether a small file is known to take whole blocks here: elsewhere it may be compressed, lie
    /// inside its inode, or on another host.
    pub fn stores_small_files_in_blocks(&self) -> bool {
        self.is_ext() || self.magic == TMPFS_MAGIC
    }

    /// Returns whether a file's metadata, asked for now, is what this machine's kernel knows of it, and
    /// no answer from a cache: `device` is the number of the device that the file is on.
    ///
    /// What is on a block device is, through FUSE too (`fuseblk`). Network file systems, FUSE and other
    /// stacked ones may show files that are on this machine as well, under other numbers.
    pub fn is_local(&self, device: u64) -> bool {
        device >> 32 != 0 || LOCAL_MAGICS.contains(&self.magic)
    }

    /// Returns whether it is overlayfs, which shows files of other file systems of this machine and passes on their
    /// metadata.
    pub fn is_stacked(&self) -> bool {
        self.magic == OVERLAY_MAGIC
    }

    /// Returns whether it can show files of other file systems, under other numbers: FUSE, network file systems and
    /// overlayfs. `device` is the number of the device that the files are on.
    pub fn shows_others(&self, device: u64) -> bool {
        !self.is_local(device)
    }

    /// Returns the same as [`Volume::shows_others`], as far as that is known without the number of the device; `true`
    /// in case of doubt.
    pub fn may_show_others(&self) -> bool {
        let is_disk = self.keeps_owners_and_modes() || self.is_fat();
        !is_disk || self.is_stacked()
    }

    /// Returns whether all files have the device number of the directory that they are in. An overlayfs over several file
    /// systems gives the files of each a number of their own
    /// (<https://docs.kernel.org/filesystems/overlayfs.html#inode-properties>).
    pub fn has_one_device(&self) -> bool {
        !self.is_stacked()
    }

    /// Returns whether a file has the same inode number after each mount: FUSE file systems may number what
    /// is asked for.
    pub fn keeps_numbers(&self) -> bool {
        self.magic != FUSE_MAGIC
    }

    /// Returns what people call the file system; in general terms where it is none of the usual ones.
    pub fn name(&self) -> &'static str {
        self.known_name().unwrap_or("this file system")
    }

    /// Returns what people call the file system, if it is one of the usual ones.
    pub fn known_name(&self) -> Option<&'static str> {
        NAMES.iter().find(|(magic, _)| *magic == self.magic).map(|(_, name)| *name)
    }

    /// Returns whether files on this file system can share extents.
    pub fn can_share_extents(&self) -> bool {
        REFLINK_MAGICS.contains(&self.magic)
    }

    /// Returns whether a place is that of one content, so that files in the same places are equal.
    ///
    /// Others than btrfs and XFS count places on each of several devices from 0, or pass on what
    /// other file systems say.
    pub fn same_place_is_same_content(&self) -> bool {
        [BTRFS_MAGIC, XFS_MAGIC].contains(&self.magic)
    }

    /// Returns whether the kernel makes its files up while they are read, so that a size of 0
    /// does not say that there is nothing in them.
    pub fn is_synthetic(&self) -> bool {
        SYNTHETIC_MAGICS.contains(&self.magic)
    }

    /// Returns whether a file here and one on `other` can share extents.
    ///
    /// A subvolume of btrfs has a device number of its own, and an `f_fsid` of its own: the file
    /// system's, with the subvolume's number put over the second word by XOR (`btrfs_statfs` in
    /// fs/btrfs/super.c). A snapshot shares all its extents all the same.
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
    // SAFETY: `f_fsid` is a plain struct of eight bytes (statfs(2)), checked above; any bit
    // pattern is a valid u64, and `read_unaligned` asks for no alignment.
    unsafe { std::ptr::from_ref(&raw.f_fsid).cast::<u64>().read_unaligned() }
}

/// The bits of the first of the two words of an `fsid_t`, read as one number.
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
    fn files_are_out_of_reach_where_another_file_system_is() {
        let at = |magic, fsid| Volume { fsid, magic };
        let [ext4, xfs, fuse, tmpfs] = [EXT_MAGIC, super::XFS_MAGIC, 0x6573_5546, 0x0102_1994];
        assert!(!at(ext4, 7).is_offline_at(&at(ext4, 7)));
        assert!(at(ext4, 7).is_offline_at(&at(ext4, 8)));
        assert!(at(ext4, 7).is_offline_at(&at(xfs, 7)));
        assert!(!at(fuse, 0).is_offline_at(&at(fuse, 0)));
        assert!(!at(fuse, 0).is_offline_at(&at(fuse, 9)), "a newer kernel may give it one");
        assert!(at(fuse, 0).is_offline_at(&at(ext4, 7)));
        assert!(!at(tmpfs, 7).is_offline_at(&at(ext4, 7)), "nothing of it can come back");
    }

    #[test]
    fn a_subvolume_that_is_gone_is_not_out_of_reach_on_its_own_disk() {
        let btrfs = |words: [u32; 2]| {
            let [a, b] = words.map(u32::to_ne_bytes);
            let bytes = [a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]];
            Volume { fsid: u64::from_ne_bytes(bytes), magic: BTRFS_MAGIC }
        };
        assert!(!btrfs([7, 256]).is_offline_at(&btrfs([7, 5])));
        assert!(btrfs([7, 256]).is_offline_at(&btrfs([8, 256])));
    }

    #[test]
    fn subvolumes_share_extents_and_file_systems_do_not() {
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
