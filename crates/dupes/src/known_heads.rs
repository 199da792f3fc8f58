//! The heads that a search has seen, shared by threads.
//!
//! The set may forget heads. lop then reads a file once more. The set grows with the number of heads
//! and takes at most 22 MiB. Each table reports a head that it does not hold with a probability of at
//! most 2^-30. lop then reads a file to its end unnecessarily.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed};

use content::Head;

/// Binary logarithm of the number of slots in the first table. Each further table has four times
/// as many slots.
const LOG2_FIRST_SLOTS: u32 = 12;

/// Maximum number of tables. The last one has 2^22 slots, which take 16 MiB.
const TABLES: usize = 6;

/// Number of slots for all heads with the same first bits. They are in one cache line.
const SLOTS_PER_BUCKET: usize = 4;

/// A set of heads. Heads with the same first bits share a bucket of a table, and a slot in it holds
/// 32 other bits of a head.
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
        let holds = |slot: &AtomicU32| slot.load(Relaxed) == tag;
        if (0..=newest).rev().any(|table| self.bucket(table, hash).iter().any(holds)) {
            return true;
        }
        let bucket = self.bucket(newest, hash);
        let free = bucket.iter().find(|slot| slot.load(Relaxed) == 0);
        // In a full bucket, any head may be replaced.
        free.unwrap_or(&bucket[tag as usize % SLOTS_PER_BUCKET]).store(tag, Relaxed);
        let filled = self.filled.fetch_add(1, Relaxed);
        if filled == slots(newest) / 2 && newest + 1 < TABLES {
            self.filled.store(0, Relaxed);
            self.newest.store(newest + 1, Relaxed);
        }
        false
    }

    fn bucket(&self, table: usize, hash: u64) -> &[AtomicU32] {
        let new = || (0..slots(table)).map(|_| AtomicU32::new(0)).collect();
        let table = self.tables[table].get_or_init(new);
        let buckets = table.len() / SLOTS_PER_BUCKET;
        #[expect(clippy::cast_possible_truncation, reason = "an index of a bucket fits")]
        let first = (hash >> (u64::BITS - buckets.trailing_zeros())) as usize * SLOTS_PER_BUCKET;
        &table[first..first + SLOTS_PER_BUCKET]
    }
}

fn slots(table: usize) -> usize {
    1 << (LOG2_FIRST_SLOTS as usize + 2 * table)
}

#[cfg(test)]
mod tests {
    use content::head_of;

    use super::KnownHeads;

    #[test]
    fn most_heads_are_found_again_and_no_others() {
        let heads = KnownHeads::default();
        let head = |number: u32| head_of(&number.to_le_bytes());
        let count = 20_000;
        assert!((0..count).all(|number| !heads.insert(head(number), 100)));
        assert!((0..count).all(|number| !heads.insert(head(number), 101)), "of another size");
        let found = (0..count).filter(|&number| heads.insert(head(number), 101)).count();
        assert!(found > count as usize * 19 / 20, "{found}");
    }
}
