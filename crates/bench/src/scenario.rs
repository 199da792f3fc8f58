//! A scenario: the work, the tree, the storage and the state of the caches for a comparison of
//! tools.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The work of each tool in a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Work {
    /// Find all groups of identical files.
    Find,
    /// Replace identical files with hard links to one file.
    Link,
    /// Copy a tree with its hard links.
    Mirror,
    /// Copy a tree without hard links, for tools that would copy each link as a separate file.
    Copy,
    /// Copy a tree onto a complete copy of it, so that nothing remains to be done.
    Again,
    /// Copy a tree with its hard links to another host. The other host is this machine, reached
    /// through ssh.
    Push,
    /// Copy a tree with its hard links from another host.
    Pull,
    /// Delete a tree.
    Delete,
    /// Find the files that the rules of a large file take, and change nothing.
    Sweep,
    /// Find the files that rules take that match anywhere, and change nothing.
    Anywhere,
    /// Load a large rule file, and match it against a tree that has nothing in it.
    Load,
    /// Take the files that rules match out of a tree.
    Apply,
    /// Show the disk space of a tree.
    Space,
    /// Review the duplicates of a tree in a browser.
    Review,
    /// Serve files over HTTP.
    Serve,
    /// Serve files over HTTP, at a limited rate for each client.
    Throttle,
    /// Export a catalog.
    Export,
    /// Find the contents that several files of many hosts have.
    Fleet,
    /// The same on a Spark cluster.
    Spark,
    /// Tell many hosts which of their heads another host has, too.
    Survey,
}

/// The order in which the files of a tree were written. It determines their order on the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Directory by directory, as if an archive had been unpacked.
    Created,
    /// In random order across the whole tree, as on a disk after years of use.
    Shuffled,
}

/// The storage of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Device {
    /// The file system of the store.
    AsIs,
    /// ext4 on a simulated hard disk ([`crate::hdd`]).
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

/// The content of the kernel's caches at the start of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cache {
    /// Everything that the same tools left in the caches when they last ran on the same tree.
    Warm,
    /// Nothing. Caches were dropped (`/proc/sys/vm/drop_caches`) and images were remounted.
    Cold,
}

/// The conditions of one comparison: all tools take turns at this work on this tree.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scenario {
    /// A short name, unique within a race. Runs refer to it. For servers, it names the load.
    pub id: String,
    /// The work.
    pub work: Work,
    /// The name of the corpus, as `lop-bench corpus` lists it.
    pub corpus: String,
    /// The scale of the corpus; 1 is the published size.
    pub scale: f64,
    /// The number of names in the tree, without directories.
    pub names: u64,
    /// The sum of the sizes of all inodes.
    pub bytes: u64,
    /// The order on disk.
    pub order: Order,
    /// The storage.
    pub device: Device,
    /// The state of the caches at the start of a run.
    pub cache: Cache,
    /// The result of checking all answers before the race, in words.
    pub answers: String,
}

impl Scenario {
    /// Returns true if the busy time of the simulated disk counts, instead of the wall clock.
    ///
    /// With warm caches the disk is idle, so the clock counts.
    pub fn counts_disk_time(&self) -> bool {
        self.device == Device::Hdd && self.cache == Cache::Cold
    }
}
