//! The Bloom filters that the graph compares with the filter of a scan.
//!
//! Threads can share them like the filter of a scan: bits are set with an atomic operation, and
//! only if a load finds them clear.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use testkit::dice::GAMMA;

/// Number of 64-bit words in a cache line of 64 bytes.
const WORDS: usize = 8;

/// An approximate set of numbers. Different numbers can look the same to it.
pub(super) trait Filter {
    /// Adds a number. Returns true if all its bits were already set.
    fn insert(&self, number: u64) -> bool;
}

impl Filter for dupes::BloomFilter {
    #[inline]
    fn insert(&self, number: u64) -> bool {
        dupes::BloomFilter::insert(self, number)
    }
}

/// A classic Bloom filter: `HASHES` bits for each number, anywhere in the filter.
pub(super) struct Classic<const HASHES: u64> {
    words: Box<[AtomicU64]>,
    shift: u32,
}

impl<const HASHES: u64> Classic<HASHES> {
    /// Returns an empty filter of 2^`log2_bits` bits.
    pub(super) fn new(log2_bits: u32) -> Self {
        Self { words: empty(log2_bits), shift: 64 - log2_bits }
    }
}

impl<const HASHES: u64> Filter for Classic<HASHES> {
    #[inline]
    fn insert(&self, number: u64) -> bool {
        // Two hashes make any number of hashes: Kirsch and Mitzenmacher, "Less Hashing, Same
        // Performance: Building a Better Bloom Filter", ESA 2006.
        let (first, step) = (number.wrapping_mul(GAMMA), second_hash(number) | 1);
        let mut seen = true;
        for nth in 0..HASHES {
            let hash = first.wrapping_add(step.wrapping_mul(nth)) >> self.shift;
            seen &= set(&self.words[index(hash >> 6)], 1 << (hash & 63));
        }
        seen
    }
}

/// A blocked Bloom filter: `HASHES` bits for each number, all in one cache line.
///
/// Putze, Sanders and Singler, "Cache-, Hash- and Space-Efficient Bloom Filters", JEA 14, 2009.
pub(super) struct Blocked<const HASHES: u32> {
    lines: Box<[Line]>,
    shift: u32,
}

/// A cache line.
#[derive(Default)]
#[repr(align(64))]
struct Line([AtomicU64; WORDS]);

impl<const HASHES: u32> Blocked<HASHES> {
    /// Returns an empty filter of 2^`log2_bits` bits, at least two cache lines.
    pub(super) fn new(log2_bits: u32) -> Self {
        let log2_lines = log2_bits - 9;
        Self {
            lines: (0..1 << log2_lines).map(|_| Line::default()).collect(),
            shift: 64 - log2_lines,
        }
    }
}

impl<const HASHES: u32> Filter for Blocked<HASHES> {
    #[inline]
    fn insert(&self, number: u64) -> bool {
        let line = &self.lines[index(number.wrapping_mul(GAMMA) >> self.shift)].0;
        let bits = second_hash(number);
        let mut seen = true;
        for nth in 0..HASHES {
            let bit = bits >> (9 * nth);
            seen &= set(&line[index(bit >> 6) % WORDS], 1 << (bit & 63));
        }
        seen
    }
}

fn empty(log2_bits: u32) -> Box<[AtomicU64]> {
    (0..1_u64 << (log2_bits - 6)).map(|_| AtomicU64::new(0)).collect()
}

/// Returns a hash that is independent of the product with [`GAMMA`].
#[inline]
fn second_hash(number: u64) -> u64 {
    let mixed = (number ^ number >> 32).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    mixed ^ mixed >> 32
}

/// Sets bits of a word. Returns true if all of them were already set.
#[inline]
fn set(word: &AtomicU64, bits: u64) -> bool {
    word.load(Relaxed) & bits == bits || word.fetch_or(bits, Relaxed) & bits == bits
}

#[inline]
#[expect(clippy::cast_possible_truncation, reason = "indices of memory fit")]
fn index(number: u64) -> usize {
    number as usize
}
