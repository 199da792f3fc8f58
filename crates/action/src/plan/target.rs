//! The files to act on, each with its version at the time of the plan.

use fsops::Stat;
use serde::{Deserialize, Serialize};

use crate::plan::kind::{Amount, Kind};

/// A version of a file, which identifies an inode with one particular content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// Device number.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
    /// Length in bytes.
    pub size: u64,
    /// Modification time in nanoseconds since the epoch.
    pub mtime_ns: i64,
    /// Status change time in nanoseconds since the epoch.
    pub ctime_ns: i64,
}

impl From<&Stat> for Version {
    fn from(stat: &Stat) -> Version {
        let &Stat { device, inode, size, ctime_ns, .. } = stat;
        Version { device, inode, size, mtime_ns: stat.mtime_ns(), ctime_ns }
    }
}

/// A file with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The absolute path, without symbolic links.
    pub path: Vec<u8>,
    /// The version at the time of the plan. If the version has changed since, the file is left
    /// alone.
    pub version: Version,
    /// The caller's number for the file.
    pub tag: u32,
}

/// A file to keep, and files that are assumed to be identical to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The file to keep.
    pub keep: Target,
    /// The files to act on. Names of one inode are adjacent.
    pub others: Vec<Target>,
    /// The digest of the content, if it is known. With a digest, an undo accepts any file with this
    /// content in place of the kept file, and rejects a file with other content.
    pub digest: Option<content::Digest>,
}

impl Group {
    /// Returns the amount of work to act on the group.
    pub fn amount(&self, kind: Kind) -> Amount {
        Amount::of(kind, self.keep.version.size, self.others.len())
    }
}
