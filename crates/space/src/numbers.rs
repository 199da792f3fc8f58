//! Maps the row ids of a table to consecutive numbers.
//!
//! The ids of a catalog are almost consecutive, so a lookup usually needs only a plain table. If deleted
//! rows have left wide gaps, the map uses a binary search instead. Its size therefore depends on the
//! number of ids and never on their values.

/// A plain table may have this many entries for each id.
const MAX_SPREAD: u64 = 8;
/// The entry of an id that does not exist.
const NONE: u32 = u32::MAX;

/// Maps row ids to numbers.
#[derive(Debug)]
pub(crate) enum Numbers {
    /// The smallest id, and the number of each id from there on.
    Dense(i64, Vec<u32>),
    /// Sorted ids with their numbers.
    Sparse(Vec<(i64, u32)>),
}

impl Numbers {
    /// Maps the ids in `ids` to their positions.
    pub(crate) fn new(ids: impl Iterator<Item = i64> + Clone) -> Numbers {
        let (mut count, mut first, mut last) = (0u64, i64::MAX, i64::MIN);
        for id in ids.clone() {
            (count, first, last) = (count + 1, first.min(id), last.max(id));
        }
        let span = last.wrapping_sub(first).cast_unsigned();
        if count == 0 || span / MAX_SPREAD > count {
            let mut sparse: Vec<(i64, u32)> = ids.zip(0..).collect();
            sparse.sort_unstable();
            return Numbers::Sparse(sparse);
        }
        let mut numbers = vec![NONE; usize::try_from(span).unwrap_or(usize::MAX) + 1];
        for (id, number) in ids.zip(0..) {
            numbers[at(first, id)] = number;
        }
        Numbers::Dense(first, numbers)
    }

    /// Returns the number of an id. Ids that were renumbered to [`NONE`] have none.
    pub(crate) fn get(&self, id: i64) -> Option<u32> {
        let number = match self {
            Numbers::Dense(first, numbers) => *numbers.get(at(*first, id))?,
            Numbers::Sparse(sparse) => {
                sparse[sparse.binary_search_by_key(&id, |&(id, _)| id).ok()?].1
            }
        };
        Some(number).filter(|&number| number != NONE)
    }

    /// Replaces each number `n` by `to(n)`.
    pub(crate) fn renumber(&mut self, to: impl Fn(u32) -> u32) {
        match self {
            Numbers::Dense(_, numbers) => {
                numbers.iter_mut().filter(|number| **number != NONE).for_each(|n| *n = to(*n));
            }
            Numbers::Sparse(sparse) => sparse.iter_mut().for_each(|(_, n)| *n = to(*n)),
        }
    }
}

/// Returns the position of an id in the plain table. Ids below the first one wrap to a position
/// beyond its end.
fn at(first: i64, id: i64) -> usize {
    usize::try_from(id.wrapping_sub(first).cast_unsigned()).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::{NONE, Numbers};

    #[test]
    fn ids_without_wide_gaps_use_a_plain_table() {
        let numbers = Numbers::new([7, 5, 9].into_iter());
        assert!(matches!(numbers, Numbers::Dense(5, _)));
        assert_eq!([5, 7, 9].map(|id| numbers.get(id)), [Some(1), Some(0), Some(2)]);
        assert_eq!([4, 6, 10, i64::MIN, i64::MAX].map(|id| numbers.get(id)), [None; 5]);
    }

    #[test]
    fn ids_with_wide_gaps_are_searched() {
        let mut numbers = Numbers::new([i64::MAX, i64::MIN, 0].into_iter());
        assert!(matches!(numbers, Numbers::Sparse(_)));
        numbers.renumber(|number| number * 10);
        let ids = [i64::MIN, 0, i64::MAX];
        assert_eq!(ids.map(|id| numbers.get(id)), [Some(10), Some(20), Some(0)]);
        assert_eq!(numbers.get(1), None);
    }

    #[test]
    fn ids_can_lose_their_numbers() {
        for ids in [[1, 2], [1, i64::MAX]] {
            let mut numbers = Numbers::new(ids.into_iter());
            numbers.renumber(|number| if number == 0 { 0 } else { NONE });
            assert_eq!(ids.map(|id| numbers.get(id)), [Some(0), None]);
        }
    }

    #[test]
    fn without_ids_there_are_no_numbers() {
        assert_eq!(Numbers::new([].into_iter()).get(1), None);
    }
}
