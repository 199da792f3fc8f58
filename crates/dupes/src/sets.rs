//! Sets of files, stored back to back in one block of memory.
//!
//! There can be half as many sets as files. A vector for each set would take more memory than the
//! files themselves, in pieces too small for [`runtime::memory`] to move to disk.

use std::ops::Deref;

use runtime::Progress;
use walk::FileId;

/// Sets of files, each with a value.
#[derive(Clone, Debug)]
pub struct Sets<T> {
    files: Vec<FileId>,
    sets: Vec<Span<T>>,
}

/// The position of a set's files in `files`, and the value of the set.
#[derive(Clone, Debug)]
struct Span<T> {
    first: u32,
    count: u32,
    value: T,
}

/// One set. It dereferences to its value.
#[derive(Clone, Copy, Debug)]
pub struct Set<'a, T> {
    /// The value of the set.
    pub value: &'a T,
    /// The files in it.
    pub files: &'a [FileId],
}

impl<T> Deref for Set<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value
    }
}

impl<T> Default for Sets<T> {
    fn default() -> Self {
        Sets { files: Vec::new(), sets: Vec::new() }
    }
}

impl<T> Sets<T> {
    /// Adds a set.
    pub(crate) fn push(&mut self, files: &[FileId], value: T) {
        self.sets.push(Span { first: number(self.files.len()), count: number(files.len()), value });
        self.files.extend_from_slice(files);
    }

    /// Moves all sets of `other` into this one.
    pub(crate) fn append(&mut self, mut other: Sets<T>) {
        if self.sets.is_empty() {
            *self = other;
            return;
        }
        let shift = number(self.files.len());
        let moved = |span: Span<T>| Span { first: span.first + shift, ..span };
        self.sets.extend(other.sets.drain(..).map(moved));
        self.files.append(&mut other.files);
    }

    /// Removes and returns all sets from number `at` to the end.
    pub(crate) fn split_off(&mut self, at: usize) -> Sets<T> {
        let mut sets = self.sets.split_off(at);
        let first = sets.first().map_or(number(self.files.len()), |span| span.first);
        for span in &mut sets {
            span.first -= first;
        }
        Sets { files: self.files.split_off(first as usize), sets }
    }

    /// Frees memory reserved for further sets.
    pub(crate) fn shrink(&mut self) {
        self.files.shrink_to_fit();
        self.sets.shrink_to_fit();
    }

    /// Sorts the sets by a key, which is computed once for each set. The sort is stable. **May
    /// block** like [`Progress::sort`].
    pub(crate) fn sort_by_cached_key<K: Ord>(
        &mut self,
        progress: &Progress,
        mut key: impl FnMut(&Set<'_, T>) -> K,
    ) {
        let keys = self.iter().map(|set| {
            progress.wait_for_release();
            key(&set)
        });
        let mut order: Vec<(K, u32)> = keys.zip(0..).collect();
        progress.sort(&mut order);
        // Applies the permutation cycle by cycle. Each swap puts one set in its final position. A
        // position that is done refers to itself.
        for start in 0..number(order.len()) {
            let mut at = start;
            loop {
                progress.wait_for_release();
                let from = std::mem::replace(&mut order[at as usize].1, at);
                if from == start {
                    break;
                }
                self.sets.swap(at as usize, from as usize);
                at = from;
            }
        }
    }

    /// Returns the number of sets.
    pub fn len(&self) -> usize {
        self.sets.len()
    }

    /// Returns whether there are no sets.
    pub fn is_empty(&self) -> bool {
        self.sets.is_empty()
    }

    /// Returns the set with this number.
    pub fn get(&self, set: usize) -> Set<'_, T> {
        self.sets[set].set(&self.files)
    }

    /// Returns a mutable reference to the value of a set.
    pub(crate) fn value_mut(&mut self, set: usize) -> &mut T {
        &mut self.sets[set].value
    }

    /// Returns the sets in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Set<'_, T>> {
        self.sets.iter().map(|span| span.set(&self.files))
    }

    /// Returns the files of all sets, in the order in which they were added.
    pub(crate) fn files(&self) -> &[FileId] {
        &self.files
    }

    /// Returns the number and the first file of each set. Sets are never empty.
    pub(crate) fn leaders(&self) -> Vec<(u32, FileId)> {
        (0u32..).zip(self.iter()).map(|(number, set)| (number, set.files[0])).collect()
    }
}

impl<T> Span<T> {
    fn set<'a>(&'a self, files: &'a [FileId]) -> Set<'a, T> {
        Set { value: &self.value, files: &files[self.first as usize..][..self.count as usize] }
    }
}

/// Returns a length as a 32-bit number.
fn number(length: usize) -> u32 {
    u32::try_from(length).expect("fewer files in sets than in the tree")
}

#[cfg(test)]
mod tests {
    use runtime::Progress;
    use walk::FileId;

    use super::Sets;

    #[test]
    fn sets_are_sorted_by_any_permutation_of_keys() {
        for count in [0u32, 1, 2, 7, 64, 1000] {
            for step in [1, 3, 11, 999_983] {
                let mut sets = Sets::default();
                for number in 0..count {
                    sets.push(&[FileId(number), FileId(number + count)], number);
                }
                // These keys reverse or mix the sets, and some sets have equal keys.
                let key = |number: u32| std::cmp::Reverse(number.wrapping_mul(step) % 1009 / 3);
                sets.sort_by_cached_key(&Progress::default(), |set| key(*set.value));
                let values: Vec<u32> = sets.iter().map(|set| *set.value).collect();
                let mut expected: Vec<u32> = (0..count).collect();
                expected.sort_by_key(|&number| key(number));
                assert_eq!(values, expected);
                for set in sets.iter() {
                    assert_eq!(set.files, [FileId(*set.value), FileId(*set.value + count)]);
                }
            }
        }
    }
}
