//! The basis of all tests: trees as data, an independent oracle, sandboxed runs, fault injection,
//! and mounts.
//!
//! This crate is the independent oracle. It depends on no other crate of the workspace, so that it
//! cannot share a mistake with the program. It prefers the obvious algorithm over the fast one. It
//! is never released. If the *test* is at fault (a tree that cannot be made, a program that hangs),
//! it panics with a full report. To judge the *program*, a test asserts on the data that this crate
//! returns.
//!
//! | module | for |
//! |---|---|
//! | [`tree`], [`content`], [`deep`], [`temp`] | describes a tree, creates it, removes it |
//! | [`disks`] | whole disks with junk and with files that rules must keep |
//! | [`hostile`], [`random`] | trees that nobody would write by hand |
//! | [`oracle`], [`formats`], [`groups`], [`peers`] | the true groups of duplicates, the answers of programs, and their differences |
//! | [`snapshot`] | whether a tree changed, and whether its contents still exist |
//! | [`attacker`] | moves entries around while a program works on them |
//! | [`changes`] | random changes of a tree |
//! | [`sandbox`], [`invocation`], [`running`], [`output`], [`terminal`], [`tmux`] | runs a binary isolated from the machine |
//! | [`kill`] | kills it at a chosen moment, or fails one of its system calls |
//! | [`sshd`] | an ssh server on this machine |
//! | [`python`](mod@python) | a Python interpreter with other engines |
//! | [`spark`] | a Spark cluster on this machine |
//! | [`s3`] | an object store on this machine |
//! | [`mounts`] | real file systems on loop devices, tmpfs, bind mounts |
//! | [`dice`], [`path_bytes`] | seeded random numbers, paths as bytes |

#![expect(
    clippy::disallowed_methods,
    reason = "testkit makes and removes the trees of tests; it never touches a user's files"
)]

pub mod attacker;
pub mod changes;
pub mod content;
pub mod deep;
pub mod dice;
pub mod disks;
mod forks;
pub mod formats;
pub mod groups;
pub mod hostile;
pub mod invocation;
pub mod kill;
mod listing;
pub mod mounts;
pub mod oracle;
pub mod output;
pub mod path_bytes;
pub mod peers;
mod process;
pub mod python;
pub mod random;
mod remove;
pub mod running;
pub mod s3;
pub mod sandbox;
mod signals;
pub mod snapshot;
mod space;
pub mod spark;
pub mod sshd;
mod stores;
pub mod temp;
pub mod terminal;
pub mod tmux;
pub mod tree;

pub use attacker::{AttackOptions, Attacker, Swap, Swaps};
pub use changes::{CATALOG_FACTS, ChangedEntry, RandomChanges};
pub use content::Content;
pub use deep::{BOTTOM, deep_path, open_beneath};
pub use dice::Dice;
pub use disks::Disk;
pub use forks::{spawn, without_forks};
pub use formats::{JsonGroup, parse_fdupes, parse_json, parse_json_groups, parse_nul};
pub use groups::{Groups, assert_groups, diff_groups, groups_match, groups_of, relative_to};
pub use hostile::{Hostile, hostile_tree};
pub use invocation::Invocation;
pub use kill::{
    Calls, Growth, Killed, Strace, Traced, at_random_moments, kill_after, kill_when_grown,
};
pub use mounts::{FileSystem, Mount, ReparsePoint, View, make_reparse_points};
pub use oracle::{Rules, Truth, collapse_links, naive_groups, naive_truth};
pub use output::{Ending, Output};
pub use path_bytes::PathBytes;
pub use peers::jdupes;
pub use python::python;
pub use random::{RandomTree, random_tree};
pub use remove::remove_tree;
pub use running::{Running, When, signal_process};
pub use rustix::process::Signal;
pub use s3::S3;
pub use sandbox::{NOBODY, Sandbox};
pub use snapshot::{Compare, Snapshot, assert_contents_kept, assert_same};
pub use space::disk_space;
pub use spark::Spark;
pub use sshd::Sshd;
pub use stores::{remove_stores, stores};
pub use temp::TempTree;
pub use terminal::Shown;
pub use tmux::Tmux;
pub use tree::{Made, TreeBuilder};

/// The time that a test waits for an expected event before it fails. It is much longer than any
/// such event takes on a busy machine.
pub const TEST_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(300);

/// Returns whether this process is root (effective uid 0).
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Prints that a check was skipped and why, for readers of the test log.
#[expect(clippy::print_stderr, reason = "a skipped check must not look like a passed one")]
pub fn skipped(reason: impl std::fmt::Display) {
    eprintln!("skipped: {reason}");
}
