//! Random choices for corpora, reproducible on every machine and with every version.
//!
//! Everyone who repeats a race must get the same tree. This module therefore uses
//! [`testkit::Dice`], which is a fixed algorithm, and only exact floating-point operations.
//! Functions such as logarithms can differ in the last bit between machines.

use testkit::dice::{GAMMA, mix};

/// Returns the word at `index` in the random stream of `seed`.
///
/// Different seeds have different first words.
#[inline]
pub(super) fn word(seed: u64, index: u64) -> u64 {
    mix(start(seed).wrapping_add(index.wrapping_mul(GAMMA)))
}

/// Returns the state before the first word of the random stream of `seed`.
#[inline]
fn start(seed: u64) -> u64 {
    mix(seed ^ 0x6c6f_7000)
}

/// A source of random choices: the [`word`]s of a seed, starting at index 1.
#[derive(Debug, Clone)]
pub(crate) struct Dice(testkit::Dice);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(testkit::Dice::new(start(seed)))
    }

    /// Returns the next 64 bits.
    pub(super) fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    /// Returns a number below `end`, which must not be 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0.below(end)
    }

    /// Returns an index below `len`, which must not be 0.
    #[expect(clippy::cast_possible_truncation, reason = "a remainder of a usize fits in it")]
    pub(crate) fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// Returns an index below `len`, with low indices much more likely than high ones. It is
    /// proportional to the cube of a uniform number.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below len")]
    #[expect(clippy::cast_precision_loss, reason = "far less than 2^53")]
    pub(super) fn low_index(&mut self, len: usize) -> usize {
        let u = self.unit();
        (u * u * u * len as f64) as usize
    }

    /// Returns a number in 0..1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    pub(super) fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a size with the given median. Two thirds of the sizes are within a factor of
    /// `2^doublings` of the median. This is roughly the log-normal distribution that file sizes
    /// usually have.
    #[expect(clippy::cast_possible_truncation, reason = "an exponent below 64")]
    pub(super) fn size(&mut self, median: f64, doublings: f64) -> f64 {
        // The sum of twelve uniform numbers is close enough to a normal distribution, and exactly
        // reproducible.
        let normal = (0..12).map(|_| self.unit()).sum::<f64>() - 6.0;
        let exponent = normal * doublings;
        let whole = exponent.floor();
        median * 2_f64.powi(whole as i32) * (1.0 + (exponent - whole))
    }

    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.index(i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Dice, word};

    #[test]
    fn dice_throw_the_words_of_their_seed() {
        let mut dice = Dice::new(2018);
        assert_eq!([dice.bits(), dice.bits()], [word(2018, 1), word(2018, 2)]);
    }

    #[test]
    fn the_stream_of_the_published_corpora_has_not_changed() {
        assert_eq!(word(2018, 1), 0xc2a0_7383_adb8_fb42);
    }
}
