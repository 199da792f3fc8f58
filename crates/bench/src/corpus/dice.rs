//! Random numbers that are the same on every machine and in every version of everything.
//!
//! A corpus must be the same tree for whoever repeats a race, so this uses one named algorithm and
//! no function whose last bit may differ: `SplitMix64` (Steele, Lea, Flood: Fast Splittable
//! Pseudorandom Number Generators, OOPSLA 2014), and only exact floating-point operations.

/// The odd number next to 2^64 divided by the golden ratio.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// Scrambles 64 bits; different inputs give different outputs.
#[inline]
pub(super) fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Returns word number `index` of the stream of a seed.
///
/// Streams of different seeds have different first words.
#[inline]
pub(super) fn word(seed: u64, index: u64) -> u64 {
    mix(mix(seed ^ 0x6c6f_7000).wrapping_add(index.wrapping_mul(GAMMA)))
}

/// A source of random choices.
#[derive(Debug, Clone)]
pub(super) struct Dice {
    seed: u64,
    thrown: u64,
}

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self { seed, thrown: 0 }
    }

    pub(super) fn bits(&mut self) -> u64 {
        self.thrown += 1;
        word(self.seed, self.thrown)
    }

    /// Returns a number below `end`, which is not 0.
    pub(super) fn below(&mut self, end: u64) -> u64 {
        // The bias is end / 2^64: nothing at the counts of files.
        self.bits() % end
    }

    /// Returns an index below `len`, which is not 0.
    #[expect(clippy::cast_possible_truncation, reason = "a remainder of a usize fits in it")]
    pub(super) fn index(&mut self, len: usize) -> usize {
        self.below(len as u64) as usize
    }

    /// Returns an index below `len` that is low far more often than high: the cube of a uniform one.
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

    /// Returns a size around `median`, which half the sizes are above; two thirds of them are within
    /// `2^doublings` times of it, the usual shape of file sizes (log-normal).
    #[expect(clippy::cast_possible_truncation, reason = "an exponent below 64")]
    pub(super) fn size(&mut self, median: f64, doublings: f64) -> f64 {
        // The sum of twelve uniform numbers is close enough to normal, and exact.
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
