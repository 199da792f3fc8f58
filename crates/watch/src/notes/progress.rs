//! The numbers up to which the changes of each root were answered or discarded. After an answer, the watcher counts
//! only changes that no answer contains, and discards those that the catalog contains.

use super::{Directories, ENTRY_BYTES, INODE_BYTES, Notes};
use crate::paths::is_at_or_below;

/// Maximum number of roots that a [`Progress`] remembers. For further roots, the watcher discards no changes, and
/// counts them inexactly.
const MAX_ROOTS: usize = 64;

/// A number for each root.
#[derive(Debug, Default)]
pub(super) struct Progress(Vec<(Vec<u8>, u64)>);

impl Progress {
    /// Remembers a number for each root. If there would be too many roots, returns false and remembers none.
    fn remember(&mut self, roots: &[Vec<u8>], number: u64) -> bool {
        // A root that contains another one includes its changes.
        let is_covered = |(path, known): &(Vec<u8>, u64)| {
            *known <= number && roots.iter().any(|root| is_at_or_below(root, path))
        };
        let kept = self.0.iter().filter(|entry| !is_covered(entry)).count();
        if kept + roots.len() > MAX_ROOTS {
            return false;
        }
        self.0.retain(|entry| !is_covered(entry));
        for root in roots.iter().filter(|root| self.at(root) < number).collect::<Vec<_>>() {
            self.0.push((root.clone(), number));
        }
        true
    }

    /// Returns the number of a path, which is that of the roots that contain it, or 0 if no root does.
    fn at(&self, path: &[u8]) -> u64 {
        let above = self.0.iter().filter(|(root, _)| is_at_or_below(root, path));
        above.map(|(_, number)| *number).max().unwrap_or(0)
    }

    /// Returns the smallest number of some paths. Without paths, returns `None`.
    fn least(&self, paths: &[Vec<u8>]) -> Option<u64> {
        paths.iter().map(|path| self.at(path)).min()
    }

    /// Returns whether the number of a directory in or above one of `roots` is larger than `since`.
    pub(super) fn is_beyond(&self, roots: &[Vec<u8>], since: u64) -> bool {
        let overlaps = |root: &Vec<u8>, other: &Vec<u8>| {
            is_at_or_below(root, other) || is_at_or_below(other, root)
        };
        let is_beyond = |(path, number): &(Vec<u8>, u64)| {
            *number > since && roots.iter().any(|root| overlaps(root, path))
        };
        self.0.iter().any(is_beyond)
    }
}

impl Notes {
    /// Notes that a client received all changes below `roots`, and counts the remaining changes. `all` are the roots of
    /// the watcher.
    pub(crate) fn answered(
        &mut self,
        roots: &[Vec<u8>],
        all: &[Vec<u8>],
        directories: &mut dyn Directories,
    ) {
        self.reset_counts();
        if !self.answered.remember(roots, self.number) {
            return;
        }
        // The answers about all roots contain the changes up to this number.
        let everywhere = self.answered.least(all).unwrap_or(self.number);
        for (key, note) in self.dirs.iter().filter(|(_, note)| note.last() > Some(everywhere)) {
            let paths = directories.paths(key);
            let answered = paths.map_or(Some(everywhere), |paths| self.answered.least(&paths));
            let entries = answered.map_or(0, |answered| note.count_above(answered));
            self.fresh.entries += entries;
            self.fresh.dirs += u64::from(entries > 0);
        }
        let trees = self.trees.iter().filter(|(path, number)| **number > self.answered.at(path));
        let inodes = self.inodes.values().filter(|note| note.counted > everywhere);
        self.fresh.entries += (trees.count() + inodes.count()) as u64;
    }

    /// Discards the changes below `roots` up to `until`. `all` are the roots of the watcher.
    pub(crate) fn discard(
        &mut self,
        roots: &[Vec<u8>],
        until: u64,
        all: &[Vec<u8>],
        directories: &mut dyn Directories,
    ) {
        if until == 0 || !self.discarded.remember(roots, until) {
            return;
        }
        self.dirs.retain(|key, note| {
            // Finding the paths takes time, so notes without a change to discard skip it.
            if note.oldest().is_none_or(|number| number > until) {
                return true;
            }
            let Ok(paths) = directories.paths(key) else { return true };
            let freed = note.discard(self.discarded.least(&paths).unwrap_or(until));
            self.bytes -= freed;
            let is_empty = note.last().is_none();
            if is_empty {
                self.bytes -= key.len() + ENTRY_BYTES;
            }
            !is_empty
        });
        self.dirs.shrink_to(self.dirs.len() * 2);
        self.trees.retain(|path, number| {
            let is_kept = *number > self.discarded.at(path);
            self.bytes -= if is_kept { 0 } else { path.len() + ENTRY_BYTES };
            is_kept
        });
        // A changed inode may have names below each root.
        let everywhere = self.discarded.least(all).unwrap_or(0);
        let before = self.inodes.len();
        self.inodes.retain(|_, note| note.number > everywhere);
        self.bytes -= (before - self.inodes.len()) * INODE_BYTES;
    }
}
