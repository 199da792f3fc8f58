//! An approximate set of numbers, shared by threads: a Bloom filter.
//!
//! The walk uses such sets for the sizes that it has seen, and for inodes with several names. The
//! set never forgets a number. It may report a number that nobody added, if other numbers have set
//! the same bits. It cannot list or remove numbers.
//!
//! Each number sets three bits of one word, so an insert costs at most one cache miss and one atomic
//! operation. This is a blocked Bloom filter with blocks of 64 bits: Putze, Sanders and Singler,
//! "Cache-, Hash- and Space-Efficient Bloom Filters", JEA 14, 2009. `cargo xtask filter-graph`
//! compares it with other layouts.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A Bloom filter with blocks of one word.
#[derive(Debug)]
pub struct BloomFilter {
    words: Box<[AtomicU64]>,
    /// The number of bits by which a product is shifted to become the index of a word.
    shift: u32,
}

impl BloomFilter {
    /// Returns an empty filter of 2^`log2_bits` bits.
    ///
    /// # Panics
    ///
    /// If `log2_bits` is not between 7 and 52, or if memory for the filter is missing.
    pub fn new(log2_bits: u32) -> BloomFilter {
        assert!((7..=52).contains(&log2_bits), "2^{log2_bits} bits");
        let log2_words = log2_bits - 6;
        BloomFilter {
            words: (0..1_u64 << log2_words).map(|_| AtomicU64::new(0)).collect(),
            shift: 64 - log2_words,
        }
    }

    /// Adds a number. Returns true if all its bits were already set. The bits of a number that was
    /// added before are always set.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "an index of a word fits")]
    pub fn insert(&self, number: u64) -> bool {
        // Fibonacci hashing: the high bits of the product spread out adjacent numbers.
        let product = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let word = &self.words[(product >> self.shift) as usize];
        // The bits of the product below the index choose the bits of the word, six for each.
        let choice = product >> (self.shift - 18);
        let bits = 1 << (choice & 63) | 1 << (choice >> 6 & 63) | 1 << (choice >> 12 & 63);
        // Most numbers are already in the filter, and a load is cheaper than a store.
        word.load(Relaxed) & bits == bits || word.fetch_or(bits, Relaxed) & bits == bits
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    use super::BloomFilter;

    #[test]
    fn a_number_that_was_added_is_always_found() {
        for log2_bits in [7, 9, 16] {
            let filter = BloomFilter::new(log2_bits);
            let numbers = (0..2_000).chain((0..64).map(|bit| u64::MAX >> bit));
            numbers.clone().for_each(|number| {
                filter.insert(number);
            });
            assert!(numbers.clone().all(|number| filter.insert(number)), "{log2_bits}");
        }
    }

    #[test]
    fn a_filter_with_few_numbers_has_few_false_positives() {
        // The bits of random numbers would all be set before for one number in 400.
        let filter = BloomFilter::new(20);
        let random = (1..=65_536).filter(|&n| filter.insert(testkit::dice::mix(n))).count();
        assert!((100..250).contains(&random), "{random}");
        // Fibonacci hashing does better for adjacent numbers, such as sizes and inodes.
        let filter = BloomFilter::new(20);
        let adjacent = (1..=65_536).filter(|&n| filter.insert(n)).count();
        assert!(adjacent < 50, "{adjacent}");
    }

    #[test]
    fn only_one_of_several_threads_adds_a_number_first() {
        let filter = BloomFilter::new(24);
        let first = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let new = (1..=10_000).filter(|&number| !filter.insert(number)).count();
                    first.fetch_add(new as u64, Relaxed);
                });
            }
        });
        assert_eq!(first.into_inner(), 10_000);
    }
}
