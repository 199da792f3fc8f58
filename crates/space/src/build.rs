//! Computes a [`Space`] from the rows of a catalog.
//!
//! Several threads can read files at the same time, each into its own [`Part`]. The result does not
//! depend on how the files are divided.

use crate::copies;
use crate::links::{self, Repeats};
use crate::numbers::Numbers;
use crate::part::Part;
use crate::shape::Shape;
use crate::space::{Names, Space, Sums, VolumeTop};
use crate::threads;

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

/// The tree of directories.
#[derive(Debug)]
pub(crate) struct Tree {
    shape: Shape,
    names: Names,
    numbers: Numbers,
}

impl Tree {
    /// Arranges the directories. Directories that are not below the root directory are left out.
    pub(crate) fn new(dirs: &Dirs) -> Tree {
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
        Tree { shape, names, numbers }
    }
}

/// The contents that could free bytes.
#[derive(Debug)]
pub(crate) struct Contents {
    numbers: Numbers,
    /// The bytes that keeping one file of each content would free.
    reclaimable: Vec<u64>,
}

impl Contents {
    /// Creates the list from the row id and the reclaimable bytes of each content.
    pub(crate) fn new(rows: &[(i64, u64)]) -> Contents {
        let numbers = Numbers::new(rows.iter().map(|row| row.0));
        Contents { numbers, reclaimable: rows.iter().map(|row| row.1).collect() }
    }
}

/// The files of a catalog.
#[derive(Debug)]
pub(crate) struct Files {
    parts: Vec<Part>,
    /// The keys of all names.
    repeats: Repeats,
}

impl Files {
    /// Creates an empty list for about `count` names.
    pub(crate) fn for_about(count: usize) -> Files {
        Files { parts: Vec::new(), repeats: Repeats::for_about(count) }
    }

    pub(crate) fn add(&mut self, part: Part) {
        part.names.iter().for_each(|name| self.repeats.add(name.key));
        self.parts.push(part);
    }

    /// Adds the files of a list that was created for the same number of names.
    pub(crate) fn add_all(&mut self, other: Files) {
        self.repeats.add_all(&other.repeats);
        self.parts.extend(other.parts);
    }
}

/// The number of files in directories that do not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Orphans(pub(crate) u64);

/// Computes the sums of all directories.
///
/// # Errors
///
/// Fails if some files are in directories that do not exist.
pub(crate) fn build(tree: Tree, contents: &Contents, files: Files) -> Result<Space, Orphans> {
    let Files { mut parts, repeats } = files;
    let resolve = |part: &mut Part| part.resolve(&tree.numbers, &contents.numbers);
    let chunk = threads::chunk(parts.len());
    let orphans =
        threads::each(parts.chunks_mut(chunk), |parts| parts.iter_mut().map(resolve).sum::<u64>());
    match orphans.into_iter().sum() {
        0 => {}
        orphans => return Err(Orphans(orphans)),
    }
    let shape = tree.shape;
    let ((mut sums, volumes), candidates) = std::thread::scope(|scope| {
        let sums = scope.spawn(|| sums(&parts, &shape));
        let candidates = links::candidates(&parts, &repeats);
        (threads::join(sums), candidates)
    });
    let linked = links::join(&candidates, &mut parts, &mut sums, &shape);
    let reclaimable = copies::reclaimable(&parts, &linked, &contents.reclaimable, &shape);
    drop(parts);
    shape.each_upward(|parent, dir| {
        let below = sums[dir];
        sums[parent].add(&below);
    });
    for (sums, reclaimable) in sums.iter_mut().zip(reclaimable) {
        sums.reclaimable = reclaimable;
    }
    let top = |(volume, first, last)| VolumeTop { volume, dir: shape.common(first, last) };
    let volumes = volumes.into_iter().map(top).collect();
    Ok(Space::new(shape, tree.names, sums, volumes))
}

/// Returns the sums of the files in each directory, as if each name were a file, and the file systems.
fn sums(parts: &[Part], shape: &Shape) -> (Vec<Sums>, Vec<Volume>) {
    let (mut sums, mut volumes) = (vec![Sums::default(); shape.parents.len()], Vec::new());
    for run in parts.iter().flat_map(|part| &part.runs) {
        sums[run.dir as usize].add(&run.sums);
        extend(&mut volumes, run.volume, run.dir);
    }
    volumes.sort_unstable();
    (sums, volumes)
}

/// A file system, and the first and the last directory with files of it.
type Volume = (i64, u32, u32);

fn extend(volumes: &mut Vec<Volume>, id: i64, dir: u32) {
    match volumes.iter_mut().find(|volume| volume.0 == id) {
        Some(known) => (known.1, known.2) = (known.1.min(dir), known.2.max(dir)),
        None => volumes.push((id, dir, dir)),
    }
}

#[cfg(test)]
mod tests;
