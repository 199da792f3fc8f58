//! Classes of files that share their size.

use walk::{FileId, Tree};

use crate::sets::Sets;

/// Sets of files of one size, in bytes.
pub(crate) type SameSize = Sets<u64>;

/// Sorts the files of a tree by size; returns those whose size another inode (or, if names count,
/// another name) has too. The names of an inode are neighbours. Takes 8 bytes per file while it runs.
pub(crate) fn classes(tree: &Tree, names_count: bool) -> SameSize {
    let mut keys: Vec<u64> = (0u32..)
        .zip(tree.files())
        .map(|(id, file)| u64::from(fold(file.size)) << 32 | u64::from(id))
        .collect();
    keys.sort_unstable();
    let mut classes = SameSize::default();
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
                classes.push(class, tree.file(class[0]).size);
            }
        }
    }
    classes.shrink();
    classes
}

/// Returns how many inodes the classes of more than one inode have.
pub(crate) fn inodes_in(tree: &Tree, classes: &SameSize) -> u64 {
    let inodes = classes.iter().map(|class| inodes(tree, class.files).count() as u64);
    inodes.filter(|&inodes| inodes > 1).sum()
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
