//! Removes directory trees of any size.
//!
//! [`Guard::check`] decides whether a path may be removed at all and opens its parent directory.
//! [`purge`] removes what was found there. Both identify directories by device and inode, never by
//! path.
//!
//! | module | contents |
//! |---|---|
//! | `guard` | the check of an operand before anything is removed |
//! | `select` | the entries that are selected |
//! | `targets` | the removal of each target in turn |
//! | `engine` | the workers, the table of open directories, prefetching in disk order, tuning |
//! | `outcome` | counts and problems |
//!
//! # How it works
//!
//! Workers take directories from a queue, innermost first, list them, and remove names in the order
//! of their inodes. A worker with a large directory shares it with others. The worker that removes
//! the last entry of a directory removes the directory. The tree is kept as a stack of directories,
//! so memory depends on neither its breadth nor its depth, and a worker keeps few directories open.
//!
//! # Safety
//!
//! After a top directory was opened, no path is resolved from the root or the working directory.
//! Every directory is opened relative to an open one. In the same step the kernel refuses links and
//! mount points. A process that swaps names meanwhile can make this crate remove or keep entries of
//! that tree, but never touch anything else.
//!
//! # Errors
//!
//! [`Outcome::problems`] has the entries that could not be removed. Their directories are kept, and
//! the run continues.

mod engine;
#[cfg(test)]
mod example;
mod guard;
mod outcome;
mod paths;
mod quarantine;
mod select;
mod targets;

use std::collections::HashSet;
use std::sync::Arc;

use device::{Disks, Threads};
use fsops::FileKey;
use runtime::Throttle;

pub use guard::refusal::{Refusal, Why};
pub use guard::{Guard, Target};
pub use outcome::{Outcome, Problem, Reason};
pub use select::Selection;

pub use targets::purge;

/// The options of a removal.
#[derive(Clone, Debug)]
pub struct Options {
    /// The operation on selected entries.
    pub operation: Operation,
    /// Selects the entries.
    pub selection: Selection,
    /// Whether to keep the top directories, empty.
    pub keep_root: bool,
    /// Whether to add permissions to directories that belong to the process's user but that it may
    /// not change, so that they can be emptied. Those that are kept after all retain the
    /// permissions.
    pub adds_permissions: bool,
    /// Whether to empty mounted file systems too.
    pub cross_mounts: bool,
    /// Directories that are not entered as mounts.
    pub guarded: HashSet<FileKey>,
    /// Workers per disk.
    pub threads: Threads,
    /// The disks, and what is known about them.
    pub disks: Arc<Disks>,
    /// Descriptors that a worker may keep open.
    pub open_dirs: usize,
    /// Limit on the entries removed per second, for all trees together.
    pub throttle: Arc<Throttle>,
}

/// Called with the path of each entry that was, or would be, removed, and whether it is a
/// directory. Several threads call it. Paths start with the target as given. A directory comes
/// after its entries.
pub type Tell<'a> = &'a (dyn Fn(&[u8], bool) + Sync);

/// The operation on selected entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Remove them.
    Remove,
    /// Query their metadata, to compute the space that would be freed.
    Weigh,
    /// Count them.
    Count,
}
