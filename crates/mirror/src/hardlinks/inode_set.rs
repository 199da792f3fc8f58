//! The set of inodes of the destination that already belong to a file of the source.
//!
//! Two names can be one file at the destination and two in the source. The first name that is found equal claims the
//! inode; the other one gets a new file. The set has one bit per inode, in pages, because inode numbers are close to
//! each other.

use runtime::Mutex;
use std::collections::HashMap;

use fsops::FileKey;

/// The bits of a page.
const PAGE_BITS: u64 = 4096;

type Page = Box<[u64; (PAGE_BITS / 64) as usize]>;

/// A set of inodes, shared by all workers.
#[derive(Debug, Default)]
pub(crate) struct InodeSet(Mutex<HashMap<FileKey, Page>>);

impl InodeSet {
    /// Adds an inode; returns whether it was not in the set before.
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
