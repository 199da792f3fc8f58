//! Which inodes of the destination belong to a file of the source already.
//!
//! Two names that are one file there and two here have to come apart: the first that is found equal
//! keeps the inode. One bit per inode, in pages, as numbers of inodes are close to each other.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use fsops::FileKey;

/// Bits of a page.
const PAGE_BITS: u64 = 4096;

type Page = Box<[u64; (PAGE_BITS / 64) as usize]>;

/// A set of inodes.
#[derive(Debug, Default)]
pub(crate) struct InodeSet(Mutex<HashMap<FileKey, Page>>);

impl InodeSet {
    /// Takes an inode; returns whether nobody had it.
    pub(crate) fn claim(&self, key: FileKey) -> bool {
        let mut pages = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let page = FileKey { device: key.device, inode: key.inode / PAGE_BITS };
        let page = pages.entry(page).or_insert_with(|| Box::new([0; (PAGE_BITS / 64) as usize]));
        let bit = key.inode % PAGE_BITS;
        let word = &mut page[usize::try_from(bit / 64).unwrap_or(0)];
        let is_new = *word & 1 << (bit % 64) == 0;
        *word |= 1 << (bit % 64);
        is_new
    }
}

#[cfg(test)]
mod tests {
    use fsops::FileKey;

    use super::InodeSet;

    #[test]
    fn each_is_claimed_once() {
        let set = InodeSet::default();
        for inode in [0, 1, 63, 64, 4095, 4096, u64::MAX] {
            for device in [1, 2] {
                let key = FileKey { device, inode };
                assert!(set.claim(key) && !set.claim(key), "{key:?}");
            }
        }
    }
}
