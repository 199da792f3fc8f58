//! Divides the buckets into passes that fit into memory.

use std::ops::RangeInclusive;

use export::InodeGroup;

/// Number of buckets of an export.
pub(crate) const BUCKETS: usize = 256;

/// Returns ranges of buckets such that each range has at most `most` rows, as far as the row groups
/// tell. A bucket with more rows is a range of its own.
///
/// `groups` are the row groups of all hosts. The rows of a group may be in any of its buckets, so a
/// group counts fully for each range that it touches.
pub(crate) fn passes(groups: &[InodeGroup], most: u64) -> Vec<RangeInclusive<u8>> {
    let mut passes = Vec::new();
    let mut first = 0;
    while first < BUCKETS {
        let mut last = first;
        while last + 1 < BUCKETS && rows_in(groups, first, last + 1) <= most {
            last += 1;
        }
        passes.push(byte(first)..=byte(last));
        first = last + 1;
    }
    passes
}

/// Returns the number of rows of all groups that may have a bucket in the range.
fn rows_in(groups: &[InodeGroup], first: usize, last: usize) -> u64 {
    let range = byte(first)..=byte(last);
    groups.iter().filter(|group| overlaps(group, &range)).map(|group| group.rows).sum()
}

/// Returns whether a group may have a row in one of the buckets.
fn overlaps(group: &InodeGroup, buckets: &RangeInclusive<u8>) -> bool {
    group.buckets.start() <= buckets.end() && buckets.start() <= group.buckets.end()
}

fn byte(bucket: usize) -> u8 {
    u8::try_from(bucket).expect("at most 255")
}

#[cfg(test)]
mod tests {
    use export::InodeGroup;

    use super::passes;

    fn group(first: u8, last: u8, rows: u64) -> InodeGroup {
        InodeGroup { buckets: first..=last, rows }
    }

    #[test]
    fn passes_cover_all_buckets_within_the_limit() {
        assert_eq!(passes(&[], 10), [0..=255]);
        assert_eq!(passes(&[group(0, 255, 9)], 10), [0..=255]);
        let halves = [group(0, 127, 8), group(128, 255, 8)];
        assert_eq!(passes(&halves, 10), [0..=127, 128..=255]);
        assert_eq!(passes(&halves, 16), [0..=255]);
        // The buckets 100 to 120 are in two groups.
        let overlapping = [group(0, 120, 8), group(100, 255, 8)];
        assert_eq!(passes(&overlapping, 10)[0], 0..=99);
    }

    #[test]
    fn a_bucket_that_is_too_large_is_a_pass_of_its_own() {
        let groups = [group(0, 9, 1), group(10, 10, 100), group(11, 255, 1)];
        assert_eq!(passes(&groups, 10), [0..=9, 10..=10, 11..=255]);
    }
}
