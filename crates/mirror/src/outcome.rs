//! What came of a mirroring, and what changes on the way.

use crate::model::change::{Action, CreatedEntry};
use crate::model::reason::{Problem, Reason};
use fsops::Kind;
use wire::{LeftOut, Spared, Summary};

/// Failures that are kept with their reasons, and bytes of these and of their paths; more are counted.
const MAX_PROBLEMS: usize = 10_000;
const MAX_PROBLEM_BYTES: usize = 2 << 20;

/// Entries left out of which the paths are kept.
const MAX_LEFT_OUT_PATHS: usize = 100;

/// What was done, or in a dry run would be, and what could not be.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each says one thing of its own")]
pub struct Outcome {
    /// Names that the source has, directories included, the top one not.
    pub names: u64,
    /// Regular files that were copied.
    pub files: u64,
    /// Bytes that they have.
    pub bytes: u64,
    /// Directories that were made.
    pub dirs: u64,
    /// Symbolic links that were made.
    pub symlinks: u64,
    /// FIFOs, sockets and devices that were made.
    pub specials: u64,
    /// Names that were linked to a file that the destination has.
    pub linked: u64,
    /// Regular files that were made of content that the destination had already.
    pub reused: u64,
    /// Bytes that they have.
    pub reused_bytes: u64,
    /// Inodes whose metadata was changed, and no more.
    pub adjusted: u64,
    /// Names removed, or directories with all in them.
    pub removed: u64,
    /// Names that the destination has and the source has not, which stay as the source could not be read as
    /// a whole, or as there are too many of them.
    pub kept: u64,
    /// Why.
    pub kept_why: Spared,
    /// Entries that would have been removed, if they stay as they are too many.
    pub kept_entries: u64,
    /// Times that a file was copied again as no more names can be linked to the copy before.
    pub link_limit_copies: u64,
    /// Names that were gone when they were to be copied.
    pub vanished: u64,
    /// Entries left out, though no pattern says so.
    pub left_out: u64,
    /// The first of them: why, and their paths below the top directories.
    pub left_out_paths: Vec<(LeftOut, Vec<u8>)>,
    /// Entries that are not what they are to be.
    pub failed: u64,
    /// Of these, entries that could not be removed.
    pub unremoved: u64,
    /// Of these, entries that the destination could not take, whatever they are: by [`Cause`].
    pub blocked: [u64; 3],
    /// Whether it may be more in all: a receiver on another host could not say any more what it has done.
    pub is_lower_bound: bool,
    /// Names below directories that could not be made, which are not there either.
    pub missing: u64,
    /// Directories of the source that could not be read: nobody knows how many names are below them.
    pub unread_dirs: u64,
    /// The first of them.
    pub problems: Vec<Problem>,
    /// Whether anything of the source could not be read.
    pub source_failed: bool,
    /// Whether the destination, or some part of it, keeps no owners, so that these were left as they are there.
    pub no_owners: bool,
    /// Whether it keeps no permissions.
    pub no_modes: bool,
    /// The first time that it keeps, in seconds since the epoch, if the source has some that are before that.
    pub first_time: Option<i64>,
    /// The last time that it keeps, if the source has some that are after that.
    pub last_time: Option<i64>,
    /// Whether the source has anything to mirror besides directories.
    pub(crate) has_files: bool,
    problem_bytes: usize,
}

/// What is about to be removed: what the destination has and the source has not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removal {
    /// Entries, what is in directories included.
    pub entries: u64,
    /// Names that would go, with all in them.
    pub names: u64,
    /// Some of these, as paths below the top directories.
    pub some: Vec<Vec<u8>>,
    /// Entries that the source has.
    pub source: u64,
    /// Of these, entries that the destination had before, and that were not changed.
    pub unchanged: u64,
}

impl Outcome {
    /// Returns how many names the destination had before and has still, unchanged but for metadata.
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

    /// Notes that something could not be removed.
    pub(crate) fn fail_to_remove(&mut self, path: impl FnOnce() -> Vec<u8>, reason: Reason) {
        self.unremoved += 1;
        self.fail(path, reason);
    }

    /// Counts the entries that could not be removed with a directory, and keeps the first problems.
    pub(crate) fn add_failed_removals(&mut self, removal: purge::Outcome) {
        self.failed += removal.failed;
        self.unremoved += removal.failed;
        for purge::Problem { path, reason } in removal.problems {
            self.add_problem(|| Problem { path, reason: reason.into() });
        }
    }

    /// Notes that something is left out.
    pub(crate) fn leave_out(&mut self, why: LeftOut, path: impl FnOnce() -> Vec<u8>) {
        self.left_out = self.left_out.saturating_add(1);
        self.add_left_out_path(why, path);
    }

    pub(crate) fn add_left_out_path(&mut self, why: LeftOut, path: impl FnOnce() -> Vec<u8>) {
        if self.left_out_paths.len() < MAX_LEFT_OUT_PATHS {
            self.left_out_paths.push((why, path()));
        }
    }

    /// Counts a name that was made.
    pub(crate) fn count(&mut self, made: &CreatedEntry) {
        match (made.action, made.kind) {
            (Action::Linked, _) => self.linked += 1,
            (Action::Reused, _) => {
                self.reused += 1;
                self.reused_bytes = self.reused_bytes.saturating_add(made.size);
            }
            (_, Kind::File) => {
                self.files += 1;
                // A sender on another host may say anything.
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

    /// Returns how many things were changed.
    pub fn changes(&self) -> u64 {
        let made = [self.files, self.reused, self.dirs, self.symlinks, self.specials];
        let others = [self.linked, self.adjusted, self.removed];
        made.into_iter().chain(others).fold(0, u64::saturating_add)
    }

    pub(crate) fn add(&mut self, other: Outcome) {
        let (mut sum, counts) = (self.summary(), other.summary());
        sum.add(&counts);
        sum.source_failed |= counts.source_failed;
        if counts.spared > 0 {
            sum.spared_why = counts.spared_why;
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

    /// Returns the counts.
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
            spared: self.kept,
            spared_entries: self.kept_entries,
            split: self.link_limit_copies,
            vanished: self.vanished,
            left_out: self.left_out,
            failed: self.failed,
            unremoved: self.unremoved,
            blocked: self.blocked,
            missing: self.missing,
            unread: self.unread_dirs,
            spared_why: self.kept_why,
            source_failed: self.source_failed,
            no_owners: self.no_owners,
            no_modes: self.no_modes,
            first_time: self.first_time,
            last_time: self.last_time,
            matched: 0,
            stopped: false,
        }
    }

    /// Takes counts instead of its own.
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
        self.kept = counts.spared;
        self.kept_entries = counts.spared_entries;
        self.link_limit_copies = counts.split;
        self.vanished = counts.vanished;
        self.left_out = counts.left_out;
        self.failed = counts.failed;
        self.unremoved = counts.unremoved;
        self.blocked = counts.blocked;
        self.missing = counts.missing;
        self.unread_dirs = counts.unread;
        self.kept_why = counts.spared_why;
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
    fn what_is_kept_of_problems_is_bounded_whatever_they_say() {
        let mut outcome = Outcome::default();
        for _ in 0..1000 {
            let text = "x".repeat(100_000);
            let reason = Reason::Remote { text, of_source: false, cause: None };
            outcome.add_problem(|| Problem { path: vec![b'p'; 1000], reason });
        }
        assert_eq!(outcome.problems.len(), MAX_PROBLEM_BYTES.div_ceil(101_000));
    }

    /// Each directory may fail with as many problems as purge keeps.
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
