//! Names of one directory of the source, in the order of their inodes.
//!
//! Names of one file come after each other that way, and files in about the order in which they were
//! written. Several workers take from one window, the fewer at a time the fewer are left: a directory with
//! a few large files keeps all of them at work to its end.

use std::ffi::CStr;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use fsops::{DirItem, Kind};

/// Most names that a worker takes at once.
const STEP: usize = 64;

/// Parts of what is left that a worker takes one of.
const PARTS: usize = 8;

/// Some names of one directory.
#[derive(Debug, Default)]
pub(crate) struct Window {
    items: Vec<Item>,
    names: Vec<u8>,
    next: AtomicUsize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Item {
    inode: u64,
    at: u32,
    is_dir: bool,
}

/// One name.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listed<'a> {
    pub(crate) name: &'a CStr,
    pub(crate) inode: u64,
    pub(crate) is_dir: bool,
}

impl Window {
    pub(crate) fn push(&mut self, item: &DirItem<'_>, kind: Kind) {
        let at = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.items.push(Item { inode: item.inode, at, is_dir: kind == Kind::Dir });
        self.names.extend_from_slice(item.name.to_bytes_with_nul());
    }

    pub(crate) fn len(&self) -> usize {
        self.items.len()
    }

    pub(crate) fn bytes(&self) -> usize {
        self.names.len() + size_of_val(&self.items[..])
    }

    /// Puts the names in order; they can be taken from now on.
    pub(crate) fn sort(&mut self) {
        self.items.sort_unstable();
    }

    /// Returns which names a worker takes next.
    pub(crate) fn take(&self) -> Option<Range<usize>> {
        let step = |next: usize| {
            let left = self.items.len().saturating_sub(next);
            (left > 0).then(|| next + (left / PARTS).clamp(1, STEP))
        };
        let start = self.next.fetch_update(Relaxed, Relaxed, step).ok()?;
        Some(start..step(start)?)
    }

    pub(crate) fn get(&self, index: usize) -> Listed<'_> {
        let Item { inode, at, is_dir } = self.items[index];
        let name = CStr::from_bytes_until_nul(&self.names[at as usize..]).unwrap_or_default();
        Listed { name, inode, is_dir }
    }
}

#[cfg(test)]
mod tests {
    use fsops::{DirItem, Kind};

    use super::Window;

    #[test]
    fn every_name_is_taken_once_and_the_last_ones_singly() {
        let mut window = Window::default();
        for inode in (0..1000).rev() {
            window.push(&DirItem { name: c"n", kind: Kind::File, inode }, Kind::File);
        }
        window.sort();
        let taken: Vec<_> = std::iter::from_fn(|| window.take()).collect();
        let all: Vec<usize> = taken.iter().cloned().flatten().collect();
        assert_eq!(all, (0..1000).collect::<Vec<_>>());
        assert_eq!(taken.last().map(ExactSizeIterator::len), Some(1));
        assert!(all.iter().all(|&index| window.get(index).inode == index as u64));
    }
}
