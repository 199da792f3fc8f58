//! Reads heads while the walk has their directory at hand.
//!
//! A file that was just looked at is still in the processor's caches, names and all; coming back
//! to it after the walk costs the same cache misses again. Measured warm on two trees of 130,000
//! and 260,000 files: 3 to 13 % less wall time. It is of use only when nothing is known of the
//! files, so a scan that has a catalog of them goes without.

use std::cell::RefCell;
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use content::{Facts, Head, Scratch, read_head};
use fsops::{Dir, Stat, Watch};
use walk::Tree;

/// Slots of the table of sizes seen: 1 MiB of memory. Two sizes that share a slot cost a head
/// that need not have been read.
const SLOTS: usize = 1 << 20;

/// Reads the head of every file whose size was seen before.
#[derive(Debug)]
pub struct EagerHeads<'a> {
    seen: Box<[AtomicBool]>,
    watch: &'a Watch,
}

impl<'a> EagerHeads<'a> {
    /// Returns a visitor for [`walk::walk`] that counts what it reads in `watch`.
    pub fn new(watch: &'a Watch) -> Self {
        EagerHeads { seen: (0..SLOTS).map(|_| AtomicBool::new(false)).collect(), watch }
    }

    /// Moves the heads read during the walk into `facts`.
    pub fn collect(tree: &mut Tree, facts: &Facts) {
        for (file, note) in (0u32..).zip(std::mem::take(&mut tree.notes)) {
            if let Some(head) = std::num::NonZeroU64::new(note) {
                facts.set_head(file, Head(head));
            }
        }
    }
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

impl walk::Visitor for EagerHeads<'_> {
    /// Returns the head, or 0 if it was not read. A failure is left to whoever asks for the head
    /// after the walk.
    fn file(&self, dir: &Dir, name: &CStr, stat: &Stat) -> u64 {
        if stat.size == 0 {
            return 0;
        }
        // Fibonacci hashing: the high bits of the product spread neighbouring sizes.
        let slot = (stat.size.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 44) as usize;
        let Some(seen) = self.seen.get(slot) else { return 0 };
        if !seen.load(Relaxed) {
            seen.store(true, Relaxed);
            return 0;
        }
        let Ok(file) = dir.open_file(name) else { return 0 };
        self.watch.opened.fetch_add(1, Relaxed);
        SCRATCH.with_borrow_mut(|scratch| {
            read_head(&file, stat.size, scratch, self.watch).map_or(0, |head| head.0.get())
        })
    }
}
