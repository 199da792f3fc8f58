//! The changes that a watcher has noted, in bounded memory.
//!
//! A change is a name in a directory, a directory with everything below it, or an inode. Every
//! change has a number, and a new change of the same entry replaces the old one. The notes identify a
//! directory by a key instead of a path, because the path may change until a client asks. Only the
//! source of the key can find its paths (see [`Directories`]).
//!
//! If the notes reach [`MAX_BYTES`], they become less exact. If the watcher has to discard them, [`Notes::changes`]
//! returns an error for all earlier positions.

mod dir;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};

use self::dir::DirNote;
use crate::answer::{ChangedDir, Changes, Counts, Entries, Unknown};
use crate::paths::{is_at_or_below, joined};

/// Maximum estimated memory of all notes. A watcher stays below 30 MiB, including the program and its
/// buffers.
const MAX_BYTES: usize = 10 << 20;

/// Estimated memory of an entry of a map without its key. Includes free slots and the overhead of the
/// allocator.
const ENTRY_BYTES: usize = 112;

/// Maximum number of roots whose last answers [`Notes`] remembers. It does not count the changes of further roots
/// exactly, and does not discard them.
const MAX_ROOTS: usize = 64;

/// Estimated memory of an inode with its number.
const INODE_BYTES: usize = 64;

/// Finds the paths of directories.
pub(crate) trait Directories {
    /// Returns the absolute paths of the directory with a key. The list is empty if the directory is gone.
    fn paths(&mut self, key: &[u8]) -> Vec<Vec<u8>>;
}

/// The noted changes.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// The number of the last change.
    number: u64,
    dirs: HashMap<Box<[u8]>, DirNote>,
    /// Paths below which everything may have changed.
    trees: BTreeMap<Vec<u8>, u64>,
    inodes: HashMap<(u64, u64), u64>,
    /// Estimated memory of the three maps.
    bytes: usize,
    /// The changes since positions before this number are unknown, for the given reason.
    lost: Option<(u64, Unknown)>,
    /// For each root, the number up to which the watcher has discarded its changes.
    discarded: Vec<(Vec<u8>, u64)>,
    /// For each root, the number of the last change at the time of the last answer about this root.
    answered: Vec<(Vec<u8>, u64)>,
    /// The number of the last change at the time of the last answer.
    last_answered: u64,
    /// The number of changes that no answer contains.
    fresh: Counts,
}

impl Notes {
    /// Returns the number of the last change.
    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Returns the number of changes that no answer contains. If an entry changes before and after an
    /// answer about another root, it counts twice.
    pub(crate) fn fresh(&self) -> Counts {
        self.fresh
    }

    /// Starts to count changes from zero.
    pub(crate) fn reset_counts(&mut self) {
        self.last_answered = self.number;
        self.fresh = Counts::default();
    }

    /// Notes a change of the entry `name` in a directory. `is_dir` is true if the entry may be a
    /// different directory than before.
    pub(crate) fn name(&mut self, key: &[u8], name: &[u8], is_dir: bool) {
        self.number += 1;
        let answered = self.last_answered;
        if !self.dirs.contains_key(key) {
            self.bytes += key.len() + ENTRY_BYTES;
            self.dirs.insert(key.into(), DirNote::default());
        }
        let Some(note) = self.dirs.get_mut(key) else { return };
        let before = note.last();
        let (previous, added) = note.change(name, self.number, is_dir);
        self.bytes = self.bytes.saturating_add_signed(added);
        self.fresh.entries += u64::from(previous.is_none_or(|number| number <= answered));
        self.fresh.dirs += u64::from(before.is_none_or(|number| number <= answered));
        self.limit();
    }

    /// Notes that everything below a path may have changed.
    pub(crate) fn tree(&mut self, path: &[u8]) {
        self.number += 1;
        if self.trees.insert(path.to_vec(), self.number).is_none() {
            self.bytes += path.len() + ENTRY_BYTES;
        }
        self.fresh.entries += 1;
        self.limit();
    }

    /// Notes that a file has changed, possibly through a name outside of the roots.
    pub(crate) fn inode(&mut self, device: u64, inode: u64) {
        self.number += 1;
        if self.inodes.insert((device, inode), self.number).is_none() {
            self.bytes += INODE_BYTES;
        }
        self.limit();
    }

    /// Discards all notes. The changes since any earlier position become unknown.
    pub(crate) fn lose(&mut self, reason: Unknown) {
        self.number += 1;
        self.lost = Some((self.number, reason));
        self.dirs = HashMap::new();
        self.trees.clear();
        self.inodes = HashMap::new();
        self.bytes = 0;
        self.fresh.entries += 1;
    }

    /// Returns a new number. The caller treats changes before this number as unknown.
    pub(crate) fn advance(&mut self) -> u64 {
        self.number += 1;
        self.fresh.entries += 1;
        self.number
    }

    /// Makes the notes less exact if they take too much memory.
    fn limit(&mut self) {
        if self.bytes <= MAX_BYTES {
            return;
        }
        for note in self.dirs.values_mut() {
            let freed = note.collapse();
            self.bytes -= freed;
        }
        // The names took less than half of the memory, so the number of directories, trees and inodes is too large.
        if self.bytes > MAX_BYTES / 2 {
            self.lose(Unknown::TooMany);
        }
    }

    /// Returns the changes below `roots` with numbers above `since`. Discards only notes of directories that are gone.
    pub(crate) fn changes(
        &mut self,
        roots: &[Vec<u8>],
        since: u64,
        directories: &mut dyn Directories,
    ) -> Result<Changes, Unknown> {
        self.check(roots, since)?;
        let mut found: BTreeMap<Vec<u8>, Entries> = BTreeMap::new();
        self.dirs.retain(|key, note| {
            let paths = directories.paths(key);
            for path in &paths {
                add(&mut found, roots, path, note.entries(since));
            }
            if paths.is_empty() {
                self.bytes -= note.bytes() + key.len() + ENTRY_BYTES;
            }
            !paths.is_empty()
        });
        for (path, _) in self.trees.iter().filter(|(_, number)| **number > since) {
            add(&mut found, roots, path, Some(Entries::Tree));
        }
        let inodes = self.inodes.iter().filter(|(_, number)| **number > since);
        let mut inodes: Vec<(u64, u64)> = inodes.map(|(key, _)| *key).collect();
        inodes.sort_unstable();
        let dirs = found.into_iter().map(|(path, entries)| ChangedDir { path, entries });
        Ok(Changes { dirs: dirs.collect(), inodes })
    }

    /// Notes that a client received all changes below `roots`, and counts the remaining changes. `are_all` is true if
    /// the watcher has no other roots.
    pub(crate) fn answered(
        &mut self,
        roots: &[Vec<u8>],
        are_all: bool,
        directories: &mut dyn Directories,
    ) {
        self.reset_counts();
        remember(&mut self.answered, roots, self.number);
        if are_all {
            return;
        }
        for (key, note) in &self.dirs {
            let paths = directories.paths(key);
            let answered = paths.iter().map(|path| last_number(&self.answered, path)).min();
            let entries = answered.map_or(0, |answered| note.count_above(answered));
            self.fresh.entries += entries;
            self.fresh.dirs += u64::from(entries > 0);
        }
        let is_fresh =
            |(path, number): &(&Vec<u8>, &u64)| **number > last_number(&self.answered, path);
        self.fresh.entries += self.trees.iter().filter(is_fresh).count() as u64;
    }

    /// Fails if the watcher has lost or discarded changes since a number.
    pub(crate) fn check(&self, roots: &[Vec<u8>], since: u64) -> Result<(), Unknown> {
        if let Some((number, reason)) = &self.lost
            && since < *number
        {
            return Err(reason.clone());
        }
        let overlaps = |root: &Vec<u8>, other: &Vec<u8>| {
            is_at_or_below(root, other) || is_at_or_below(other, root)
        };
        let is_discarded = |(path, number): &(Vec<u8>, u64)| {
            *number > since && roots.iter().any(|root| overlaps(root, path))
        };
        if self.discarded.iter().any(is_discarded) { Err(Unknown::Discarded) } else { Ok(()) }
    }

    /// Discards the changes below `roots` up to `until`. `are_all` is true if the watcher has no other roots.
    pub(crate) fn discard(
        &mut self,
        roots: &[Vec<u8>],
        until: u64,
        are_all: bool,
        directories: &mut dyn Directories,
    ) {
        if until == 0 || !remember(&mut self.discarded, roots, until) {
            return;
        }
        let is_below = |path: &[u8]| roots.iter().any(|root| is_at_or_below(root, path));
        self.dirs.retain(|key, note| {
            // Finding the paths takes time, so notes without a change to discard skip it.
            if note.oldest().is_none_or(|number| number > until)
                || !directories.paths(key).iter().all(|path| is_below(path))
            {
                return true;
            }
            let freed = note.discard(until);
            self.bytes -= freed;
            let is_empty = note.last().is_none();
            if is_empty {
                self.bytes -= key.len() + ENTRY_BYTES;
            }
            !is_empty
        });
        self.trees.retain(|path, number| {
            let is_kept = *number > until || !is_below(path);
            self.bytes -= if is_kept { 0 } else { path.len() + ENTRY_BYTES };
            is_kept
        });
        if are_all {
            let before = self.inodes.len();
            self.inodes.retain(|_, number| *number > until);
            self.bytes -= (before - self.inodes.len()) * INODE_BYTES;
        }
        self.dirs.shrink_to(self.dirs.len() * 2);
    }
}

/// Remembers a number for each root. If there would be too many roots, returns false and remembers none.
fn remember(numbers: &mut Vec<(Vec<u8>, u64)>, roots: &[Vec<u8>], number: u64) -> bool {
    let is_known = |root: &&Vec<u8>| numbers.iter().any(|(path, _)| path == *root);
    let added = roots.iter().filter(|root| !is_known(root)).count();
    if numbers.len() + added > MAX_ROOTS {
        return false;
    }
    for root in roots {
        match numbers.iter_mut().find(|(path, _)| path == root) {
            Some((_, known)) => *known = number.max(*known),
            None => numbers.push((root.clone(), number)),
        }
    }
    true
}

/// Returns the largest of the numbers of those roots that contain a path, or 0 if no root does.
fn last_number(numbers: &[(Vec<u8>, u64)], path: &[u8]) -> u64 {
    let above = numbers.iter().filter(|(root, _)| is_at_or_below(root, path));
    above.map(|(_, number)| *number).max().unwrap_or(0)
}

/// Adds the changed entries of the directory at `path` to the changes below `roots`.
fn add(
    found: &mut BTreeMap<Vec<u8>, Entries>,
    roots: &[Vec<u8>],
    path: &[u8],
    entries: Option<Entries>,
) {
    let Some(entries) = entries else { return };
    for root in roots.iter().filter(|root| is_at_or_below(path, root) && **root != path) {
        // Another process may have replaced a directory above a root.
        let is_replaced = match &entries {
            Entries::Names(names) => names
                .iter()
                .any(|(name, is_dir)| *is_dir && is_at_or_below(&joined(path, name), root)),
            Entries::All => false,
            Entries::Tree => true,
        };
        if is_replaced {
            found.insert(root.clone(), Entries::Tree);
        }
    }
    if roots.iter().any(|root| is_at_or_below(root, path)) {
        let entries = match found.remove(path) {
            Some(present) => present.merged_with(entries),
            None => entries,
        };
        found.insert(path.to_vec(), entries);
    }
}

impl Entries {
    /// Returns the union of two sets of entries of the same directory.
    fn merged_with(self, other: Entries) -> Entries {
        match (self, other) {
            (Entries::Names(names), Entries::Names(others)) => {
                Entries::Names([names, others].concat())
            }
            (Entries::Tree, _) | (_, Entries::Tree) => Entries::Tree,
            (Entries::All, Entries::All) => Entries::All,
            (Entries::All, Entries::Names(names)) | (Entries::Names(names), Entries::All) => {
                // `All` does not cover the contents of a new directory, but `Tree` does.
                let has_dir = names.iter().any(|(_, is_dir)| *is_dir);
                if has_dir { Entries::Tree } else { Entries::All }
            }
        }
    }
}
