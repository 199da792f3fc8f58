//! Reads files during the walk, while the walker has their directory open.
//!
//! The name and metadata of a file that was just inspected are still in the processor caches.
//! Returning to the file after the walk causes the same cache misses again. Measured with a warm
//! cache on two trees of 130,000 and 260,000 files: 3 to 13 % less wall time. This helps only for
//! files that are not in the catalog, so a scan of known files does not use it.

use std::cell::RefCell;
use std::ffi::CStr;
use std::num::NonZeroU64;
use std::sync::OnceLock;
use std::sync::atomic::Ordering::Relaxed;

use content::{Fingerprints, Head, Scratch, read_head};
use fsops::{Dir, File, Stat};
use runtime::Progress;
use walk::{FileId, Note, Tree};

use crate::bloom_filter::BloomFilter;
use crate::keys::{ContentKey, ContentKeys, MAX_KEYED_BYTES, Reading};

/// Binary logarithm of the number of bits for sizes: 256 KiB. The section "The filter for sizes" of
/// `docs/design/scanning.md` compares it with other sizes and layouts.
const LOG2_SIZE_BITS: u32 = 21;
/// Binary logarithm of the number of bits for inodes with several names: 128 KiB. Filters of 2^18 and
/// 2^22 bits were not faster for 700,000 inodes with two names each, measured with one bit for each.
const LOG2_LINKED_BITS: u32 = 20;

/// A visitor that reads files whose size it has seen before: small ones whole if they may be
/// duplicates, and of others the head.
#[derive(Debug)]
pub struct InlineReader<'a> {
    /// A false positive costs an unnecessary read of a head.
    sizes: BloomFilter,
    /// Inodes with several names, made for the first of them. A false positive postpones the read of
    /// the file.
    linked: OnceLock<BloomFilter>,
    keys: Option<&'a ContentKeys>,
    progress: &'a Progress,
}

impl<'a> InlineReader<'a> {
    /// Returns a visitor for [`walk::walk`] that computes keys with `keys` and counts its reads in
    /// `progress`.
    pub fn new(keys: Option<&'a ContentKeys>, progress: &'a Progress) -> Self {
        let sizes = BloomFilter::new(LOG2_SIZE_BITS);
        InlineReader { sizes, linked: OnceLock::new(), keys, progress }
    }

    /// Moves the heads and keys that were read during the walk into `fingerprints` and `keys`.
    pub fn collect(tree: &mut Tree, fingerprints: &Fingerprints, keys: &mut Option<ContentKeys>) {
        let mut keys = keys.as_mut();
        if let Some(keys) = &mut keys {
            keys.grow(tree.files().len());
        }
        for (file, [head, key]) in (0u32..).zip(std::mem::take(&mut tree.notes)) {
            if let Some(head) = NonZeroU64::new(head) {
                fingerprints.set_head(file, Head(head));
            }
            if let (Some(keys), Some(key)) = (&keys, NonZeroU64::new(key)) {
                keys.set(FileId(file), ContentKey(key));
            }
        }
    }

    /// Returns whether the walk has probably seen another name of the inode.
    fn has_known_name(&self, stat: &Stat) -> bool {
        let linked = || self.linked.get_or_init(|| BloomFilter::new(LOG2_LINKED_BITS));
        stat.links > 1 && linked().insert(stat.inode)
    }

    fn read(&self, file: &File, stat: &Stat, scratch: &mut Scratch) -> Option<Note> {
        let Some(keys) = self.keys.filter(|_| stat.size <= MAX_KEYED_BYTES) else {
            let head = read_head(file, stat.size, scratch, self.progress).ok()?;
            return Some([head.0.get(), 0]);
        };
        let Reading { head, key } = keys.read(file, stat.size, scratch, self.progress).ok()?;
        // The metadata of a file with one name is not checked again. It was queried a moment ago, and if
        // the file changed since, its ctime is newer than the one in the tree, so the catalog never
        // trusts what was read. Another name may have been recorded with the newer ctime.
        let is_checked = key.is_some() && stat.links > 1;
        if is_checked && !file.stat().is_ok_and(|now| now.same_version(stat)) {
            return None;
        }
        Some([head.0.get(), key.map_or(0, |key| key.0.get())])
    }
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl walk::Visitor for InlineReader<'_> {
    /// Returns the file's head and key, or 0 for what was not read. A failure is reported when the
    /// search reads the file after the walk.
    fn file(&self, dir: &Dir, name: &CStr, stat: &Stat) -> Note {
        if stat.size == 0 || self.has_known_name(stat) || !self.sizes.insert(stat.size) {
            return Note::default();
        }
        let Ok(file) = dir.open_file(name) else { return Note::default() };
        self.progress.opened.fetch_add(1, Relaxed);
        SCRATCH.with_borrow_mut(|scratch| self.read(&file, stat, scratch).unwrap_or_default())
    }
}
