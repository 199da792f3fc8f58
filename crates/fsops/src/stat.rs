//! Identity ([`FileKey`]) and metadata ([`Stat`]) of files.

use std::os::fd::AsFd;
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, Statx, StatxFlags};

/// Identity of an inode while the system runs: device and inode number.
///
/// An inode number alone is not enough because different file systems can use the same numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileKey {
    /// `st_dev`, with major and minor number encoded as in [`Stat::device`].
    pub device: u64,
    /// Inode number.
    pub inode: u64,
}

/// The type of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A regular file. Only regular files are opened for reading.
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
    /// The listing does not include the type. Call [`crate::Dir::stat_child`] to get it.
    Unknown,
}

/// A point in time. Any time that a file system can store is supported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time {
    /// Seconds since the epoch.
    pub s: i64,
    /// Nanoseconds within the second.
    pub ns: u32,
}

impl Time {
    /// Converts nanoseconds since the epoch.
    pub fn from_ns(ns: i64) -> Time {
        let rest = u32::try_from(ns.rem_euclid(SECOND)).unwrap_or(0);
        Time { s: ns.div_euclid(SECOND), ns: rest }
    }

    /// Returns the nanoseconds since the epoch. The result is limited to the range of an `i64`,
    /// from the year 1677 to 2262.
    pub fn as_ns(self) -> i64 {
        self.s.saturating_mul(SECOND).saturating_add(i64::from(self.ns))
    }
}

const SECOND: i64 = 1_000_000_000;

/// The longest tick of the clock from which file systems take timestamps: Linux with 100 ticks per
/// second. Two changes within a tick may have the same timestamp.
pub const LONGEST_TICK: Duration = Duration::from_millis(10);

/// Metadata of an inode at a point in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Device number.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
    /// Id of the mount through which the inode was accessed (0 before Linux 5.8).
    pub mount: u64,
    /// File type.
    pub kind: Kind,
    /// Size in bytes.
    pub size: u64,
    /// Allocated bytes (512 times the block count).
    pub allocated: u64,
    /// Link count.
    pub links: u32,
    /// Modification time.
    pub mtime: Time,
    /// Status change time in nanoseconds since the epoch.
    pub ctime_ns: i64,
    /// Access time.
    pub atime: Time,
    /// File type and permissions, as in `st_mode`.
    pub mode: u32,
    /// User id of the owner.
    pub uid: u32,
    /// Group id.
    pub gid: u32,
    /// Birth time in nanoseconds since the epoch, or 0 if the file system does not record it.
    pub born_ns: i64,
    /// Device number of a device node, as in `st_rdev`.
    pub special: u64,
}

/// The smallest mask that requests every field of [`Stat`].
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
    /// Returns the metadata of `path`. If `path` is a link, returns the metadata of the link
    /// itself.
    ///
    /// # Errors
    ///
    /// Returns the error of `statx(2)`.
    pub fn of_path(path: &std::path::Path) -> std::io::Result<Stat> {
        let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT;
        Stat::of(CWD, path, flags)
    }

    /// Returns the inode's identity.
    pub fn key(&self) -> FileKey {
        FileKey { device: self.device, inode: self.inode }
    }

    /// Returns the modification time in nanoseconds since the epoch ([`Time::as_ns`]).
    pub fn mtime_ns(&self) -> i64 {
        self.mtime.as_ns()
    }

    /// Returns true if `self` and `other` have the same identity, size and mtime, and therefore
    /// most likely the same bytes. Adding a link to a file or renaming it does not change any of
    /// these.
    pub fn same_content(&self, other: &Stat) -> bool {
        self.key() == other.key() && self.size == other.size && self.mtime_ns() == other.mtime_ns()
    }

    /// Returns true if `self` and `other` describe the same inode. If the inode number was reused,
    /// this is detected only if the file system records birth times.
    pub fn same_file(&self, other: &Stat) -> bool {
        (self.key(), self.born_ns) == (other.key(), other.born_ns)
    }

    /// Returns true if `self` and `other` describe the same inode with the same size, mtime and
    /// ctime.
    pub fn same_version(&self, other: &Stat) -> bool {
        self.key() == other.key()
            && self.size == other.size
            && self.mtime_ns() == other.mtime_ns()
            && self.ctime_ns == other.ctime_ns
    }

    /// Queries the metadata of `path` relative to `dir`.
    #[inline]
    pub(crate) fn of(
        dir: impl AsFd,
        path: impl rustix::path::Arg,
        flags: AtFlags,
    ) -> std::io::Result<Stat> {
        Ok(Stat::from_raw(&rustix::fs::statx(dir, path, flags, MASK)?))
    }

    /// Converts the result of `statx(2)`.
    // A scan calls this for every name, so it is inlined and takes its argument by reference.
    // Without this, copying the two structs took as long as the walk itself.
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
    /// Returns the word for the type in JSON output, or `None` if the type is unknown.
    pub fn word(self) -> Option<&'static str> {
        Some(match self {
            Kind::File => "file",
            Kind::Dir => "directory",
            Kind::Symlink => "symlink",
            Kind::Fifo => "fifo",
            Kind::Socket => "socket",
            Kind::Device => "device",
            Kind::Unknown => return None,
        })
    }

    /// Returns the file type encoded in `mode` (`st_mode`).
    pub fn of_mode(mode: u32) -> Kind {
        kind_of_type(rustix::fs::FileType::from_raw_mode(mode))
    }

    /// Returns the file type bits of `st_mode`. For a block or character device, returns the bits
    /// of a block device. For [`Kind::Unknown`], returns 0.
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
