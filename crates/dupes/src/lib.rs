//! Finds files with the same content: by size first, then by content, while reading as little as
//! possible.
//!
//! A search ([`find`]) runs in three stages:
//!
//! 1. `classes` sorts the files by size. An inode with a unique size is never read.
//! 2. `prefilter` splits large classes without keeping their files open. On most disks, it reads
//!    the head of each file in tree order. On a seek-bound disk, it reads up to a megabyte of each
//!    file, in the order of the files' disk offsets. Small files are decided by their content keys.
//!    Small classes of larger files on cached disks skip this stage.
//! 3. `compare` compares the bytes of the remaining files side by side. Sets with more files than
//!    can be open at once are split by the BLAKE3 of increasingly long prefixes instead.
//!
//! The caller passes what the catalog knows about unchanged files as [`Fingerprints`]. The search
//! does not read files with known content again, and adds its results to the `Fingerprints`.
//!
//! | Module           | What it does                                                             |
//! |------------------|--------------------------------------------------------------------------|
//! | `work`, `worker`, `parallel` | shared state, the state of one thread, threads over lists of items |
//! | `sets`           | stores sets of files in one block of memory                              |
//! | `classes`        | finds files of equal size                                                |
//! | `probe`          | measures whether a disk is seek-bound and whether its data is cached     |
//! | `inline_reads`, `bloom_filter` | reads files during the walk, if their size was seen       |
//! | `keys`, `known_heads` | decides whether small files are equal at their first read            |
//! | `prefilter`      | splits classes by heads and by prefixes                                  |
//! | `compare`        | compares small sets byte by byte                                         |
//! | `shared_extents` | finds files that share all their extents and need no comparison          |
//! | `contents`, `holes` | record equal files, recognize sparse files                            |
//! | `group`, `groups`, `disk_usage` | collect and sort groups, measure reclaimable space        |
//! | `digests`        | computes digests of files that no comparison had to read                 |
//! | `readings`       | reads heads and digests of remembered files that the caller chose        |
//! | `pending`        | lists the files that an interrupted search has not compared              |
//! | `states`, `validate`, `confirm` | check remembered files: metadata, bytes, bytes of copies  |
//! | `folders`        | finds directories that are equal, contained in another or overlapping    |
//! | `contains`       | checks whether one directory has every content of another                |
//! | `aliases`        | detects second paths to the same files (FUSE, network, overlayfs)        |
//!
//! The crate prints nothing and changes no files. It reports files as identical only if it compared
//! their bytes, BLAKE3 digests or content keys, or found that they share all extents. A
//! file that is read after the walk must still have the metadata that the walk saw. A file that
//! changes before it is read is not in any group and is reported as a problem. A file with a unique
//! head is not checked for changes, because the result contains nothing about it. The search also
//! does not check a file with one name that was read during the walk, because the walk queried its
//! metadata a moment before.

mod aliases;
mod bloom_filter;
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
mod inline_reads;
mod keys;
mod known_heads;
mod parallel;
mod pending;
mod prefilter;
mod probe;
mod readings;
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
pub use bloom_filter::BloomFilter;
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
pub use inline_reads::InlineReader;
pub use keys::{ContentKeys, MAX_KEYED_BYTES};
pub use pending::Candidates;
pub use readings::{Part, Wanted, read_wanted, wanted};
pub use sets::{Set, Sets};
pub use states::{Attributes, State, states, unchanged};
pub use validate::{Expected, Finding, Validated, validate};
pub use work::Work;

/// Options of a search.
#[derive(Clone, Debug)]
pub struct Options {
    /// Number of worker threads for each disk.
    pub threads: Threads,
    /// The disks and what is known about them.
    pub disks: Arc<Disks>,
    /// Maximum number of directories that a worker keeps open.
    pub open_dirs: usize,
    /// Maximum number of files that a worker keeps open to compare them side by side; at least 2.
    pub open_files: usize,
    /// True if groups get digests.
    pub digests: bool,
    /// True if several names of one inode count as duplicates of each other.
    pub hardlinks: bool,
}

/// The result of a search.
#[derive(Debug, Default)]
pub struct Found {
    /// Groups of identical files, in no particular order; [`Found::sort`] sorts them. The files of a
    /// group are sorted by path.
    pub groups: Sets<Group>,
    /// Files that could not be compared.
    pub problems: Vec<Problem>,
    /// Number of inodes that share their size with another inode.
    pub candidates: u64,
    /// Number of candidates whose content was known before the search.
    pub known: u64,
    /// Number of walked files that are identical only to remembered files outside the walk.
    pub elsewhere: u64,
}

impl Found {
    /// Sorts the groups by reclaimable bytes, largest first, then by path.
    /// **May block** like [`Progress::sort`].
    pub fn sort(&mut self, tree: &Tree, progress: &Progress) {
        groups::sort(tree, &mut self.groups, progress);
    }
}

/// Finds the groups of identical files in `tree`. With `keys`, content keys decide whether small files
/// are equal. Otherwise, their bytes or digests are compared.
///
/// # Errors
///
/// Fails only with [`Interrupted`], if the user asked to stop. `fingerprints` then contains the
/// results found so far, all of them correct.
pub fn find(
    tree: &Tree,
    fingerprints: &Fingerprints,
    mut keys: Option<ContentKeys>,
    options: &Options,
    progress: &Progress,
) -> Result<Found, Interrupted> {
    progress.enter(Stage::Sort);
    let threads = options.threads.first;
    let classes = classes::classes(tree, options.hardlinks, threads, progress);
    if let Some(keys) = &mut keys {
        keys.grow(tree.files().len());
    }
    let work = Work::new(tree, fingerprints, options, progress).with_keys(keys);
    let has_no_head = |file: walk::FileId| fingerprints.head(file.0).is_none();
    probe::run(&work, classes.files(), has_no_head)?;
    let mut found = Found { candidates: classes::inodes_in(&classes), ..Found::default() };
    let prefiltered = prefilter::run(&work, &classes)?;
    found.known = found.candidates - prefiltered.unknown;
    found.problems.extend(prefiltered.problems);
    found.problems.extend(compare::run(&work, prefiltered.sets)?);
    groups::collect(&work, &classes, &mut found)?;
    found.problems.sort_by(|a, b| a.path.cmp(&b.path));
    progress.check()?;
    Ok(found)
}
