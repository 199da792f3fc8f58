//! The heads that a search has seen, shared by threads.
//!
//! The set may forget heads, but it never reports a head that it has not seen (apart from one in
//! 2^32). It grows with the number of heads, and takes four to eight bytes for each.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

use content::Head;

/// Binary logarithm of the number of slots in the first table. Each further table has four times
/// as many slots.
const LOG2_FIRST_SLOTS: u32 = 12;

/// Maximum number of tables. The last one has 2^24 slots, which take 64 MiB.
const TABLES: usize = 7;

/// A set of heads. Each table has one slot for all heads with the same first bits, and the slot
/// holds 32 other bits of the last of these heads.
#[derive(Debug, Default)]
pub(crate) struct KnownHeads {
    tables: [OnceLock<Box<[AtomicU32]>>; TABLES],
    /// Index of the table that takes new heads.
    newest: AtomicUsize,
    /// Number of heads in that table.
    filled: AtomicUsize,
}

impl KnownHeads {
    /// Adds the head of a file of `size` bytes. Returns true if it was in the set.
    pub(crate) fn insert(&self, head: Head, size: u64) -> bool {
        let hash = (head.0.get() ^ size).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        #[expect(clippy::cast_possible_truncation, reason = "the low bits are the tag")]
        let tag = (hash as u32).max(1);
        let newest = self.newest.load(Relaxed);
        let slot = self.slot(newest, hash);
        let found = slot.load(Relaxed);
        if found == tag {
            return true;
        }
        if (0..newest).any(|older| self.slot(older, hash).load(Relaxed) == tag) {
            return true;
        }
        slot.store(tag, Relaxed);
        if found == 0
            && self.filled.fetch_add(1, Relaxed) == slots(newest) / 2
            && newest + 1 < TABLES
        {
            self.filled.store(0, Relaxed);
            self.newest.store(newest + 1, Relaxed);
        }
        false
    }

    fn slot(&self, table: usize, hash: u64) -> &AtomicU32 {
        let new = || (0..slots(table)).map(|_| AtomicU32::new(0)).collect();
        let table = self.tables[table].get_or_init(new);
        #[expect(clippy::cast_possible_truncation, reason = "an index of a slot fits")]
        let index = (hash >> (u64::BITS - table.len().trailing_zeros())) as usize;
        &table[index]
    }
}

fn slots(table: usize) -> usize {
    1 << (LOG2_FIRST_SLOTS as usize + 2 * table)
}
