//! The set of destination inodes that already belong to a source file.
//!
//! Two names can belong to one file in the destination but to two files in the source. The first name whose file is
//! found to be identical claims the inode, and the other name gets a new file. The set stores one bit per inode. The
//! bits are grouped in pages, because inode numbers are usually close together.

use runtime::Mutex;
use std::collections::HashMap;

use fsops::FileKey;

/// Number of bits in a page.
const PAGE_BITS: u64 = 4096;

type Page = Box<[u64; (PAGE_BITS / 64) as usize]>;

/// A set of inodes, shared by all workers.
#[derive(Debug, Default)]
pub(crate) struct InodeSet(Mutex<HashMap<FileKey, Page>>);

impl InodeSet {
    /// Adds an inode. Returns whether the inode was new to the set.
    pub(crate) fn claim(&self, key: FileKey) -> bool {
        let mut pages = self.0.lock();
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
