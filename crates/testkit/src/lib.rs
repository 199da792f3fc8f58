//! What the tests of the workspace stand on: trees as data, the naive truth, hermetic runs, mounts.
//!
//! This crate is the independent oracle. It depends on no other crate of the workspace, so a
//! mistake in the program cannot repeat itself here, and it prefers the obvious way over the fast
//! one. It never ships: everything panics with a full account when the *test* is at fault (a tree
//! that cannot be made, a program that hangs) and returns data when the *program* is to be judged.
//!
//! | module | for |
//! |---|---|
//! | [`tree`], [`content`], [`deep`], [`temp`] | describe a tree, make it, remove it again |
//! | [`hostile`], [`random`] | trees nobody would write by hand |
//! | [`oracle`], [`formats`], [`groups`], [`peers`] | what the duplicates are, who says so, how answers differ |
//! | [`snapshot`] | whether a tree is what it was, and what became of its contents |
//! | [`attacker`] | somebody who moves things under a program while it works |
//! | [`sandbox`], [`invocation`], [`running`], [`output`] | run a binary cut off from the machine it is on |
//! | [`kill`] | kill it at a chosen moment, fail one of its system calls |
//! | [`sshd`] | a host to be reached with ssh, which is this one |
//! | [`mounts`] | real file systems on loop devices, tmpfs, bind mounts |

#![expect(
    clippy::disallowed_methods,
    reason = "testkit makes and removes the trees of tests; it never touches a user's files"
)]

pub mod attacker;
pub mod content;
pub mod deep;
pub mod dice;
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
pub mod random;
mod remove;
pub mod running;
pub mod sandbox;
mod signals;
pub mod snapshot;
mod space;
pub mod sshd;
mod stores;
pub mod temp;
pub mod terminal;
pub mod tree;

pub use attacker::{AttackOptions, Attacker, Swap, Swaps};
pub use content::Content;
pub use deep::{BOTTOM, deep_path, open_beneath};
pub use dice::Dice;
pub use forks::{spawn, without_forks};
pub use formats::{JsonGroup, parse_fdupes, parse_json, parse_json_groups, parse_nul};
pub use groups::{Groups, assert_groups, diff_groups, groups_match, groups_of, relative_to};
pub use hostile::{Hostile, hostile_tree};
pub use invocation::Invocation;
pub use kill::{
    Calls, Growth, Killed, Strace, Traced, at_random_moments, kill_after, kill_when_grown,
};
pub use mounts::{FileSystem, Mount, View};
pub use oracle::{Rules, Truth, collapse_links, naive_groups, naive_truth};
pub use output::{Ending, Output};
pub use path_bytes::PathBytes;
pub use peers::jdupes;
pub use random::{RandomTree, random_tree};
pub use remove::remove_tree;
pub use running::{Running, When};
pub use rustix::process::Signal;
pub use sandbox::{NOBODY, Sandbox};
pub use snapshot::{Compare, Snapshot, assert_contents_kept, assert_same};
pub use space::disk_space;
pub use sshd::Sshd;
pub use stores::{remove_stores, stores};
pub use temp::TempTree;
pub use terminal::Shown;
pub use tree::{Made, TreeBuilder};

/// How long a test waits for what is sure to come before it gives up: far more than anything takes on a machine that is
/// busy with other work.
pub const PATIENCE: std::time::Duration = std::time::Duration::from_secs(300);

/// Returns whether this process has root's rights (effective uid 0).
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Prints that a check was not run, and why, for whoever reads the log of the tests.
#[expect(clippy::print_stderr, reason = "a skipped check must not look like a passed one")]
pub fn skipped(reason: impl std::fmt::Display) {
    eprintln!("skipped: {reason}");
}
