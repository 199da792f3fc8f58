//! Finds classes of files that share their size.

use runtime::Progress;
use walk::{FileId, FileRecord, Tree, to_u32};

use crate::sets::Sets;
use crate::work::Work;

/// Sets of files of equal size. The value of each set is the size in bytes.
pub(crate) type SameSize = Sets<u64>;

/// The sort key of a file.
#[derive(Clone, Copy)]
struct Key {
    size: u64,
    device: u32,
    file: FileId,
    inode: u64,
}

impl Key {
    fn inode(&self) -> (u32, u64) {
        (self.device, self.inode)
    }
}

/// Sorts the files of a tree by size. Returns the files that share their size with another inode
/// or, if `names_count` is set, with another name.
///
/// The names of an inode are adjacent in the result. Takes 24 bytes of memory per file and a single
/// pass over the tree.
pub(crate) fn classes(tree: &Tree, names_count: bool, progress: &Progress) -> SameSize {
    let key = |(id, file): (u32, &FileRecord)| Key {
        size: file.size,
        device: to_u32(tree.device_index(file.dir)),
        inode: file.inode,
        file: FileId(id),
    };
    let mut keys: Vec<Key> = (0..).zip(tree.files()).map(key).collect();
    let order = |key: &Key| (key.size, key.inode(), key.file);
    progress.sort_by_key(&mut keys, order);
    let mut classes = SameSize::default();
    let mut files = Vec::new();
    for class in keys.chunk_by(|a, b| a.size == b.size).filter(|class| class.len() > 1) {
        let inodes = class.chunk_by(|a, b| a.inode() == b.inode()).take(2).count();
        if inodes > 1 || names_count {
            files.clear();
            files.extend(class.iter().map(|key| key.file));
            classes.push(&files, class[0].size);
        }
    }
    classes.shrink();
    classes
}

/// Returns the total number of inodes in classes with more than one inode.
pub(crate) fn inodes_in(work: &Work<'_>, classes: &SameSize) -> u64 {
    let inodes = classes.iter().map(|class| inodes(work, class.files).count() as u64);
    inodes.filter(|&inodes| inodes > 1).sum()
}

/// Returns the names in a class, grouped by inode.
///
/// The files of a large class are scattered over the tree, so this function also enforces the
/// memory bound of the process.
pub(crate) fn inodes<'a>(
    work: &'a Work<'_>,
    class: &'a [FileId],
) -> impl Iterator<Item = &'a [FileId]> {
    names_of_inodes(work.tree, work.progress, class)
}

/// Returns the names in a class, grouped by inode, for callers without a [`Work`].
pub(crate) fn names_of_inodes<'a>(
    tree: &'a Tree,
    progress: &'a Progress,
    class: &'a [FileId],
) -> impl Iterator<Item = &'a [FileId]> {
    class.chunk_by(|&a, &b| {
        progress.relieve_memory();
        let (a, b) = (tree.file(a), tree.file(b));
        a.inode == b.inode && tree.device_index(a.dir) == tree.device_index(b.dir)
    })
}
