//! Who a file is ([`FileKey`]) and what is known of it without reading it ([`Stat`]).

use std::os::fd::AsFd;

use rustix::fs::{AtFlags, CWD, Statx, StatxFlags};

/// Identity of an inode while the system runs: device and inode number.
///
/// Never an inode alone: two file systems use the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileKey {
    /// `st_dev`, major and minor packed as in [`Stat::device`].
    pub device: u64,
    /// Inode number.
    pub inode: u64,
}

/// What an entry is, as far as lop treats entries differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A regular file, the only kind ever opened for reading.
    File,
    /// A directory.
    Dir,
    /// A symbolic link, never followed.
    Symlink,
    /// A FIFO.
    Fifo,
    /// A socket.
    Socket,
    /// A block or character device.
    Device,
    /// The directory listing did not say; ask [`crate::Dir::stat_child`].
    Unknown,
}

/// A moment, in any year that a file system can keep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time {
    /// Seconds since the epoch.
    pub s: i64,
    /// Nanoseconds after that, less than a second.
    pub ns: u32,
}

impl Time {
    /// Returns the moment so many nanoseconds after the epoch.
    pub fn from_ns(ns: i64) -> Time {
        let rest = u32::try_from(ns.rem_euclid(SECOND)).unwrap_or(0);
        Time { s: ns.div_euclid(SECOND), ns: rest }
    }

    /// Returns nanoseconds since the epoch; saturates at the years 1677 and 2262, where they leave 64 bits.
    pub fn as_ns(self) -> i64 {
        self.s.saturating_mul(SECOND).saturating_add(i64::from(self.ns))
    }
}

const SECOND: i64 = 1_000_000_000;

/// Metadata of one inode at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Device number.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
    /// Identity of the mount the entry was reached through (0 before Linux 5.8).
    pub mount: u64,
    /// What it is.
    pub kind: Kind,
    /// Length in bytes.
    pub size: u64,
    /// Allocated bytes (512 times the block count).
    pub allocated: u64,
    /// Names the inode has.
    pub links: u32,
    /// Modification time.
    pub mtime: Time,
    /// Status change time, nanoseconds since the epoch.
    pub ctime_ns: i64,
    /// Access time.
    pub atime: Time,
    /// File type and permissions, as in `st_mode`.
    pub mode: u32,
    /// The owner's number.
    pub uid: u32,
    /// The group's number.
    pub gid: u32,
    /// When it was made, nanoseconds since the epoch; 0 where the file system does not know.
    pub born_ns: i64,
    /// Which device it is, if it is one, as in `st_rdev`.
    pub special: u64,
}

/// The smallest mask that answers every field of [`Stat`].
const MASK: StatxFlags = StatxFlags::TYPE
    .union(StatxFlags::INO)
    .union(StatxFlags::SIZE)
    .union(StatxFlags::BLOCKS)
    .union(StatxFlags::NLINK)
    .union(StatxFlags::MTIME)
    .union(StatxFlags::CTIME)
    .union(StatxFlags::ATIME)
    .union(StatxFlags::MODE)
    .union(StatxFlags::UID)
    .union(StatxFlags::GID)
    .union(StatxFlags::BTIME)
    .union(StatxFlags::MNT_ID);

impl Stat {
    /// Returns the metadata of what `path` names, a link itself rather than its target.
    pub fn of_path(path: &std::path::Path) -> std::io::Result<Stat> {
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
        Stat::of(CWD, path, flags)
    }

    /// Returns the inode's identity.
    pub fn key(&self) -> FileKey {
        FileKey { device: self.device, inode: self.inode }
    }

    /// Returns the modification time in nanoseconds since the epoch, as [`Time::as_ns`] has it.
    pub fn mtime_ns(&self) -> i64 {
        self.mtime.as_ns()
    }

    /// Returns whether `self` and `other` are the same inode with the same bytes, as far as metadata
    /// tells: identity, size and mtime. A link made or removed in between, or a rename, makes no
    /// difference.
    pub fn same_content(&self, other: &Stat) -> bool {
        self.key() == other.key() && self.size == other.size && self.mtime_ns() == other.mtime_ns()
    }

    /// Returns whether both are the same inode. A reused inode number is told apart by its birth time, where the file
    /// system records one.
    pub fn same_file(&self, other: &Stat) -> bool {
        (self.key(), self.born_ns) == (other.key(), other.born_ns)
    }

    /// Returns whether `self` and `other` are the same inode with nothing changed between them:
    /// identity, size, mtime and ctime.
    pub fn same_version(&self, other: &Stat) -> bool {
        self.key() == other.key()
            && self.size == other.size
            && self.mtime_ns() == other.mtime_ns()
            && self.ctime_ns == other.ctime_ns
    }

    /// Asks for the metadata of what `path` names in `dir`.
    #[inline]
    pub(crate) fn of(
        dir: impl AsFd,
        path: impl rustix::path::Arg,
        flags: AtFlags,
    ) -> std::io::Result<Stat> {
        Ok(Stat::from_raw(&rustix::fs::statx(dir, path, flags, MASK)?))
    }

    /// Returns what the kernel's answer says.
    // By reference and inlined: a scan does this for every name, and to copy both structures cost as much
    // as to walk.
    #[inline]
    pub(crate) fn from_raw(raw: &Statx) -> Stat {
        let time = |t: rustix::fs::StatxTimestamp| Time { s: t.tv_sec, ns: t.tv_nsec };
        Stat {
            device: u64::from(raw.stx_dev_major) << 32 | u64::from(raw.stx_dev_minor),
            inode: raw.stx_ino,
            mount: raw.stx_mnt_id,
            kind: Kind::of_mode(u32::from(raw.stx_mode)),
            size: raw.stx_size,
            allocated: raw.stx_blocks.saturating_mul(512),
            links: raw.stx_nlink,
            mtime: time(raw.stx_mtime),
            ctime_ns: time(raw.stx_ctime).as_ns(),
            atime: time(raw.stx_atime),
            mode: u32::from(raw.stx_mode),
            uid: raw.stx_uid,
            gid: raw.stx_gid,
            born_ns: time(raw.stx_btime).as_ns(),
            special: rustix::fs::makedev(raw.stx_rdev_major, raw.stx_rdev_minor),
        }
    }
}

impl Kind {
    /// Returns what has these bits of `st_mode`.
    pub fn of_mode(mode: u32) -> Kind {
        kind_of_type(rustix::fs::FileType::from_raw_mode(mode))
    }

    /// Returns the file type bits of `st_mode` that stand for it: those of a block device for either sort of device,
    /// and 0 for [`Kind::Unknown`].
    pub fn mode_bits(self) -> u32 {
        use rustix::fs::FileType;
        let file_type = match self {
            Kind::File => FileType::RegularFile,
            Kind::Dir => FileType::Directory,
            Kind::Symlink => FileType::Symlink,
            Kind::Fifo => FileType::Fifo,
            Kind::Socket => FileType::Socket,
            Kind::Device => FileType::BlockDevice,
            Kind::Unknown => return 0,
        };
        file_type.as_raw_mode()
    }
}

pub(crate) fn kind_of_type(file_type: rustix::fs::FileType) -> Kind {
    use rustix::fs::FileType;
    match file_type {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Dir,
        FileType::Symlink => Kind::Symlink,
        FileType::Fifo => Kind::Fifo,
        FileType::Socket => Kind::Socket,
        FileType::CharacterDevice | FileType::BlockDevice => Kind::Device,
        FileType::Unknown => Kind::Unknown,
    }
}
