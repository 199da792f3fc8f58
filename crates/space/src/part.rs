//! Some of the files of a catalog, as one thread reads them.
//!
//! A part refers to directories and contents by their row ids, so that files can be read while other
//! threads still read the directories and contents. [`Part::resolve`] finds their numbers afterwards.

use catalog::SpaceRow;

use crate::numbers::Numbers;
use crate::shape::UNREACHABLE;
use crate::space::{Sizes, Sums};

/// Some of the files of a catalog. Files of one directory should follow each other.
#[derive(Debug, Default)]
pub(crate) struct Part {
    pub(crate) runs: Vec<Run>,
    pub(crate) names: Vec<Name>,
    /// The size and the disk space of each name.
    pub(crate) sizes: Vec<(u64, u64)>,
}

/// Consecutive names in one directory and on one file system.
#[derive(Debug)]
pub(crate) struct Run {
    /// The row id of the directory.
    id: i64,
    /// The number of the directory, or [`UNREACHABLE`]. Unknown before [`Part::resolve`].
    pub(crate) dir: u32,
    /// The row id of the file system.
    pub(crate) volume: i64,
    /// The position after the last name.
    pub(crate) end: usize,
    /// Sums of all names, as if each of them were a file.
    pub(crate) sums: Sums,
}

/// One name of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name {
    /// Identifies the file: names of one file have equal keys ([`key`]).
    pub(crate) key: u64,
    /// The content of the file, or [`UNIQUE`]: its number, and before [`Part::resolve`] its row id.
    content: i64,
}

/// The content of a file that shares its content with no other file.
const UNIQUE: i64 = -1;

impl Part {
    /// Creates a part with space for about `count` names.
    pub(crate) fn for_about(count: usize) -> Part {
        // A list is copied when it grows. Reserved memory that is never used costs nothing.
        let count = count * 2;
        Part {
            runs: Vec::new(),
            names: Vec::with_capacity(count),
            sizes: Vec::with_capacity(count),
        }
    }

    /// Adds a name of a file in the directory with the row id `dir`.
    pub(crate) fn add(&mut self, dir: i64, file: &SpaceRow) {
        match self.runs.last_mut() {
            Some(run) if (run.id, run.volume) == (dir, file.volume) => run.add(file),
            _ => {
                let sums = Sums::default();
                let end = self.names.len();
                let mut run = Run { id: dir, dir: UNREACHABLE, volume: file.volume, end, sums };
                run.add(file);
                self.runs.push(run);
            }
        }
        let key = key(file.volume.cast_unsigned(), file.inode, file.size, file.mtime_ns);
        self.names.push(Name { key, content: file.content.unwrap_or(UNIQUE) });
        self.sizes.push((file.size, file.allocated));
    }

    /// Finds the number of each directory and content. Returns the number of names in directories
    /// that do not exist.
    pub(crate) fn resolve(&mut self, dirs: &Numbers, contents: &Numbers) -> u64 {
        let (mut start, mut orphans) = (0, 0);
        for run in &mut self.runs {
            match dirs.get(run.id) {
                Some(dir) => run.dir = dir,
                None => orphans += (run.end - start) as u64,
            }
            start = run.end;
        }
        for name in &mut self.names {
            name.content = contents.get(name.content).map_or(UNIQUE, i64::from);
        }
        orphans
    }

    /// Returns each run with its names.
    pub(crate) fn each_run(&self) -> impl Iterator<Item = (&Run, &[Name])> {
        let starts = std::iter::once(0).chain(self.runs.iter().map(|run| run.end));
        self.runs.iter().zip(starts).map(|(run, start)| (run, &self.names[start..run.end]))
    }
}

impl Name {
    /// Returns the number of the content that the file shares with other files.
    pub(crate) fn content(&self) -> Option<usize> {
        usize::try_from(self.content).ok()
    }

    /// Removes the content from the name, so that the name is not a copy any more, and returns it.
    pub(crate) fn take_content(&mut self) -> Option<usize> {
        let content = self.content();
        self.content = UNIQUE;
        content
    }
}

impl Run {
    fn add(&mut self, file: &SpaceRow) {
        self.end += 1;
        self.sums.count_name(file.mtime_ns);
        self.sums.sizes.add(Sizes::of_file((file.size, file.allocated)));
    }
}

/// Returns a hash of what identifies a file. Two of 10 million files have the same hash with a
/// probability of 1 in 370,000; lop would then count one of the two files in a directory above it.
pub(crate) fn key(volume: u64, inode: u64, size: u64, mtime_ns: i64) -> u64 {
    let parts = [volume, size, mtime_ns.cast_unsigned()];
    parts.iter().fold(mix(inode), |hash, &part| mix(hash.rotate_left(23) ^ part))
}

/// Distributes the bits of a number. These are the constants of the finalizer of `SplitMix64`
/// (Steele et al., "Fast splittable pseudorandom number generators", 2014).
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}
