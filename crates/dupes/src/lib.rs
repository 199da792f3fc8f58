//! Groups equal files: by size, then by content, reading as little as possible.
//!
//! # How
//!
//! 1. Files are sorted by size (`classes`). A size that only one inode has is done, unread.
//! 2. Classes of few files are compared at once, side by side, where all is cached. For others the
//!    heads are read first, in the order of the tree, or, before an arm, up to a megabyte of each by its
//!    place (`order`), and the class splits by them (`sift`).
//! 3. What is still together is compared by its bytes (`compare`), or, where more files are
//!    alike than can be held open, by BLAKE3 of growing prefixes.
//!
//! What a catalog knows of unchanged files comes in as [`Facts`] and is not read again; what is
//! found out goes back into them.
//!
//! What was found out also tells how directories relate ([`Folders`]), and whether all of one is in
//! another ([`locate_contents`]).
//!
//! A file whose metadata is not that of the walk after its bytes were read is in no group and is
//! reported. One that its head already told from all others is not asked again: nothing is claimed
//! of it.

mod aliases;
mod classes;
mod compare;
mod confirm;
mod contains;
mod contents;
mod digests;
mod disk_usage;
mod folders;
mod group;
mod groups;
mod holes;
mod inline_heads;
mod parallel;
mod pending;
mod prefilter;
mod probe;
mod sets;
mod shared_extents;
mod states;
mod validate;
mod work;
mod worker;

use std::sync::Arc;

use content::Facts;
use device::{Disks, Threads};
use runtime::{Interrupted, Progress, Stage};
use walk::{Problem, Tree};

pub use aliases::{AliasDetector, AliasKey, AliasKeyReader, aliases_among, may_have_aliases};
pub use confirm::{Claim, Confirmed, Verdict, confirm};
pub use contains::{
    Content, ContentLocation, Walked, dirs_of, is_inside, locate_contents, outside,
};
pub use digests::{Digested, digest};
pub use disk_usage::reclaimable;
pub use folders::{
    Folder, Folders, MAX_ALL_PAIRS_FILES, MAX_CANDIDATES, Related, Relation, RememberedTree,
    UntrackedEntries, count_untracked,
};
pub use group::Group;
pub use inline_heads::InlineHeadReader;
pub use pending::Candidates;
pub use sets::{Set, Sets};
pub use states::{Attributes, State, states, unchanged};
pub use validate::{Expected, Finding, Validated, validate};
pub use work::Work;

/// How to compare.
#[derive(Clone, Debug)]
pub struct Options {
    /// Workers on each device.
    pub threads: Threads,
    /// The devices, and what is known of them.
    pub disks: Arc<Disks>,
    /// Directories a worker may keep open.
    pub open_dirs: usize,
    /// Files a worker may keep open to compare them side by side; at least 2.
    pub open_files: usize,
    /// Whether the digests of groups are wanted.
    pub digests: bool,
    /// Whether several names of one inode are duplicates of each other.
    pub hardlinks: bool,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Found {
    /// Groups of equal files, most reclaimable bytes first, then by path.
    pub groups: Sets<Group>,
    /// Files that could not be compared.
    pub problems: Vec<Problem>,
    /// Inodes that share their size with another.
    pub candidates: u64,
    /// Of those, inodes about which everything was known.
    pub known: u64,
    /// Files of the walk whose only equals are remembered files.
    pub elsewhere: u64,
}

/// Finds the groups of equal files in `tree`.
///
/// # Errors
///
/// Only that `progress` asked to stop. `facts` may then hold part of what was found out, all of it
/// true.
pub fn find(
    tree: &Tree,
    fingerprints: &Facts,
    options: &Options,
    progress: &Progress,
) -> Result<Found, Interrupted> {
    progress.enter(Stage::Sort);
    let classes = classes::classes(tree, options.hardlinks, progress);
    let work = Work::new(tree, fingerprints, options, progress);
    probe::run(&work, &classes)?;
    let mut found = Found { candidates: classes::inodes_in(&work, &classes), ..Found::default() };
    let prefiltered = prefilter::run(&work, &classes)?;
    found.known = found.candidates - prefiltered.unknown;
    found.problems.extend(prefiltered.problems);
    found.problems.extend(compare::run(&work, prefiltered.sets)?);
    groups::collect(&work, &classes, &mut found)?;
    found.problems.sort_by(|a, b| a.path.cmp(&b.path));
    progress.check()?;
    Ok(found)
}
