//! The counts and problems of a run.
//!
//! [`Outcome`] combines the results of all workers. The list of problems is bounded by [`MAX_PROBLEMS`] and
//! [`MAX_PROBLEM_BYTES`]. The counts include the problems that do not fit in the list. Every problem MUST be added
//! with [`Outcome::add_problem`], which enforces the bounds.

use crate::model::change::CreatedEntry;
use crate::model::reason::{Problem, Reason};
use fsops::Kind;
use wire::Action;
use wire::{Counts, LeftOut};

/// The maximum number of stored problems, and the maximum size of their paths and texts in bytes. Further problems are
/// only counted.
const MAX_PROBLEMS: usize = 10_000;
const MAX_PROBLEM_BYTES: usize = 2 << 20;

/// The maximum number of stored paths of entries that were left out.
const MAX_LEFT_OUT_PATHS: usize = 100;

/// The result of a run: counts of what it did, or would do in a dry run, and the problems that occurred.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The counts.
    pub counts: Counts,
    /// The first entries that were left out for a reason other than a pattern, with their reasons and their paths
    /// relative to the top directories.
    pub left_out_paths: Vec<(LeftOut, Vec<u8>)>,
    /// True if the counts are lower bounds, because a receiver on another host could not send its last counts.
    pub is_lower_bound: bool,
    /// The first problems, up to the bounds of the list.
    pub problems: Vec<Problem>,
    /// True if the source has anything to mirror except directories.
    pub(crate) has_files: bool,
    problem_bytes: usize,
}

impl Outcome {
    pub(crate) fn fail(&mut self, path: impl FnOnce() -> Vec<u8>, reason: Reason) {
        self.counts.failed += 1;
        self.counts.source_failed |= matches!(reason, Reason::Source { .. });
        if let Some(cause) = reason.cause() {
            self.counts.blocked[cause as usize] += 1;
        }
        self.add_problem(|| Problem { path: path(), reason });
    }

    /// Counts an entry that could not be removed.
    pub(crate) fn fail_to_remove(&mut self, path: impl FnOnce() -> Vec<u8>, reason: Reason) {
        self.counts.unremoved += 1;
        self.fail(path, reason);
    }

    /// Counts the entries below a directory that could not be removed, and stores the first of their problems.
    pub(crate) fn add_failed_removals(&mut self, removal: purge::Outcome) {
        self.counts.failed += removal.failed;
        self.counts.unremoved += removal.failed;
        for purge::Problem { path, reason } in removal.problems {
            self.add_problem(|| Problem { path, reason: reason.into() });
        }
    }

    /// Counts an entry that is left out.
    pub(crate) fn leave_out(&mut self, why: LeftOut, path: impl FnOnce() -> Vec<u8>) {
        self.counts.left_out = self.counts.left_out.saturating_add(1);
        self.add_left_out_path(why, path);
    }

    pub(crate) fn add_left_out_path(&mut self, why: LeftOut, path: impl FnOnce() -> Vec<u8>) {
        if self.left_out_paths.len() < MAX_LEFT_OUT_PATHS {
            self.left_out_paths.push((why, path()));
        }
    }

    /// Counts a name that was created.
    pub(crate) fn count(&mut self, made: &CreatedEntry) {
        match (made.action, made.kind) {
            (Action::Linked, _) => self.counts.linked += 1,
            (Action::Reused, _) => {
                self.counts.reused += 1;
                self.counts.reused_bytes = self.counts.reused_bytes.saturating_add(made.size);
            }
            (_, Kind::File) => {
                self.counts.files += 1;
                // The size comes from the sender and may be wrong.
                self.counts.bytes = self.counts.bytes.saturating_add(made.size);
            }
            (_, Kind::Dir) => self.counts.dirs += 1,
            (_, Kind::Symlink) => self.counts.symlinks += 1,
            _ => self.counts.specials += 1,
        }
    }

    pub(crate) fn add_problem(&mut self, problem: impl FnOnce() -> Problem) {
        if self.problems.len() < MAX_PROBLEMS && self.problem_bytes < MAX_PROBLEM_BYTES {
            let problem = problem();
            let text_bytes =
                if let Reason::Remote { text, .. } = &problem.reason { text.len() } else { 0 };
            self.problem_bytes += problem.path.len() + text_bytes;
            self.problems.push(problem);
        }
    }

    pub(crate) fn add(&mut self, other: Outcome) {
        self.counts.add(&other.counts);
        self.counts.source_failed |= other.counts.source_failed;
        if other.counts.kept > 0 {
            self.counts.kept_reason = other.counts.kept_reason;
        }
        self.has_files |= other.has_files;
        for problem in other.problems {
            self.add_problem(|| problem);
        }
        for (why, path) in other.left_out_paths {
            self.add_left_out_path(why, || path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MAX_PROBLEM_BYTES, MAX_PROBLEMS, Outcome, Problem, Reason};

    #[test]
    fn problems_are_bounded_by_their_bytes() {
        let mut outcome = Outcome::default();
        for _ in 0..1000 {
            let text = "x".repeat(100_000);
            let reason = Reason::Remote { text, of_source: false, cause: None };
            outcome.add_problem(|| Problem { path: vec![b'p'; 1000], reason });
        }
        assert_eq!(outcome.problems.len(), MAX_PROBLEM_BYTES.div_ceil(101_000));
    }

    /// Each removal of a directory can add as many problems as purge stores.
    #[test]
    fn problems_of_removed_directories_are_bounded_too() {
        let mut outcome = Outcome::default();
        let most = MAX_PROBLEMS as u64;
        for _ in 0..3 {
            let mut removal = purge::Outcome::default();
            removal.failed = most;
            let problem = || purge::Problem { path: b"d/f".to_vec(), reason: purge::Reason::Store };
            removal.problems.extend(std::iter::repeat_with(problem).take(MAX_PROBLEMS));
            outcome.add_failed_removals(removal);
        }
        assert_eq!(outcome.problems.len(), MAX_PROBLEMS);
        assert_eq!((outcome.counts.failed, outcome.counts.unremoved), (3 * most, 3 * most));
    }
}
