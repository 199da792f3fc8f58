//! Computes a [`Space`] from the rows of a catalog.
//!
//! Several threads can read files at the same time, each into its own [`Part`]. The result does not
//! depend on how the files are divided, as long as the parts are finished in the order of the rows.

use crate::copies;
use crate::files::{NO_DIR, Name, Sizes, UNIQUE, each_file, join_links, key};
use crate::numbers::Numbers;
use crate::shape::{Shape, UNREACHABLE};
use crate::space::{Names, Space, Sums, VolumeTop};

/// Disk space of most files: their size in whole blocks of this many bytes.
const BLOCK_BYTES: u64 = 4096;

/// A directory of a catalog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dir {
    /// Its row id.
    pub(crate) id: i64,
    /// The row id of its parent. Ignored for the top.
    pub(crate) parent: i64,
    pub(crate) name: Vec<u8>,
}

/// A name of a file of a catalog.
#[derive(Clone, Copy, Debug)]
pub(crate) struct File {
    /// The row id of its directory.
    pub(crate) dir: i64,
    /// The row id of its file system.
    pub(crate) volume: i64,
    pub(crate) inode: u64,
    pub(crate) size: u64,
    /// Bytes on disk, if they are not the size in whole blocks.
    pub(crate) allocated: Option<u64>,
    pub(crate) mtime_ns: i64,
    /// The row id of its content, if the content is known.
    pub(crate) content: Option<i64>,
}

/// Everything about a catalog except its files.
#[derive(Debug)]
pub(crate) struct Builder {
    shape: Shape,
    names: Names,
    dirs: Numbers,
    contents: Numbers,
    reclaimable: Vec<u64>,
}

impl Builder {
    /// Starts with the directories and with the id and the reclaimable bytes of each content. `top`
    /// is the id of the root directory. Directories that are not below it are left out.
    pub(crate) fn new(
        dirs: &[Dir],
        top: i64,
        contents: impl Iterator<Item = (i64, u64)>,
    ) -> Builder {
        let contents: Vec<(i64, u64)> = contents.filter(|&(_, bytes)| bytes > 0).collect();
        let mut numbers = Numbers::new(dirs.iter().map(|dir| dir.id));
        let top = numbers.get(top).unwrap_or(0);
        let mut parents: Vec<u32> = Vec::with_capacity(dirs.len());
        for (at, dir) in (0..).zip(dirs) {
            // An orphan becomes its own parent and is therefore not below the top.
            parents.push(numbers.get(dir.parent).unwrap_or(at));
        }
        let (shape, order) = Shape::arrange(&parents, |at| &dirs[at as usize].name, top);
        let mut names = Names::default();
        for &position in &order.positions {
            names.push(&dirs[position as usize].name);
        }
        numbers.renumber(|at| order.numbers[at as usize]);
        Builder {
            shape,
            names,
            dirs: numbers,
            contents: Numbers::new(contents.iter().map(|&(id, _)| id)),
            reclaimable: contents.into_iter().map(|(_, reclaimable)| reclaimable).collect(),
        }
    }

    /// Returns an empty part.
    pub(crate) fn part(&self) -> Part<'_> {
        Part {
            builder: self,
            dir: (i64::MIN, UNREACHABLE),
            names: Vec::new(),
            dirs: Vec::new(),
            volumes: Vec::new(),
            orphans: 0,
        }
    }

    /// Computes the sums.
    pub(crate) fn finish(&self, parts: Vec<Files>) -> (Vec<Sums>, Vec<VolumeTop>) {
        let shape = &self.shape;
        let mut sums = vec![Sums::default(); shape.parents.len()];
        let (mut names, mut volumes) = (Vec::new(), Vec::new());
        for mut part in parts {
            // The first part is the largest allocation, and need not be copied.
            if names.is_empty() {
                names = part.names
            } else {
                names.append(&mut part.names)
            }
            part.dirs.iter().for_each(|&(dir, ref found)| sums[dir as usize].add(found));
            for volume in part.volumes {
                extend(&mut volumes, volume);
            }
        }
        join_links(&mut names, shape);
        each_file(&names, |dir, file| sums[dir].sizes.add(file));
        let reclaimable = copies::contributions(&names, &self.reclaimable, shape);
        drop(names);
        shape.each_upward(|parent, dir| {
            let below = sums[dir];
            sums[parent].add(&below);
        });
        for (sums, reclaimable) in sums.iter_mut().zip(copies::sums(reclaimable, shape)) {
            sums.reclaimable = reclaimable;
        }
        let top = |(volume, first, last)| VolumeTop { volume, dir: shape.common(first, last) };
        (sums, volumes.into_iter().map(top).collect())
    }

    /// Computes the sums and keeps what else a [`Space`] needs.
    pub(crate) fn into_space(self, parts: Vec<Files>) -> Space {
        let (sums, volumes) = self.finish(parts);
        Space::new(self.shape, self.names, sums, volumes)
    }
}

/// A file system, and the first and the last directory with files of it.
type Volume = (i64, u32, u32);

fn extend(volumes: &mut Vec<Volume>, (id, first, last): Volume) {
    match volumes.iter_mut().find(|volume| volume.0 == id) {
        Some(known) => (known.1, known.2) = (known.1.min(first), known.2.max(last)),
        None => volumes.push((id, first, last)),
    }
}

/// Some of the files of a catalog. Files of one directory should follow each other.
#[derive(Debug)]
pub(crate) struct Part<'b> {
    builder: &'b Builder,
    /// The directory of the last file: its row id and its number.
    dir: (i64, u32),
    names: Vec<Name>,
    /// What was counted by name, for each directory.
    dirs: Vec<(u32, Sums)>,
    volumes: Vec<Volume>,
    orphans: u64,
}

/// The files of a [`Part`].
#[derive(Debug)]
pub(crate) struct Files {
    names: Vec<Name>,
    dirs: Vec<(u32, Sums)>,
    volumes: Vec<Volume>,
    /// Number of files in directories that do not exist.
    pub(crate) orphans: u64,
}

impl Part<'_> {
    /// Adds a name of a file.
    pub(crate) fn add(&mut self, file: File) {
        if file.dir != self.dir.0 {
            self.enter(file.dir);
        }
        let dir = self.dir.1;
        let Some((_, counted)) = self.dirs.last_mut().filter(|_| dir != UNREACHABLE) else {
            self.orphans += 1;
            return;
        };
        counted.count_name(file.mtime_ns);
        match self.volumes.last_mut() {
            Some(last) if last.0 == file.volume => {
                (last.1, last.2) = (last.1.min(dir), last.2.max(dir));
            }
            _ => self.enter_volume(file.volume, dir),
        }
        let blocks = || file.size.checked_next_multiple_of(BLOCK_BYTES).unwrap_or(u64::MAX);
        self.names.push(Name {
            key: key(file.volume.cast_unsigned(), file.inode, file.size, file.mtime_ns),
            size: file.size,
            allocated: file.allocated.unwrap_or_else(blocks),
            dir,
            content: file.content.and_then(|id| self.builder.contents.get(id)).unwrap_or(UNIQUE),
        });
    }

    fn enter(&mut self, dir: i64) {
        self.dir = (dir, self.builder.dirs.get(dir).unwrap_or(UNREACHABLE));
        if self.dir.1 != UNREACHABLE {
            self.dirs.push((self.dir.1, Sums::default()));
        }
    }

    /// Makes a file system the last one, so that the next file finds it at once.
    fn enter_volume(&mut self, volume: i64, dir: u32) {
        extend(&mut self.volumes, (volume, dir, dir));
        if let Some(at) = self.volumes.iter().position(|known| known.0 == volume) {
            let last = self.volumes.len() - 1;
            self.volumes.swap(at, last);
        }
    }

    /// Ends the part.
    pub(crate) fn finish(self) -> Files {
        Files { names: self.names, dirs: self.dirs, volumes: self.volumes, orphans: self.orphans }
    }
}

const _: () = assert!(NO_DIR == UNREACHABLE, "both mean that a name does not count");

#[cfg(test)]
mod tests;
