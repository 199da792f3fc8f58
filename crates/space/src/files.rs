//! The names of files, and the directory that each file counts in.
//!
//! A file with several names counts in the lowest directory that contains all of them, because only
//! removing that directory frees its space. [`join_links`] moves such files there, so that all later
//! steps see each file once.

use crate::shape::Shape;

/// One name of a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Name {
    /// Identifies the file: names of one file have equal keys ([`key`]).
    pub(crate) key: u64,
    /// Size in bytes.
    pub(crate) size: u64,
    /// Disk space in bytes.
    pub(crate) allocated: u64,
    /// The directory that the file belongs to, or [`NO_DIR`] if another name stands for the file.
    pub(crate) dir: u32,
    /// Number of the content that the file shares with other files, or [`UNIQUE`].
    pub(crate) content: u32,
}

/// The directory of a name that does not count, because another name stands for the file.
pub(crate) const NO_DIR: u32 = u32::MAX;
/// The content of a file that shares its content with no other file.
pub(crate) const UNIQUE: u32 = u32::MAX;

/// Returns a hash of what identifies a file. Two of 10 million files have the same hash with a
/// probability of 1 in 370,000; lop would then count one of the two files in a directory above it.
pub(crate) fn key(volume: u64, inode: u64, size: u64, mtime_ns: i64) -> u64 {
    let parts = [volume, size, mtime_ns.cast_unsigned()];
    parts.iter().fold(mix(inode), |hash, &part| mix(hash.rotate_left(23) ^ part))
}

/// Distributes the bits of a number. These are the constants of the finalizer of `SplitMix64`
/// (Steele et al., "Fast splittable pseudorandom number generators", 2014).
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Lets the first name of each file stand for the file, in the lowest directory that contains all
/// names of the file. The names are in several lists.
pub(crate) fn join_links(lists: &mut [Vec<Name>], shape: &Shape) {
    let count = lists.iter().map(Vec::len).sum();
    let repeats = Repeats::of(count, lists.iter().flatten().map(|name| name.key));
    let mut repeated: Vec<(u64, (u32, u32))> = Vec::new();
    for (list, names) in (0..).zip(&*lists) {
        let all = (0..).zip(names).filter(|(_, name)| repeats.may_have(name.key));
        repeated.extend(all.map(|(at, name)| (name.key, (list, at))));
    }
    repeated.sort_unstable();
    for same in repeated.chunk_by(|a, b| a.0 == b.0) {
        if same.len() < 2 {
            continue;
        }
        let (mut low, mut high, mut content) = (u32::MAX, 0, UNIQUE);
        for &(_, (list, at)) in same {
            let name = &mut lists[list as usize][at as usize];
            (low, high) = (low.min(name.dir), high.max(name.dir));
            content = if content == UNIQUE { name.content } else { content };
            (name.dir, name.content) = (NO_DIR, UNIQUE);
        }
        let (list, at) = same[0].1;
        let file = &mut lists[list as usize][at as usize];
        (file.dir, file.content) = (shape.common(low, high), content);
    }
}

/// The keys that occur more than once, and a few others.
///
/// Most files have one name. A table of bits finds the keys that may be repeated much faster than
/// sorting all keys would, and takes 4 bytes for each name at most.
pub(crate) struct Repeats {
    mask: u64,
    /// One bit for each value of the lowest bits of a key.
    twice: Vec<u64>,
}

impl Repeats {
    /// Looks for repeated ones among `count` keys.
    pub(crate) fn of(count: usize, keys: impl Iterator<Item = u64>) -> Repeats {
        // With 8 to 16 bits for each key, up to 1 key in 8 shares its bit with another one.
        let bits = (count * 8).next_power_of_two().max(64);
        let (mut seen, twice) = (vec![0u64; bits / 64], vec![0u64; bits / 64]);
        let mut repeats = Repeats { mask: bits as u64 - 1, twice };
        for key in keys {
            let (word, bit) = repeats.place(key);
            if seen[word] & bit != 0 {
                repeats.twice[word] |= bit;
            }
            seen[word] |= bit;
        }
        repeats
    }

    /// Returns whether a key may have occurred more than once.
    pub(crate) fn may_have(&self, key: u64) -> bool {
        let (word, bit) = self.place(key);
        self.twice[word] & bit != 0
    }

    fn place(&self, key: u64) -> (usize, u64) {
        let bit = key & self.mask;
        (usize::try_from(bit / 64).unwrap_or(0), 1 << (bit % 64))
    }
}

/// The files that belong to a directory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// Size in bytes.
    pub(crate) bytes: u64,
    /// Disk space in bytes.
    pub(crate) allocated: u64,
    /// Number of files.
    pub(crate) files: u32,
}

impl Sizes {
    /// Adds other files.
    pub(crate) fn add(&mut self, other: Sizes) {
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.allocated = self.allocated.saturating_add(other.allocated);
        self.files = self.files.saturating_add(other.files);
    }
}

/// Calls `add` for each file with its directory. Call [`join_links`] first.
pub(crate) fn each_file(lists: &[Vec<Name>], mut add: impl FnMut(usize, Sizes)) {
    for name in lists.iter().flatten().filter(|name| name.dir != NO_DIR) {
        let file = Sizes { bytes: name.size, allocated: name.allocated, files: 1 };
        add(name.dir as usize, file);
    }
}
