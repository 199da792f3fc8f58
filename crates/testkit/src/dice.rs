//! Random numbers that depend only on a seed, on every machine, without another dependency.
//!
//! `SplitMix64`: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.
//! Test trees and the corpora of the benchmarks are made from this stream, so it MUST NOT change.

use std::time::Duration;

/// The increment of the state: the odd number closest to 2^64 divided by the golden ratio.
pub const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// Scrambles 64 bits. Different inputs give different outputs.
#[inline]
pub fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// A stream of random numbers.
#[derive(Debug, Clone)]
pub struct Dice(u64);

impl Dice {
    /// Returns the stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns an independent stream.
    #[must_use]
    pub fn other(&mut self) -> Self {
        Self(self.bits())
    }

    /// Returns the next 64 bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GAMMA);
        mix(self.0)
    }

    /// Returns a number below `sides`, which must not be 0.
    #[inline]
    pub fn below(&mut self, sides: u64) -> u64 {
        // The bias is sides / 2^64, which is negligible for numbers of files.
        self.bits() % sides
    }

    /// Returns one of several items, or `None` if there are none.
    pub fn pick<'a, T>(&mut self, several: &'a [T]) -> Option<&'a T> {
        let sides = u64::try_from(several.len()).ok().filter(|&sides| sides > 0)?;
        several.get(usize::try_from(self.below(sides)).ok()?)
    }

    /// Returns `None` half of the time, and otherwise a duration of at most `longest`.
    pub fn dwell(&mut self, longest: Duration) -> Option<Duration> {
        let micros = u64::try_from(longest.as_micros()).unwrap_or(u64::MAX - 1);
        (self.below(2) == 0).then(|| Duration::from_micros(self.below(micros + 1)))
    }
}

#[cfg(test)]
mod tests {
    use super::Dice;

    #[test]
    fn the_stream_matches_the_published_algorithm() {
        let mut dice = Dice::new(1_234_567);
        let published = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973];
        assert_eq!([dice.bits(), dice.bits()], published);
    }
}
