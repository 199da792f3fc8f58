//! Computes a [`Space`] from the rows of a catalog.
//!
//! Several threads can read files at the same time, each into its own [`Part`]. The result does not
//! depend on how the files are divided, as long as the parts are finished in the order of the rows.

use catalog::SpaceRow;

use crate::copies;
use crate::files::{NO_DIR, Name, UNIQUE, each_file, join_links, key};
use crate::numbers::Numbers;
use crate::shape::{Shape, UNREACHABLE};
use crate::space::{Names, Space, Sums, VolumeTop};

/// The directories of a catalog.
#[derive(Debug)]
pub(crate) struct Dirs {
    /// The row id of each directory and of its parent. The first one is the root directory.
    rows: Vec<(i64, i64)>,
    names: Names,
}

impl Dirs {
    /// Starts with the root directory, which has the id `top`.
    pub(crate) fn new(top: i64) -> Dirs {
        let mut names = Names::default();
        names.push(b"");
        Dirs { rows: vec![(top, top)], names }
    }

    pub(crate) fn push(&mut self, id: i64, parent: i64, name: &[u8]) {
        self.rows.push((id, parent));
        self.names.push(name);
    }
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
    /// Starts with the directories, and with the id and the reclaimable bytes of each content.
    /// Directories that are not below the root directory are left out.
    pub(crate) fn new(dirs: &Dirs, contents: &[(i64, u64)]) -> Builder {
        let mut numbers = Numbers::new(dirs.rows.iter().map(|row| row.0));
        let mut parents: Vec<u32> = Vec::with_capacity(dirs.rows.len());
        for (at, &(_, parent)) in (0..).zip(&dirs.rows) {
            // An orphan becomes its own parent and is therefore not below the root directory.
            parents.push(numbers.get(parent).unwrap_or(at));
        }
        let (shape, order) = Shape::arrange(&parents, |at| dirs.names.get(at), 0);
        let mut names = Names::default();
        order.positions.iter().for_each(|&position| names.push(dirs.names.get(position)));
        numbers.renumber(|at| order.numbers[at as usize]);
        Builder {
            shape,
            names,
            dirs: numbers,
            contents: Numbers::new(contents.iter().map(|content| content.0)),
            reclaimable: contents.iter().map(|content| content.1).collect(),
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

    /// Computes the sums of all files in `parts`.
    pub(crate) fn finish(self, parts: Vec<Files>) -> Space {
        let shape = self.shape;
        let mut sums = vec![Sums::default(); shape.parents.len()];
        let (mut names, mut volumes) = (Vec::with_capacity(parts.len()), Vec::new());
        for part in parts {
            names.push(part.names);
            part.dirs.iter().for_each(|(dir, counted)| sums[*dir as usize].add(counted));
            part.volumes.into_iter().for_each(|volume| extend(&mut volumes, volume));
        }
        join_links(&mut names, &shape);
        let reclaimable = std::thread::scope(|scope| {
            let copies = scope.spawn(|| copies::contributions(&names, &self.reclaimable, &shape));
            each_file(&names, |dir, file| sums[dir].sizes.add(file));
            copies.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        drop(names);
        shape.each_upward(|parent, dir| {
            let below = sums[dir];
            sums[parent].add(&below);
        });
        for (sums, reclaimable) in sums.iter_mut().zip(copies::sums(reclaimable, &shape)) {
            sums.reclaimable = reclaimable;
        }
        let top = |(volume, first, last)| VolumeTop { volume, dir: shape.common(first, last) };
        let volumes = volumes.into_iter().map(top).collect();
        Space::new(shape, self.names, sums, volumes)
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
    /// Numbers and times of the names in each directory.
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
    /// Adds a name of a file in the directory with the id `dir`.
    pub(crate) fn add(&mut self, dir: i64, file: &SpaceRow) {
        if dir != self.dir.0 {
            self.enter(dir);
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
        self.names.push(Name {
            key: key(file.volume.cast_unsigned(), file.inode, file.size, file.mtime_ns),
            size: file.size,
            allocated: file.allocated,
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
