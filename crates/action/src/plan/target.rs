//! Files that something is to be done with, and what they were when that was decided.

use fsops::Stat;
use serde::{Deserialize, Serialize};

use crate::plan::kind::{Amount, Kind};

/// A version of a file: one inode with one content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// Device number.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
    /// Length in bytes.
    pub size: u64,
    /// Modification time, nanoseconds since the epoch.
    pub mtime_ns: i64,
    /// Status change time, nanoseconds since the epoch.
    pub ctime_ns: i64,
}

impl From<&Stat> for Version {
    fn from(stat: &Stat) -> Version {
        let &Stat { device, inode, size, ctime_ns, .. } = stat;
        Version { device, inode, size, mtime_ns: stat.mtime_ns(), ctime_ns }
    }
}

/// A file by its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Absolute path, no link in it.
    pub path: Vec<u8>,
    /// What it was; a file that is no longer this is left alone.
    pub version: Version,
    /// The caller's number for it.
    pub tag: u32,
}

/// A file that stays, and files that are said to be equal to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The file that stays.
    pub keep: Target,
    /// Names of one inode are neighbours.
    pub others: Vec<Target>,
    /// The digest of what they have in them, if it is known: an undo then takes any file in the place of
    /// the kept one that has this content, and no other.
    pub digest: Option<content::Digest>,
}

impl Group {
    /// Returns how much there is to go through to act on it.
    pub fn amount(&self, kind: Kind) -> Amount {
        Amount::of(kind, self.keep.version.size, self.others.len())
    }
}
