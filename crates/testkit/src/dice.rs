//! Random numbers from a seed, without another dependency.

use std::time::Duration;

/// `SplitMix64`; see [`Content::Seeded`](crate::Content::Seeded) for the source.
#[derive(Debug)]
pub struct Dice(u64);

impl Dice {
    /// Returns dice that throw the same whenever the seed is the same.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// Returns independent dice.
    #[must_use]
    pub fn other(&mut self) -> Self {
        Self(self.next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a number below `sides`, which is not 0.
    pub fn below(&mut self, sides: u64) -> u64 {
        self.next() % sides
    }

    /// Returns one of several, or `None` where there are none.
    pub fn pick<'a, T>(&mut self, several: &'a [T]) -> Option<&'a T> {
        let sides = u64::try_from(several.len()).ok().filter(|&sides| sides > 0)?;
        several.get(usize::try_from(self.below(sides)).ok()?)
    }

    /// Returns nothing half of the time, and otherwise any time up to the longest.
    pub fn dwell(&mut self, longest: Duration) -> Option<Duration> {
        let micros = u64::try_from(longest.as_micros()).unwrap_or(u64::MAX - 1);
        (self.below(2) == 0).then(|| Duration::from_micros(self.below(micros + 1)))
    }
}
