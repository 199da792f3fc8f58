//! Removes directory trees of any size.
//!
//! [`Guard::check`] decides whether a path may be removed at all and opens its parent directory.
//! [`purge`] removes the entry that the guard found there. Both functions identify directories by
//! device and inode, never by path.
//!
//! | module | contents |
//! |---|---|
//! | `guard` | the check of an operand before anything is removed |
//! | `select` | the selection of entries to remove |
//! | `targets` | the removal of each target in turn |
//! | `engine` | workers, table of directories, prefetching in disk order, tuning |
//! | `outcome` | counts and problems |
//!
//! # How it works
//!
//! Workers take directories from a queue, innermost first. They list each directory and remove the
//! names in it in inode order. Idle workers help with a large directory. The worker that removes
//! the last entry of a directory removes the directory itself.
//!
//! Directories that have been found but not yet removed are kept on a stack. The stack can be
//! spilled to a temporary file, so a tree may have any breadth and depth. A worker keeps few
//! directories open.
//!
//! # Safety
//!
//! Once a top directory is open, paths are never resolved from the root or the working directory.
//! Every directory is opened relative to an open directory, with a system call that refuses links
//! and mount points. Another process that swaps names can influence which entries of the tree are
//! removed, but entries outside the tree are never touched.
//!
//! # Errors
//!
//! Entries that could not be removed are in [`Outcome::problems`]. The directories that contain
//! them are kept, and the run continues.

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

/// Options of a removal.
#[derive(Clone, Debug)]
pub struct Options {
    /// Operation on the selected entries.
    pub operation: Operation,
    /// Selection of the entries.
    pub selection: Selection,
    /// True to empty the top directories without removing them.
    pub keep_root: bool,
    /// True to add the owner's permissions to a directory that belongs to the user of the process,
    /// if it cannot be emptied without them. A directory that is kept retains the added
    /// permissions.
    pub adds_permissions: bool,
    /// True to empty file systems that are mounted in the tree.
    pub cross_mounts: bool,
    /// Directories that are not entered even if they are mounted in the tree.
    pub guarded: HashSet<FileKey>,
    /// Number of workers per disk.
    pub threads: Threads,
    /// The known disks and their properties.
    pub disks: Arc<Disks>,
    /// Maximum number of directory descriptors that a worker keeps open.
    pub open_dirs: usize,
    /// Limit on the number of entries removed per second, for all trees together.
    pub throttle: Arc<Throttle>,
}

/// Callback for each entry that was or would be removed. Its arguments are the path, which starts
/// with the target as given, and whether the entry is a directory. It is called by several threads.
/// A directory is reported after its entries.
pub type Tell<'a> = &'a (dyn Fn(&[u8], bool) + Sync);

/// Operation on the selected entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Remove the entries.
    Remove,
    /// Compute the space that a removal would free. This queries the metadata of all entries.
    Weigh,
    /// Count the entries.
    Count,
}
