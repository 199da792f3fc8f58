//! Sweep: moves entries that rules chose into quarantine.
//!
//! [`Runs::sweep`] takes the entries from an iterator, so a run of any length needs little memory.
//! Entries are regular files, symbolic links and whole directory trees. Unlike duplicates, they
//! have no kept file to compare them with. An undo moves each entry back to its name.
//!
//! The run works in batches (`batch`). It checks each entry (`check`), writes the intents of the batch
//! to the journal and to the manifests, syncs each of them once, and then renames the entries. After
//! each rename, it checks that the entry that arrived in quarantine is the chosen one, and if not,
//! moves it back.
//!
//! This module does not decide what to sweep, and it frees no space: the space is freed when the
//! quarantine is purged. No entry may be renamed before its intent is on the disk.

mod batch;
mod check;

use std::collections::HashSet;

use fsops::{Dir, Kind as Entry, Stat};
use runtime::{Progress, Stage};
use walk::{OwnFiles, PathOpener};

use crate::error::{Error, worse};
use crate::plan::kind::Kind;
use crate::run::outcome::ApplyOutcome;
use crate::run::runs::Runs;
use crate::sweep::batch::Sweeper;

/// An entry to move into quarantine.
#[derive(Clone, Debug)]
pub struct SweepEntry {
    /// The absolute path, without symbolic links.
    pub path: Vec<u8>,
    /// The metadata when the rule chose the entry. A directory is moved with everything in it.
    pub was: Stat,
    /// The ID of the rule, for the journal.
    pub rule: String,
    /// The number of files in the tree. Ignored unless the entry is a directory.
    pub files: u64,
    /// The disk space that the files in the tree occupy, in bytes. Ignored unless the entry is a
    /// directory.
    pub bytes: u64,
}

impl SweepEntry {
    /// Returns whether the entry is a directory tree.
    pub fn is_tree(&self) -> bool {
        self.was.kind == Entry::Dir
    }
}

/// A check of a tree. Returns whether the tree may be moved.
pub type VerifyTree<'a> = dyn Fn(&SweepEntry, &Dir) -> bool + Sync + 'a;

/// Options of a sweep.
#[derive(Clone, Copy)]
pub struct SweepOptions<'a> {
    /// Files of lop itself. They are not moved, and neither are trees that contain them.
    pub own: &'a OwnFiles,
    /// Maximum number of directories to keep open.
    pub open_dirs: usize,
    /// Whether to restore the times of directories from which entries were moved.
    pub directory_times: bool,
    /// An additional check of each tree, right before it is moved. Its arguments are the entry and the
    /// open top directory, which has already been found unchanged.
    pub verify_tree: Option<&'a VerifyTree<'a>>,
}

/// Returns whether an absolute path is below one of the given paths.
pub(crate) fn is_in_a_tree(trees: &HashSet<Vec<u8>>, path: &[u8]) -> bool {
    let mut ends = path.iter().enumerate().filter(|&(_, &byte)| byte == b'/').map(|(at, _)| at);
    !trees.is_empty() && ends.any(|end| trees.contains(&path[..end]))
}

impl Runs {
    /// Moves entries into quarantine as a new run. Returns the number of the run, its outcome, and
    /// whether it completed.
    ///
    /// An entry that has changed since its rule chose it is left alone. A file or link has changed if
    /// its type, device, inode number, birth time, size or modification time differs. A directory has
    /// changed if its identity, modification time or status change time differs; times that the run
    /// itself caused by moving entries out of the directory do not count. Mount points and trees with
    /// mount points in them are left alone too.
    ///
    /// An entry inside of a tree must come before the tree. Otherwise it is refused, because it is
    /// missing after the tree was moved. The caller MUST NOT choose a tree with a quarantine
    /// directory anywhere in it. The run itself finds such directories only if they are its own, or
    /// at the top of the tree.
    ///
    /// [`ApplyOutcome::freed`] is 0, and [`ApplyOutcome::done`] counts a tree once.
    ///
    /// # Errors
    ///
    /// Same as for [`Runs::apply`].
    pub fn sweep(
        &self,
        options: &SweepOptions<'_>,
        entries: impl IntoIterator<Item = SweepEntry>,
        progress: &Progress,
    ) -> Result<(u64, ApplyOutcome, Result<(), Error>), Error> {
        let begun = self.begin(Kind::Sweep)?;
        progress.enter(Stage::Act);
        let mut sweeper = Sweeper::new(options, &begun, self.folder(), progress);
        let answer = sweeper.run(entries.into_iter());
        let mut outcome = sweeper.outcome;
        let finished = begun.staging_dirs.finish(outcome.done > 0, &mut PathOpener::new(1));
        outcome.refused.sort_by(|a, b| a.path.cmp(&b.path));
        let answer = begun.end(&outcome, worse(answer, finished.map_err(Into::into)));
        Ok((begun.run, outcome, answer))
    }
}
