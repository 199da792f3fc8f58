//! What came of a removal.

use std::io;

use fsops::Op;

use crate::guard::Refusal;

/// Failures that are kept with their reasons, and bytes of their paths; more are counted. A directory that
/// nothing can be removed from has as many as names.
const KEPT: usize = 10_000;
const KEPT_BYTES: usize = 2 << 20;

/// What was done, and what could not be.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Names removed that are no directories. Of a deed that removes
    /// nothing, all of this is what would be.
    pub files: u64,
    /// Directories removed, those inside of removed subvolumes not included.
    pub dirs: u64,
    /// Subvolumes of btrfs removed as a whole; also counted as directories.
    pub subvolumes: u64,
    /// Entries left as they were not selected. What is below a directory among them is not counted.
    pub unselected: u64,
    /// Bytes that would be free: what files take that have no other names. Only of
    /// [`crate::Deed::Weigh`].
    pub freed: u64,
    /// Names that free nothing, as their files have others that stay. Only of
    /// [`crate::Deed::Weigh`].
    pub linked: u64,
    /// Entries that could not be removed.
    pub failed: u64,
    /// The first of them.
    pub problems: Vec<Problem>,
    /// Times that directories were fetched in the order of the disk, and then removed.
    pub sweeps: u64,
    /// Most threads that there were at a time.
    pub threads: usize,
    /// How long their paths are together.
    path_bytes: usize,
}

/// Something that could not be removed.
#[derive(Debug)]
pub struct Problem {
    /// Its path, as the top directory's was given.
    pub path: Vec<u8>,
    /// Why.
    pub reason: Reason,
}

/// Why something could not be removed.
#[derive(Debug, thiserror::Error)]
pub enum Reason {
    /// A call failed.
    #[error("cannot {}: {source}", op.verb())]
    Failed {
        /// What was tried.
        op: Op,
        /// What the system answered.
        source: io::Error,
    },
    /// It is a mount point.
    #[error("is a mount point, and was left alone")]
    Mount,
    /// It is a mount of something that must not be removed.
    #[error("is a mount of a directory that must stay, and was left alone")]
    Protected,
    /// It is where lop keeps files that can be brought back.
    #[error("holds files in quarantine, and was left alone; 'lop quarantine purge' removes them")]
    Store,
    /// Something is mounted in it, so it cannot be moved away with all that is its own.
    #[error("cannot be moved away: something is mounted in it")]
    MountBelow,
    /// It must not be removed.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Names were added to it all the time.
    #[error("is not empty: something keeps adding to it")]
    Growing,
    /// Something else is in its place now.
    #[error("is not what it was when it was looked at")]
    Moved,
}

impl Outcome {
    pub(crate) fn fail(&mut self, path: impl FnOnce() -> Vec<u8>, reason: Reason) {
        self.failed += 1;
        self.keep(|| Problem { path: path(), reason });
    }

    fn keep(&mut self, problem: impl FnOnce() -> Problem) {
        if self.problems.len() < KEPT && self.path_bytes < KEPT_BYTES {
            let problem = problem();
            self.path_bytes += problem.path.len();
            self.problems.push(problem);
        }
    }

    /// Takes in what another thread, or another tree, came to.
    pub fn add(&mut self, other: Outcome) {
        self.files += other.files;
        self.dirs += other.dirs;
        self.subvolumes += other.subvolumes;
        self.unselected += other.unselected;
        self.freed += other.freed;
        self.linked += other.linked;
        self.failed += other.failed;
        self.sweeps += other.sweeps;
        self.threads = self.threads.max(other.threads);
        for problem in other.problems {
            self.keep(|| problem);
        }
    }
}
