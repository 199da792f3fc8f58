//! Finds classes of files that share their size.

use std::cmp::Ordering;
use std::thread::Builder;

use runtime::{Mutex, Progress};
use walk::{FileId, FileRecord, Tree, to_u32};

use crate::sets::{Set, Sets};
use crate::work::Work;

/// Classes of files that share their size. The names of an inode are adjacent.
pub(crate) type Classes = Sets<Class>;

/// Number of classes that a thread takes at a time. Most classes take less than a microsecond, so
/// fewer are not worth starting a thread.
pub(crate) const CLASSES_PER_STEP: usize = 256;

/// The size of the files of a class, and the number of their inodes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Class {
    /// Size of each file in bytes.
    pub(crate) size: u64,
    /// Number of inodes.
    pub(crate) inodes: u32,
}

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

    fn rank(&self) -> (u64, (u32, u64), FileId) {
        (self.size, self.inode(), self.file)
    }
}

/// Sorts the files of a tree by size on up to `threads` threads. Returns the files that share their
/// size with another inode or, if `names_count` is set, with another name.
///
/// Takes 24 bytes of memory per file and a single pass over the tree.
pub(crate) fn classes(
    tree: &Tree,
    names_count: bool,
    threads: usize,
    progress: &Progress,
) -> Classes {
    let key = |(id, file): (u32, &FileRecord)| Key {
        size: file.size,
        device: to_u32(tree.device_index(file.dir)),
        inode: file.inode,
        file: FileId(id),
    };
    let mut keys: Vec<Key> = (0..).zip(tree.files()).map(key).collect();
    sort(&mut keys, threads, &|a, b| progress.compare(&a.rank(), &b.rank()));
    let mut classes = Classes::default();
    let mut files = Vec::new();
    for class in keys.chunk_by(|a, b| a.size == b.size).filter(|class| class.len() > 1) {
        let inodes = to_u32(class.chunk_by(|a, b| a.inode() == b.inode()).count());
        if inodes > 1 || names_count {
            files.clear();
            files.extend(class.iter().map(|key| key.file));
            classes.push(&files, Class { size: class[0].size, inodes });
        }
    }
    classes.shrink();
    classes
}

/// Minimum number of keys for a thread to sort. Starting a thread takes as long as sorting a
/// thousand keys.
const MIN_SORTED: usize = 1 << 15;

/// Sorts keys in place on up to `threads` threads.
fn sort(keys: &mut [Key], threads: usize, order: &(impl Fn(&Key, &Key) -> Ordering + Sync)) {
    if threads < 2 || keys.len() < 2 * MIN_SORTED {
        return keys.sort_unstable_by(order);
    }
    let half = threads / 2;
    let (smaller, _, larger) = keys.select_nth_unstable_by(keys.len() * half / threads, order);
    let larger = Mutex::new(Some(larger));
    let sort_larger = || {
        let keys = larger.lock().take();
        if let Some(keys) = keys {
            sort(keys, threads - half, order);
        }
    };
    std::thread::scope(|scope| {
        // If the thread does not start, the calling thread sorts both halves.
        let _unstarted = Builder::new().spawn_scoped(scope, sort_larger);
        sort(smaller, half, order);
        sort_larger();
    });
}

/// Returns the total number of inodes in classes with more than one inode.
pub(crate) fn inodes_in(classes: &Classes) -> u64 {
    classes.iter().map(|class| u64::from(class.inodes)).filter(|&inodes| inodes > 1).sum()
}

/// Returns the names in a class, grouped by inode.
///
/// The files of a large class are scattered over the tree, so this function also enforces the
/// memory bound of the process.
pub(crate) fn inodes<'a>(
    work: &'a Work<'_>,
    class: Set<'a, Class>,
) -> impl Iterator<Item = &'a [FileId]> {
    names_of_inodes(work.tree, work.progress, class)
}

/// Returns the names in a class, grouped by inode, for callers without a [`Work`].
pub(crate) fn names_of_inodes<'a>(
    tree: &'a Tree,
    progress: &'a Progress,
    class: Set<'a, Class>,
) -> impl Iterator<Item = &'a [FileId]> {
    let has_links = class.inodes as usize != class.files.len();
    class.files.chunk_by(move |&a, &b| {
        progress.relieve_memory();
        // Looking at the tree takes a cache miss for each file.
        has_links && {
            let (a, b) = (tree.file(a), tree.file(b));
            a.inode == b.inode && tree.device_index(a.dir) == tree.device_index(b.dir)
        }
    })
}

#[cfg(test)]
mod tests {
    use walk::FileId;

    use super::{Key, MIN_SORTED, sort};

    #[test]
    fn several_threads_sort_as_one_does() {
        let count = u32::try_from(5 * MIN_SORTED).expect("few keys");
        // Multiplication by an odd number permutes the numbers, and many keys share a size.
        let key = |n: u32| {
            let n = n.wrapping_mul(2_654_435_761);
            Key {
                size: u64::from(n % 1000),
                device: n % 3,
                file: FileId(n),
                inode: u64::from(n / 7),
            }
        };
        let keys: Vec<Key> = (0..count).map(key).collect();
        let ranks = |threads| {
            let mut keys = keys.clone();
            sort(&mut keys, threads, &|a, b| a.rank().cmp(&b.rank()));
            keys.iter().map(Key::rank).collect::<Vec<_>>()
        };
        let mut expected: Vec<_> = keys.iter().map(Key::rank).collect();
        expected.sort();
        for threads in [0, 1, 2, 3, 8] {
            assert!(ranks(threads) == expected, "{threads} threads");
        }
    }
}
