//! Files with several names.
//!
//! A file with several names counts in the lowest directory that contains all of them, because only
//! removing that directory frees its space. [`join`] moves such files there, so that all later steps
//! see each file once.

use crate::part::Part;
use crate::shape::Shape;
use crate::space::{Sizes, Sums};
use crate::threads;

/// A file with several names.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Linked {
    /// The lowest directory that contains all of its names.
    dir: u32,
    /// The number of its content, if it shares its content with other files.
    content: Option<usize>,
}

impl Linked {
    /// Returns the directory and the content, if the file shares its content with other files.
    pub(crate) fn copy(&self) -> Option<(u32, usize)> {
        self.content.map(|content| (self.dir, content))
    }
}

/// A name that may be one of several of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Candidate<P> {
    /// Identifies the file ([`crate::part::key`]).
    pub(crate) key: u64,
    /// Where the caller has the name.
    pub(crate) position: P,
    pub(crate) dir: u32,
}

/// Calls `each` with the names of each file, and with the lowest directory that contains all of them.
pub(crate) fn each_file<P: Copy + Ord>(
    names: &[Candidate<P>],
    shape: &Shape,
    mut each: impl FnMut(&[Candidate<P>], u32),
) {
    debug_assert!(names.is_sorted(), "names of one file follow each other");
    for names in names.chunk_by(|a, b| a.key == b.key) {
        let dirs = || names.iter().map(|name| name.dir);
        let (first, last) = (dirs().min().unwrap_or(0), dirs().max().unwrap_or(0));
        each(names, shape.common(first, last));
    }
}

/// Moves each file with several names to the directory where it counts, and returns these files. Their
/// names are among the `candidates`. In `sums`, the names stay where they are: only the files and their
/// sizes move. In `parts`, the names lose their contents.
pub(crate) fn join(
    candidates: &[Candidate<(usize, usize)>],
    parts: &mut [Part],
    sums: &mut [Sums],
    shape: &Shape,
) -> Vec<Linked> {
    let mut linked = Vec::new();
    each_file(candidates, shape, |names, dir| {
        if names.len() < 2 {
            return;
        }
        // If different scans found the names, they may differ. The result must not depend on the order
        // of the parts.
        let (mut size, mut content) = ((0, 0), None);
        for &Candidate { position: (part, at), dir, .. } in names {
            let part = &mut parts[part];
            sums[dir as usize].sizes.remove(Sizes::of_file(part.sizes[at]));
            size = size.max(part.sizes[at]);
            content = content.max(part.names[at].take_content());
        }
        sums[dir as usize].sizes.add(Sizes::of_file(size));
        linked.push(Linked { dir, content });
    });
    linked
}

/// Returns the names whose keys may have occurred more than once, sorted. The position of a name is
/// the number of its part and the position in the part.
pub(crate) fn candidates(parts: &[Part], repeats: &Repeats) -> Vec<Candidate<(usize, usize)>> {
    let numbered: Vec<(usize, &Part)> = parts.iter().enumerate().collect();
    let lists = threads::each(numbered.chunks(threads::chunk(parts.len())), |parts| {
        let mut found = Vec::new();
        for &(number, part) in parts {
            for (run, names) in part.each_run() {
                let all = names.iter().zip(run.end - names.len()..);
                let repeated = all.filter(|(name, _)| repeats.may_have(name.key));
                found.extend(repeated.map(|(name, at)| Candidate {
                    key: name.key,
                    position: (number, at),
                    dir: run.dir,
                }));
            }
        }
        found
    });
    let mut all = lists.concat();
    // A second table compares other bits of the keys, so that few names are left to sort.
    let other_bits = |name: &Candidate<_>| name.key.rotate_left(32);
    let mut repeats = Repeats::for_about(all.len());
    for name in &all {
        repeats.add(other_bits(name));
    }
    all.retain(|name| repeats.may_have(other_bits(name)));
    all.sort_unstable();
    all
}

/// The keys that occur more than once, and a few others.
///
/// Most files have one name. A table of bits finds the keys that may be repeated much faster than
/// sorting all keys would.
#[derive(Debug)]
pub(crate) struct Repeats {
    /// One bit for each value of the lowest bits of a key.
    seen: Vec<u64>,
    twice: Vec<u64>,
}

impl Repeats {
    /// Creates a table for about `count` keys, which takes at most 4 bytes for each of them. With many
    /// more keys, [`Repeats::may_have`] returns true for most of them.
    pub(crate) fn for_about(count: usize) -> Repeats {
        // With 8 to 16 bits for each key, up to 1 key in 8 shares its bit with another one.
        let words = (count / 8).next_power_of_two();
        Repeats { seen: vec![0; words], twice: vec![0; words] }
    }

    /// Adds a key.
    pub(crate) fn add(&mut self, key: u64) {
        let (word, bit) = self.place(key);
        self.twice[word] |= self.seen[word] & bit;
        self.seen[word] |= bit;
    }

    /// Adds the keys of another table for the same number of keys.
    pub(crate) fn add_all(&mut self, other: &Repeats) {
        assert_eq!(self.seen.len(), other.seen.len(), "created for the same number of keys");
        let ours = self.seen.iter_mut().zip(&mut self.twice);
        for ((seen, twice), (also_seen, also_twice)) in
            ours.zip(other.seen.iter().zip(&other.twice))
        {
            *twice |= also_twice | (*seen & also_seen);
            *seen |= also_seen;
        }
    }

    /// Returns whether a key may have occurred more than once.
    pub(crate) fn may_have(&self, key: u64) -> bool {
        let (word, bit) = self.place(key);
        self.twice[word] & bit != 0
    }

    fn place(&self, key: u64) -> (usize, u64) {
        let word = (key / 64) & (self.seen.len() as u64 - 1);
        (usize::try_from(word).unwrap_or(0), 1 << (key % 64))
    }
}
