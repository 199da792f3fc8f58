//! Groups equal files: by size, then by content, reading as little as possible.
//!
//! A search ([`find`]) runs in three stages:
//!
//! 1. `classes` sorts the files by size. An inode whose size no other inode has is unique and never
//!    read.
//! 2. `prefilter` splits large classes without holding their files open. It reads the head of each
//!    file in tree order. On a seek-bound disk it reads up to a megabyte of each file, in the order
//!    of the files' disk offsets. Small classes on cached disks skip this stage.
//! 3. `compare` compares the bytes of the remaining files side by side. Sets with more files than
//!    can be open at once are split by the BLAKE3 of growing prefixes instead.
//!
//! What the catalog knows of unchanged files comes in as [`Fingerprints`] and is not read again. The
//! search adds its results to them.
//!
//! | Module           | What it does                                                             |
//! |------------------|--------------------------------------------------------------------------|
//! | `work`, `worker`, `parallel` | run the threads: what they share, one thread's state, lists of items |
//! | `sets`           | sets of files in one block of memory                                     |
//! | `classes`        | files of equal size                                                      |
//! | `probe`          | measures before reading whether a disk is seek-bound or its data cached  |
//! | `inline_heads`   | reads heads during the walk                                              |
//! | `prefilter`      | splits classes by heads and by prefixes                                  |
//! | `compare`        | compares small sets byte by byte                                         |
//! | `shared_extents` | files that share all their extents, equal without a read                 |
//! | `contents`, `holes` | helpers: record equal files, recognize sparse ones                    |
//! | `group`, `groups`, `disk_usage` | the result: groups, their order, what they would free     |
//! | `digests`        | computes digests of files that no comparison had to read                 |
//! | `pending`        | which files an interrupted search has not compared                       |
//! | `states`, `validate`, `confirm` | check remembered files: metadata, bytes, bytes of copies  |
//! | `folders`        | how directories relate: equal, contained, overlapping                    |
//! | `contains`       | whether another directory has everything that one has                    |
//! | `aliases`        | second paths to the same files (FUSE, network, overlayfs)                |
//!
//! The crate prints nothing and changes no file. It claims that files are equal only after it
//! compared their bytes or BLAKE3 digests, or found that they share all extents, and only if each
//! file's metadata after the read is still that of the walk. A file that changed meanwhile is in no
//! group and is reported. A file that its head already distinguished from all others is not checked again,
//! as nothing is claimed of it.

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

use content::Fingerprints;
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
    Folder, Folders, MAX_ALL_PAIRS_FILES, MAX_CONTAINER_CANDIDATES, Related, Relation,
    RememberedTree, UntrackedEntries, count_untracked,
};
pub use group::Group;
pub use inline_heads::InlineHeadReader;
pub use pending::Candidates;
pub use sets::{Set, Sets};
pub use states::{Attributes, State, states, unchanged};
pub use validate::{Expected, Finding, Validated, validate};
pub use work::Work;

/// How to compare files.
#[derive(Clone, Debug)]
pub struct Options {
    /// Worker threads on each disk.
    pub threads: Threads,
    /// The disks, and what is known of them.
    pub disks: Arc<Disks>,
    /// Directories that a worker may keep open.
    pub open_dirs: usize,
    /// Files that a worker may keep open to compare them side by side; at least 2.
    pub open_files: usize,
    /// Whether groups get digests.
    pub digests: bool,
    /// Whether several names of one inode count as duplicates of each other.
    pub hardlinks: bool,
}

/// The result of a search.
#[derive(Debug, Default)]
pub struct Found {
    /// Groups of equal files, most reclaimable bytes first, then by path.
    pub groups: Sets<Group>,
    /// Files that could not be compared.
    pub problems: Vec<Problem>,
    /// Inodes that share their size with another.
    pub candidates: u64,
    /// Candidates whose content was known before the search.
    pub known: u64,
    /// Files of the walk that equal only remembered files outside it.
    pub elsewhere: u64,
}

/// Finds the groups of equal files in `tree`.
///
/// # Errors
///
/// Fails only with [`Interrupted`], if the user asked to stop. `fingerprints` then has a part of the
/// results, all of it correct.
pub fn find(
    tree: &Tree,
    fingerprints: &Fingerprints,
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
