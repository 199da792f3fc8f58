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
mod progress;
mod selection;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, HashMap};
use std::io;

use self::dir::DirNote;
use self::progress::Progress;
use crate::answer::{Counts, Unknown};

/// Maximum estimated memory of all notes. A watcher stays below 30 MiB, including the program and an answer: it takes
/// about 28 MiB (release build, `x86_64`) if a file has changed in each of 27,000 directories.
const MAX_BYTES: usize = 8 << 20;

/// Estimated memory of a directory or of a tree, without its key. Includes free slots and the overhead of the
/// allocator.
const ENTRY_BYTES: usize = 144;

/// Estimated memory of a changed name in a directory, without its bytes.
const NAME_BYTES: usize = 64;

/// Estimated memory of an inode with its number.
const INODE_BYTES: usize = 64;

/// Finds the paths of directories.
pub(crate) trait Directories {
    /// Returns the absolute paths of the directory with a key. The list is empty if the directory is gone.
    ///
    /// # Errors
    ///
    /// Fails if it cannot find out whether the directory still exists.
    fn paths(&mut self, key: &[u8]) -> io::Result<Vec<Vec<u8>>>;
}

/// A changed inode.
#[derive(Clone, Copy, Debug, Default)]
struct InodeNote {
    /// The number of the last change.
    number: u64,
    /// The number of the last change that counts, or 0 if none does.
    counted: u64,
}

/// The noted changes.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    /// The number of the last change.
    number: u64,
    dirs: HashMap<Box<[u8]>, Box<DirNote>>,
    /// Paths below which everything may have changed.
    trees: BTreeMap<Vec<u8>, u64>,
    inodes: HashMap<(u64, u64), InodeNote>,
    /// Estimated memory of the three maps.
    bytes: usize,
    /// The changes since positions before this number are unknown, for the given reason.
    lost: Option<(u64, Unknown)>,
    /// For each root, the number up to which the watcher has discarded its changes.
    discarded: Progress,
    /// For each root, the number of the last change at the time of the last answer about this root.
    answered: Progress,
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
            self.dirs.insert(key.into(), Box::default());
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

    /// Notes that a file has changed through a name that is outside of the roots or unknown. `is_counted` is false if a
    /// process has not written to it. Such a change is part of the next answer, but is no reason for a scan: most of
    /// these files have no name below a root, and a program that uses links as locks would cause a scan every minute.
    pub(crate) fn inode(&mut self, device: u64, inode: u64, is_counted: bool) {
        self.number += 1;
        let note = self.inodes.entry((device, inode)).or_insert_with(|| {
            self.bytes += INODE_BYTES;
            InodeNote::default()
        });
        note.number = self.number;
        if is_counted {
            self.fresh.entries += u64::from(note.counted <= self.last_answered);
            note.counted = self.number;
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

    /// Fails if the watcher has lost or discarded changes since a number.
    pub(crate) fn check(&self, roots: &[Vec<u8>], since: u64) -> Result<(), Unknown> {
        match &self.lost {
            Some((number, reason)) if since < *number => Err(reason.clone()),
            _ if self.discarded.is_beyond(roots, since) => Err(Unknown::Discarded),
            _ => Ok(()),
        }
    }
}
