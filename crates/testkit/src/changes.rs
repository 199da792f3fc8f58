//! Makes random changes to a tree, and returns the entries that the kernel would report as changed.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use crate::dice::Dice;

/// Number of names that changes use. The number is small, so that changes often replace entries.
const NAMES: u64 = 12;

/// Sizes of files in bytes. Equal sizes are frequent, so that many files are compared.
const SIZES: [usize; 6] = [1, 5, 5, 5, 9, 4096];

/// Queries for the files, directories, groups and problems in a catalog. Two catalogs of the same files give the same
/// answers, whichever scans created them.
pub const CATALOG_FACTS: [&str; 4] = [
    "SELECT 'file ' || path || ' ' || file.size || ' ' || file.inode || ' ' || mtime_ns || ' ' || ctime_ns \
     || ' ' || file.state FROM files JOIN file ON file.inode = files.inode GROUP BY 1 ORDER BY 1",
    "SELECT 'dir ' || path FROM dir_path ORDER BY 1",
    "SELECT 'group of ' || inodes || ' inodes, ' || reclaimable || ' reclaimable: ' || paths FROM content \
     JOIN (SELECT \"group\", group_concat(path, ', ') AS paths FROM \
     (SELECT * FROM duplicates ORDER BY path) GROUP BY 1) AS d ON d.\"group\" = content.id ORDER BY paths",
    "SELECT 'problem ' || CAST(path AS TEXT) || ' ' || reason FROM problem ORDER BY 1",
];

/// An entry that has changed, as the kernel reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedEntry {
    /// The path at the time of the change.
    pub path: PathBuf,
    /// True if the entry is a directory, which may have been created or moved there.
    pub is_new_dir: bool,
}

/// A stream of random changes below some directories.
#[derive(Debug)]
pub struct RandomChanges {
    dice: Dice,
    tops: Vec<PathBuf>,
    /// True if changes create hard links, possibly below different top directories.
    pub hard_links: bool,
    number: u64,
}

impl RandomChanges {
    /// Creates the stream of changes with this seed below the directories `tops`. The changes do not affect these
    /// directories themselves.
    pub fn new(seed: u64, tops: &[PathBuf]) -> RandomChanges {
        RandomChanges { dice: Dice::new(seed), tops: tops.to_vec(), hard_links: true, number: 0 }
    }

    /// Returns a random number below `sides`, which must not be 0.
    pub fn below(&mut self, sides: u64) -> u64 {
        self.dice.below(sides)
    }

    /// Makes a random change, and returns the entries that have changed. An impossible change has no effect.
    pub fn step(&mut self) -> Vec<ChangedEntry> {
        self.number += 1;
        let new = self.dir().join(format!("n{}", self.dice.below(NAMES)));
        let Some(old) = self.entry() else { return changed(fs::create_dir(&new), &[&new]) };
        let metadata = fs::symlink_metadata(&old).ok();
        let is_file = metadata.as_ref().is_some_and(fs::Metadata::is_file);
        let is_free = fs::symlink_metadata(&new).is_err();
        match self.dice.below(16) {
            0..=2 if is_free || is_regular(&new) => {
                changed(fs::write(&new, self.content()), &[&new])
            }
            3 if is_file => changed(append(&old), &[&old]),
            4 if is_file => changed(truncate(&old), &[&old]),
            5 if is_file => changed(self.set_time(&old), &[&old]),
            6 if is_file => {
                changed(append(&old).and_then(|()| fs::rename(&old, &new)), &[&old, &new])
            }
            7 | 8 => changed(fs::rename(&old, &new), &[&old, &new]),
            9 => {
                let exchanged = renameat_with(CWD, &old, CWD, &new, RenameFlags::EXCHANGE);
                changed(exchanged.map_err(io::Error::from), &[&old, &new])
            }
            10 if is_file && self.hard_links => changed(fs::hard_link(&old, &new), &[&new]),
            11 if is_file => changed(fs::remove_file(&old), &[&old]),
            12 if !is_file => {
                // A directory with entries is removed only in one of three attempts, so the trees grow.
                let is_whole = self.dice.below(3) == 0;
                let removed =
                    if is_whole { fs::remove_dir_all(&old) } else { fs::remove_dir(&old) };
                changed(removed.or_else(|_| fs::remove_file(&old)), &[&old])
            }
            13 => changed(symlink("n1", &new), &[&new]),
            14 if is_free => changed(fs::create_dir_all(new.join("n1")), &[&new]),
            15 if is_free => changed(fs::create_dir(&new), &[&new]),
            _ => Vec::new(),
        }
    }

    /// Returns a random directory.
    ///
    /// # Panics
    ///
    /// Panics if there are no top directories.
    pub fn dir(&mut self) -> PathBuf {
        let mut at = self.dice.pick(&self.tops).expect("a directory").clone();
        while self.dice.below(3) > 0 {
            let below: Vec<PathBuf> =
                entries(&at).into_iter().filter(|path| is_dir(path)).collect();
            let Some(next) = self.dice.pick(&below) else { break };
            at.clone_from(next);
        }
        at
    }

    /// Returns a random entry, or `None` if the random directory is empty.
    fn entry(&mut self) -> Option<PathBuf> {
        let dir = self.dir();
        self.dice.pick(&entries(&dir)).cloned()
    }

    fn content(&mut self) -> String {
        let size = *self.dice.pick(&SIZES).expect("a size");
        if self.dice.below(2) == 0 { "a".repeat(size) } else { "b".repeat(size) }
    }

    fn set_time(&self, path: &Path) -> io::Result<()> {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(self.number);
        OpenOptions::new().append(true).open(path)?.set_modified(time)
    }
}

/// Returns the entries that a change has affected, as the kernel reports them.
fn changed(result: io::Result<()>, paths: &[&Path]) -> Vec<ChangedEntry> {
    // The entries are returned even if the change failed, because it may have been partly made.
    drop(result);
    let change = |path: &&Path| ChangedEntry { path: path.to_path_buf(), is_new_dir: is_dir(path) };
    paths.iter().map(change).collect()
}

/// Returns the paths of the entries of a directory in ascending order.
fn entries(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn is_dir(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

fn is_regular(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_file())
}

fn append(path: &Path) -> io::Result<()> {
    OpenOptions::new().append(true).open(path)?.write_all(b"a")
}

fn truncate(path: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.set_len(2)
}
