//! The counts and problems of a run.
//!
//! [`Outcome`] adds up over workers. The problem list is bounded by [`MAX_PROBLEMS`] and [`MAX_PROBLEM_BYTES`]; the
//! counts are not. Every problem MUST go through [`Outcome::add_problem`], which holds the bound.

use crate::model::change::CreatedEntry;
use crate::model::reason::{Problem, Reason};
use fsops::Kind;
use wire::Action;
use wire::{KeptReason, LeftOut, Summary};

/// The most problems that are kept, and the most bytes of their paths and texts. Problems beyond that are only counted.
const MAX_PROBLEMS: usize = 10_000;
const MAX_PROBLEM_BYTES: usize = 2 << 20;

/// The most paths of left out entries that are kept.
const MAX_LEFT_OUT_PATHS: usize = 100;

/// What a run did, or in a dry run would do, and what it could not do.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each says one thing of its own")]
pub struct Outcome {
    /// Names in the source, including directories, without the top directory.
    pub names: u64,
    /// Regular files copied.
    pub files: u64,
    /// Bytes of the files copied.
    pub bytes: u64,
    /// Directories created.
    pub dirs: u64,
    /// Symbolic links created.
    pub symlinks: u64,
    /// FIFOs, sockets and devices created.
    pub specials: u64,
    /// Names linked to a file of the destination.
    pub linked: u64,
    /// Regular files made from content that the destination already had.
    pub reused: u64,
    /// Bytes of the files reused.
    pub reused_bytes: u64,
    /// Inodes of which only the metadata was changed.
    pub adjusted: u64,
    /// Extraneous entries deleted, including those inside directories.
    pub removed: u64,
    /// Extraneous names that were not deleted.
    pub kept: u64,
    /// Why they were not deleted.
    pub kept_reason: KeptReason,
    /// Entries that would have been deleted, if `kept_reason` says that they are too many.
    pub kept_entries: u64,
    /// Copies made because no more names could be linked to the copy before.
    pub link_limit_copies: u64,
    /// Names that disappeared from the source before they could be copied.
    pub vanished: u64,
    /// Entries left out for another reason than a pattern.
    pub left_out: u64,
    /// The first of these entries: the reasons, and the paths below the top directories.
    pub left_out_paths: Vec<(LeftOut, Vec<u8>)>,
    /// Entries that do not match the source after the run.
    pub failed: u64,
    /// Of the failed entries, those that could not be removed.
    pub unremoved: u64,
    /// Of the failed entries, those that the destination refused for a reason that concerns all entries. The index is a
    /// [`crate::Cause`].
    pub blocked: [u64; 3],
    /// Whether the counts are lower bounds, because a receiver on another host could not send its last counts.
    pub is_lower_bound: bool,
    /// Names below directories that could not be created, which are therefore missing too.
    pub missing: u64,
    /// Directories of the source that could not be read. The number of names below them is unknown.
    pub unread_dirs: u64,
    /// The first of the failures.
    pub problems: Vec<Problem>,
    /// Whether anything in the source could not be read.
    pub source_failed: bool,
    /// Whether some file system of the destination keeps no owners, so that the run left owners alone there.
    pub no_owners: bool,
    /// Whether some file system of the destination keeps no permissions.
    pub no_modes: bool,
    /// The earliest time that the destination keeps, in seconds since the epoch, if the source has earlier ones.
    pub first_time: Option<i64>,
    /// The latest time that the destination keeps, if the source has later ones.
    pub last_time: Option<i64>,
    /// Whether the source has anything to mirror besides directories.
    pub(crate) has_files: bool,
    problem_bytes: usize,
}

/// The extraneous entries that a run is about to delete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removal {
    /// Entries to delete, including those inside directories.
    pub entries: u64,
    /// Names to delete, each with everything below it.
    pub names: u64,
    /// Examples of these names, as paths below the top directories.
    pub some: Vec<Vec<u8>>,
    /// Entries in the source.
    pub source: u64,
    /// Of the source's entries, those that the destination already had and that were not changed.
    pub unchanged: u64,
}

impl Outcome {
    /// Returns how many names the destination had before the run and still has, unchanged except for metadata.
    pub(crate) fn unchanged(&self) -> u64 {
        let made = [self.files, self.dirs, self.symlinks, self.specials, self.linked, self.reused];
        self.names.saturating_sub(made.iter().sum())
    }
}

impl Outcome {
    pub(crate) fn fail(&mut self, path: impl FnOnce() -> Vec<u8>, reason: Reason) {
        self.failed += 1;
        self.source_failed |= matches!(reason, Reason::Source { .. });
        if let Some(cause) = reason.cause() {
            self.blocked[cause as usize] += 1;
        }
        self.add_problem(|| Problem { path: path(), reason });
    }

    /// Counts an entry that could not be removed.
    pub(crate) fn fail_to_remove(&mut self, path: impl FnOnce() -> Vec<u8>, reason: Reason) {
        self.unremoved += 1;
        self.fail(path, reason);
    }

    /// Counts the entries that could not be removed with a directory, and keeps the first of their problems.
    pub(crate) fn add_failed_removals(&mut self, removal: purge::Outcome) {
        self.failed += removal.failed;
        self.unremoved += removal.failed;
        for purge::Problem { path, reason } in removal.problems {
            self.add_problem(|| Problem { path, reason: reason.into() });
        }
    }

    /// Counts an entry that is left out.
    pub(crate) fn leave_out(&mut self, why: LeftOut, path: impl FnOnce() -> Vec<u8>) {
        self.left_out = self.left_out.saturating_add(1);
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
            (Action::Linked, _) => self.linked += 1,
            (Action::Reused, _) => {
                self.reused += 1;
                self.reused_bytes = self.reused_bytes.saturating_add(made.size);
            }
            (_, Kind::File) => {
                self.files += 1;
                // The size comes from the sender, which may lie.
                self.bytes = self.bytes.saturating_add(made.size);
            }
            (_, Kind::Dir) => self.dirs += 1,
            (_, Kind::Symlink) => self.symlinks += 1,
            _ => self.specials += 1,
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

    /// Returns the number of changes.
    pub fn changes(&self) -> u64 {
        let made = [self.files, self.reused, self.dirs, self.symlinks, self.specials];
        let others = [self.linked, self.adjusted, self.removed];
        made.into_iter().chain(others).fold(0, u64::saturating_add)
    }

    pub(crate) fn add(&mut self, other: Outcome) {
        let (mut sum, counts) = (self.summary(), other.summary());
        sum.add(&counts);
        sum.source_failed |= counts.source_failed;
        if counts.kept > 0 {
            sum.kept_reason = counts.kept_reason;
        }
        self.set_counts(&sum);
        self.has_files |= other.has_files;
        for problem in other.problems {
            self.add_problem(|| problem);
        }
        for (why, path) in other.left_out_paths {
            self.add_left_out_path(why, || path);
        }
    }

    /// Returns the counts in the form that the protocol sends.
    pub(crate) fn summary(&self) -> Summary {
        Summary {
            names: self.names,
            files: self.files,
            bytes: self.bytes,
            dirs: self.dirs,
            symlinks: self.symlinks,
            specials: self.specials,
            linked: self.linked,
            reused: self.reused,
            reused_bytes: self.reused_bytes,
            adjusted: self.adjusted,
            removed: self.removed,
            kept: self.kept,
            kept_entries: self.kept_entries,
            link_limit_copies: self.link_limit_copies,
            vanished: self.vanished,
            left_out: self.left_out,
            failed: self.failed,
            unremoved: self.unremoved,
            blocked: self.blocked,
            missing: self.missing,
            unread: self.unread_dirs,
            kept_reason: self.kept_reason,
            source_failed: self.source_failed,
            no_owners: self.no_owners,
            no_modes: self.no_modes,
            first_time: self.first_time,
            last_time: self.last_time,
            matched: 0,
            stopped: false,
        }
    }

    /// Replaces the counts by those that a receiver sent.
    pub(crate) fn set_counts(&mut self, counts: &Summary) {
        self.names = counts.names;
        self.files = counts.files;
        self.bytes = counts.bytes;
        self.dirs = counts.dirs;
        self.symlinks = counts.symlinks;
        self.specials = counts.specials;
        self.linked = counts.linked;
        self.reused = counts.reused;
        self.reused_bytes = counts.reused_bytes;
        self.adjusted = counts.adjusted;
        self.removed = counts.removed;
        self.kept = counts.kept;
        self.kept_entries = counts.kept_entries;
        self.link_limit_copies = counts.link_limit_copies;
        self.vanished = counts.vanished;
        self.left_out = counts.left_out;
        self.failed = counts.failed;
        self.unremoved = counts.unremoved;
        self.blocked = counts.blocked;
        self.missing = counts.missing;
        self.unread_dirs = counts.unread;
        self.kept_reason = counts.kept_reason;
        self.source_failed = counts.source_failed;
        self.no_owners = counts.no_owners;
        self.no_modes = counts.no_modes;
        self.first_time = counts.first_time;
        self.last_time = counts.last_time;
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

    /// Each removed directory may come with as many problems as purge keeps.
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
        assert_eq!((outcome.failed, outcome.unremoved), (3 * most, 3 * most));
    }
}
