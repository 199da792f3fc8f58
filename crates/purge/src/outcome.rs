//! The result of a removal.

use std::io;

use fsops::Op;

use crate::guard::refusal::Refusal;

/// Maximum number of failures stored with their reasons, and of bytes in their paths. Further ones
/// are only counted. A directory in which nothing can be removed has as many failures as names.
const MAX_PROBLEMS: usize = 10_000;
const MAX_PROBLEM_BYTES: usize = 2 << 20;

/// The result of a removal.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Number of names removed, except directories. For operations that remove nothing, the counts
    /// tell what a removal would do.
    pub files: u64,
    /// Number of directories removed, except those inside removed subvolumes.
    pub dirs: u64,
    /// Number of btrfs subvolumes removed as a whole; they also count as directories.
    pub subvolumes: u64,
    /// Number of entries kept because they were not selected. Entries below kept directories are
    /// not counted.
    pub unselected: u64,
    /// Bytes that would be freed: those of files without other names. Only for
    /// [`crate::Operation::Weigh`].
    pub freed: u64,
    /// Number of names that free nothing, as their files keep other names. Only for
    /// [`crate::Operation::Weigh`].
    pub linked: u64,
    /// Number of entries that could not be removed.
    pub failed: u64,
    /// The first of these.
    pub problems: Vec<Problem>,
    /// Number of rounds of prefetching in disk order.
    pub prefetch_rounds: u64,
    /// Maximum number of threads at a time.
    pub threads: usize,
    /// Total length of the paths in `problems`.
    path_bytes: usize,
}

/// An entry that could not be removed.
#[derive(Debug)]
pub struct Problem {
    /// Its path, starting with the top directory as given.
    pub path: Vec<u8>,
    /// The reason.
    pub reason: Reason,
}

/// Why an entry could not be removed.
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
    /// It is a mount point.
    #[error("is a mount point, and was left alone")]
    Mount,
    /// It is a mount of a protected directory.
    #[error("is a mount of a directory that must stay, and was left alone")]
    Protected,
    /// It is lop's quarantine.
    #[error("holds files in quarantine, and was left alone; 'lop quarantine purge' removes them")]
    Store,
    /// A file system is mounted in it, so it cannot be renamed away.
    #[error("cannot be moved away: something is mounted in it")]
    MountBelow,
    /// It is protected.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Another process kept adding names to it.
    #[error("is not empty: something keeps adding to it")]
    Growing,
    /// It was replaced since the check.
    #[error("is not what it was when it was looked at")]
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
