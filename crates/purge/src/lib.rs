//! Removes directory trees of any size.
//!
//! [`Guard::check`] decides whether a path may be removed at all, and opens the directory that it is in;
//! [`purge`] removes what was found there. Both go by what is on the disk, device and inode, and not by
//! how a path is written.
//!
//! # How it goes
//!
//! Workers take directories from a queue, innermost first, list them and remove names in the order of
//! their inodes; who lists a large directory has others help. A directory is removed by whoever removed
//! the last thing in it. What is kept of the tree is a stack of directories, so neither breadth nor depth
//! needs memory, and a worker holds few directories open.
//!
//! # Safety
//!
//! After a top directory was opened nothing is found by a path from the root or the working directory.
//! Every directory is opened relative to one that is open, following no link and crossing no mount, which
//! the kernel sees to in the same step. Who swaps names meanwhile can have things removed from the tree
//! or left in it, and nothing else.
//!
//! # Errors
//!
//! What cannot be removed is in [`Outcome::problems`], with what it is in left as it is, and the rest goes
//! on.

#[cfg(test)]
mod example;
mod guard;
mod held;
mod job;
mod linked;
mod nodes;
mod outcome;
mod removal;
mod select;
mod subvolume;
mod sweep;

mod probe;
mod tree;
mod tuner;
mod window;
mod worker;

use std::collections::HashSet;
use std::sync::Arc;

use device::{Disks, Threads};
use fsops::FileKey;
use runtime::Throttle;

pub use guard::{Guard, Refusal, Target, Why};
pub use outcome::{Outcome, Problem, Reason};
pub use select::Selection;

pub use tree::purge;

/// How to remove.
#[derive(Clone, Debug)]
pub struct Options {
    /// What is done with what goes.
    pub deed: Deed,
    /// What goes.
    pub selection: Selection,
    /// The top directories stay, empty.
    pub keep_root: bool,
    /// Directories that the process's user owns and may not change are made changeable, and so emptied. What then
    /// stays all the same stays changeable.
    pub opens_up: bool,
    /// What is mounted inside is emptied too.
    pub cross_mounts: bool,
    /// Directories that are not entered as mounts.
    pub guarded: HashSet<FileKey>,
    /// Workers on each device.
    pub threads: Threads,
    /// The devices, and what is known of them.
    pub disks: Arc<Disks>,
    /// Descriptors a worker may keep open.
    pub open_dirs: usize,
    /// How many entries may go in a second, of all trees together.
    pub throttle: Arc<Throttle>,
}

/// Is told the path of each entry that went, or would go, and whether it is a directory; called by several
/// threads. Paths begin as the target's was given, and a directory comes after what is in it.
pub type Tell<'a> = &'a (dyn Fn(&[u8], bool) + Sync);

/// What is done with what goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// It is removed.
    Remove,
    /// It is looked at, to know how much would be free.
    Weigh,
    /// It is counted.
    Count,
}
