//! The result of a removal.

use std::io;

use fsops::Op;

use crate::guard::refusal::Refusal;

/// Maximum number of failures to store with their reasons, and maximum total length of their paths
/// in bytes. Further failures are only counted. If nothing in a directory can be removed, every
/// name counts as a failure.
const MAX_PROBLEMS: usize = 10_000;
const MAX_PROBLEM_BYTES: usize = 2 << 20;

/// The result of a removal.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Number of entries removed, not counting directories. If the operation does not remove
    /// anything, all counts are those that a removal would produce.
    pub files: u64,
    /// Number of directories removed, not counting those inside subvolumes removed as a whole.
    pub dirs: u64,
    /// Number of btrfs subvolumes removed as a whole. They are also counted as directories.
    pub subvolumes: u64,
    /// Number of entries kept because they were not selected. The entries in a kept directory are
    /// not counted.
    pub unselected: u64,
    /// Number of bytes that would be freed. Files that would keep another name are not counted. Set
    /// only by [`crate::Operation::Weigh`].
    pub freed: u64,
    /// Number of names whose removal would not free any space, because the file would keep another
    /// name. Set only by [`crate::Operation::Weigh`].
    pub linked: u64,
    /// Number of entries that could not be removed.
    pub failed: u64,
    /// The first failures. At most 10,000 are stored.
    pub problems: Vec<Problem>,
    /// Number of rounds of removal in disk order.
    pub prefetch_rounds: u64,
    /// Maximum number of threads that ran at the same time.
    pub threads: usize,
    /// Total length of the paths in `problems`.
    path_bytes: usize,
}

/// An entry that could not be removed.
#[derive(Debug)]
pub struct Problem {
    /// Path of the entry. The path starts with the top directory as given.
    pub path: Vec<u8>,
    /// The reason.
    pub reason: Reason,
}

/// Reason why an entry could not be removed.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// A system call failed.
    #[error("cannot {}: {source}", op.verb())]
    Failed {
        /// The operation.
        op: Op,
        /// The system's error.
        source: io::Error,
    },
    /// The entry is a mount point.
    #[error("is a mount point, and was left alone")]
    Mount,
    /// The entry is a mount of a protected directory.
    #[error("is a mount of a protected directory, and was left alone")]
    Protected,
    /// The entry is lop's quarantine.
    #[error("holds files in quarantine, and was left alone; 'lop quarantine purge' removes them")]
    Store,
    /// The directory cannot be renamed away, because a file system is mounted in it.
    #[error("cannot be renamed: a file system is mounted in it")]
    MountBelow,
    /// The path was refused by the guard.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Another process keeps adding names to the directory.
    #[error("is not empty: another process keeps adding files to it")]
    Growing,
    /// The target was replaced or changed after it was checked.
    #[error("was replaced or changed after it was checked")]
    Moved,
}

impl Outcome {
    pub(crate) fn fail(&mut self, path: impl FnOnce() -> Vec<u8>, reason: Reason) {
        self.failed += 1;
        self.keep(|| Problem { path: path(), reason });
    }

    fn keep(&mut self, problem: impl FnOnce() -> Problem) {
        if self.problems.len() < MAX_PROBLEMS && self.path_bytes < MAX_PROBLEM_BYTES {
            let problem = problem();
            self.path_bytes += problem.path.len();
            self.problems.push(problem);
        }
    }

    /// Adds the result of another thread or tree.
    pub fn add(&mut self, other: Outcome) {
        self.files += other.files;
        self.dirs += other.dirs;
        self.subvolumes += other.subvolumes;
        self.unselected += other.unselected;
        self.freed += other.freed;
        self.linked += other.linked;
        self.failed += other.failed;
        self.prefetch_rounds += other.prefetch_rounds;
        self.threads = self.threads.max(other.threads);
        for problem in other.problems {
            self.keep(|| problem);
        }
    }
}
