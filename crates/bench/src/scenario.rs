//! What is raced: which work, on which tree, on which kind of device, with which caches.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The work that all tools of a race do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Work {
    /// Find all groups of equal files.
    Find,
    /// Make equal files hard links of one.
    Link,
    /// Copy a tree with its hard links.
    Mirror,
    /// Copy a tree that has none: to others, each link would be a file of its own.
    Copy,
    /// Copy a tree to where that copy already is: nothing to do.
    Again,
    /// Copy a tree with its hard links to another host, which is this one by way of ssh.
    Push,
    /// Copy such a tree from there.
    Pull,
    /// Delete a tree.
    Delete,
}

/// The order in which the files of a tree were written, which is that on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Directory by directory, as unpacking an archive does.
    Created,
    /// In random order over the whole tree, as years of use do.
    Shuffled,
}

/// What the tree is stored on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Device {
    /// The file system of the working folder, as it is.
    AsIs,
    /// ext4 on a simulated hard disk (see [`crate::hdd`]).
    Hdd,
    /// A loop image of ext4.
    Ext4,
    /// A loop image of XFS.
    Xfs,
    /// A loop image of btrfs.
    Btrfs,
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AsIs => "on the machine's own disk",
            Self::Hdd => "on a simulated hard disk",
            Self::Ext4 => "on a loop image of ext4",
            Self::Xfs => "on a loop image of XFS",
            Self::Btrfs => "on a loop image of btrfs",
        })
    }
}

/// What the kernel holds in memory when a run starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cache {
    /// All that the last run left there: the same tools ran on the same tree before.
    Warm,
    /// Nothing: caches were dropped (`/proc/sys/vm/drop_caches`), images mounted anew.
    Cold,
}

/// One comparison: all tools do this work on this tree, in turns.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// Short and unique within a race; rows of runs refer to it.
    pub id: String,
    /// What is done.
    pub work: Work,
    /// The corpus by name, as `lop-bench corpus` lists it.
    pub corpus: String,
    /// The corpus's scale: 1 is the published size.
    pub scale: f64,
    /// Names of non-directories in the tree.
    pub names: u64,
    /// Bytes of all its inodes together.
    pub bytes: u64,
    /// How it was written.
    pub order: Order,
    /// What it is on.
    pub device: Device,
    /// What is in memory at the start of a run.
    pub cache: Cache,
    /// What was found out about the answers before the race, for people.
    pub answers: String,
}

impl Scenario {
    /// Returns whether the head's time is what counts, rather than that of this machine.
    ///
    /// With warm caches the head rests, and the wall clock counts there too.
    pub fn counts_disk_time(&self) -> bool {
        self.device == Device::Hdd && self.cache == Cache::Cold
    }
}
