//! Classes of files that share their size.

use walk::{FileId, Tree};

/// Files whose size another inode (or, if asked for, another name) has too.
#[derive(Debug, Default)]
pub(crate) struct Classes {
    /// All names, class after class; within a class the names of an inode are neighbours.
    members: Vec<FileId>,
    /// Where each class ends.
    ends: Vec<u32>,
}

impl Classes {
    /// Sorts the files of a tree by size. Takes 8 bytes per file while it runs.
    pub(crate) fn new(tree: &Tree, names_count: bool) -> Classes {
        let mut keys: Vec<u64> = (0u32..)
            .zip(tree.files())
            .map(|(id, file)| u64::from(fold(file.size)) << 32 | u64::from(id))
            .collect();
        keys.sort_unstable();
        let mut classes = Classes::default();
        let mut same = Vec::new();
        for run in keys.chunk_by(|a, b| a >> 32 == b >> 32).filter(|run| run.len() > 1) {
            same.clear();
            same.extend(run.iter().map(|&key| FileId(low_half(key))));
            // Sizes that differ may fold to one number; then the inodes tell them apart.
            let place = |&id: &FileId| {
                let file = tree.file(id);
                (file.size, tree.device_index(file.dir), file.inode)
            };
            same.sort_unstable_by_key(|id| (place(id), *id));
            for class in same.chunk_by(|a, b| tree.file(*a).size == tree.file(*b).size) {
                let inodes = class.chunk_by(|a, b| place(a) == place(b)).count();
                if inodes > 1 || names_count && class.len() > 1 {
                    classes.members.extend_from_slice(class);
                    classes.ends.push(end(classes.members.len()));
                }
            }
        }
        classes.members.shrink_to_fit();
        classes
    }

    /// Returns the classes.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[FileId]> {
        (0..self.ends.len()).map(|n| self.get(n))
    }

    /// Returns the names in all classes.
    pub(crate) fn members(&self) -> &[FileId] {
        &self.members
    }

    /// Returns how many classes there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns the names in a class.
    pub(crate) fn get(&self, class: usize) -> &[FileId] {
        let start = if class == 0 { 0 } else { self.ends[class - 1] };
        &self.members[start as usize..self.ends[class] as usize]
    }

    /// Returns how many inodes the classes of more than one inode have.
    pub(crate) fn inodes(&self, tree: &Tree) -> u64 {
        self.iter()
            .map(|class| inodes(tree, class).count() as u64)
            .filter(|&inodes| inodes > 1)
            .sum()
    }
}

/// Returns the names in a class, inode by inode.
pub(crate) fn inodes<'a>(
    tree: &'a Tree,
    class: &'a [FileId],
) -> impl Iterator<Item = &'a [FileId]> {
    class.chunk_by(|&a, &b| {
        let (a, b) = (tree.file(a), tree.file(b));
        a.inode == b.inode && tree.device_index(a.dir) == tree.device_index(b.dir)
    })
}

/// Folds a size into 32 bits; sizes below 4 GiB stay different.
fn fold(size: u64) -> u32 {
    low_half(size ^ (size >> 32))
}

#[expect(clippy::cast_possible_truncation, reason = "the low half is what is wanted")]
fn low_half(bits: u64) -> u32 {
    bits as u32
}

fn end(length: usize) -> u32 {
    u32::try_from(length).expect("fewer names in classes than in the tree")
}
