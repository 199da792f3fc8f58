//! Reads heads during the walk, while the walker has the directory of the file open.
//!
//! The name and metadata of a file that was just inspected are still in the processor caches.
//! Returning to the file after the walk causes the same cache misses again. Measured with a warm
//! cache on two trees of 130,000 and 260,000 files: 3 to 13 % less wall time. This helps only for
//! files that are not in the catalog, so a scan of known files does not use it.

use std::cell::RefCell;
use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use content::{Fingerprints, Head, Scratch, read_head};
use fsops::{Dir, Stat};
use runtime::Progress;
use walk::Tree;

/// A visitor that reads the head of every file whose size it has seen before.
#[derive(Debug)]
pub struct InlineHeadReader<'a> {
    sizes: Seen,
    /// Inodes with several names.
    linked: Seen,
    progress: &'a Progress,
}

/// An approximate set of numbers, in which different numbers may share a bit. A false positive for
/// a size costs an unnecessary read of a head. A false positive for an inode postpones the read of
/// its head.
#[derive(Debug)]
struct Seen(Box<[AtomicU64]>);

impl Seen {
    /// Binary logarithm of the number of bits in the set, which takes 128 KiB.
    const BITS: u32 = 20;

    fn new() -> Seen {
        Seen((0..1 << (Seen::BITS - 6)).map(|_| AtomicU64::new(0)).collect())
    }

    /// Adds a number. Returns whether the number was already in the set.
    fn insert(&self, number: u64) -> bool {
        // Fibonacci hashing: the high bits of the product spread out adjacent numbers.
        let hash = number.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (64 - Seen::BITS);
        let (word, bit) = (&self.0[(hash >> 6) as usize], 1 << (hash & 63));
        // Most numbers are already in the set, and a load is cheaper than a store.
        word.load(Relaxed) & bit != 0 || word.fetch_or(bit, Relaxed) & bit != 0
    }
}

impl<'a> InlineHeadReader<'a> {
    /// Returns a visitor for [`walk::walk`] that counts its reads in `progress`.
    pub fn new(progress: &'a Progress) -> Self {
        InlineHeadReader { sizes: Seen::new(), linked: Seen::new(), progress }
    }

    /// Moves the heads read during the walk into `fingerprints`.
    pub fn collect(tree: &mut Tree, fingerprints: &Fingerprints) {
        for (file, note) in (0u32..).zip(std::mem::take(&mut tree.notes)) {
            if let Some(head) = std::num::NonZeroU64::new(note) {
                fingerprints.set_head(file, Head(head));
            }
        }
    }
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl walk::Visitor for InlineHeadReader<'_> {
    /// Returns the file's head, or 0 if it was not read. A failure is reported when the search
    /// reads the head after the walk.
    fn file(&self, dir: &Dir, name: &CStr, stat: &Stat) -> u64 {
        if stat.size == 0 || stat.links > 1 && self.linked.insert(stat.inode) {
            return 0;
        }
        if !self.sizes.insert(stat.size) {
            return 0;
        }
        let Ok(file) = dir.open_file(name) else { return 0 };
        self.progress.opened.fetch_add(1, Relaxed);
        SCRATCH.with_borrow_mut(|scratch| {
            read_head(&file, stat.size, scratch, self.progress).map_or(0, |head| head.0.get())
        })
    }
}
