//! The disk space that removing copies in a directory would free.
//!
//! One file of each content must stay. If a file with this content exists outside a directory, all
//! copies in the directory can be removed; otherwise, all but one. Each file gets a share of the bytes
//! that its content could free. The shares are added to the directories of the files, and one share is
//! subtracted in the lowest directory that contains all of the files. The sum over a directory and
//! everything below it is the result for the directory.

use crate::links::Linked;
use crate::part::{Name, Part};
use crate::shape::Shape;
use crate::threads;

/// A content, and the files that have it.
#[derive(Clone, Copy, Debug)]
struct Content {
    /// Number of files.
    files: u32,
    /// The first and the last directory with one of the files.
    first: u32,
    last: u32,
}

impl Content {
    const NONE: Content = Content { files: 0, first: u32::MAX, last: 0 };

    fn add(&mut self, other: Content) {
        self.files += other.files;
        (self.first, self.last) = (self.first.min(other.first), self.last.max(other.last));
    }

    /// Divides bytes among all files but one. Returns the share of each file, and the bytes that are
    /// left over. A content that only one file has frees nothing.
    fn divide(&self, bytes: u64) -> (u64, u64) {
        let redundant = u64::from(self.files.saturating_sub(1));
        (bytes.checked_div(redundant).unwrap_or(0), bytes.checked_rem(redundant).unwrap_or(0))
    }
}

/// Returns for each directory the bytes that removing copies in it and below it would free, from the
/// reclaimable bytes of each content. Call [`crate::links::join`] first.
///
/// The bytes of the root directory are the sum over all contents that at least two files have.
pub(crate) fn reclaimable(
    parts: &[Part],
    linked: &[Linked],
    reclaimable: &[u64],
    shape: &Shape,
) -> Vec<u64> {
    let none = vec![Content::NONE; reclaimable.len()];
    let contents = tally(parts, linked, &none, Content::add, |contents, dir, content| {
        contents[content].add(Content { files: 1, first: dir, last: dir });
    });
    let divided = contents.iter().zip(reclaimable).map(|(content, &bytes)| content.divide(bytes));
    let divided: Vec<(u64, u64)> = divided.collect();
    // Forged catalogs may contain sums that exceed 64 bits. Wrapping keeps them from stopping lop.
    let add = |sum: &mut u64, bytes: u64| *sum = sum.wrapping_add(bytes);
    let none = vec![0; shape.parents.len()];
    let mut own = tally(parts, linked, &none, add, |own, dir, content| {
        add(&mut own[dir as usize], divided[content].0);
    });
    let shared = contents.iter().zip(&divided).filter(|(content, _)| content.files > 1);
    for (content, &(share, rest)) in shared {
        let common = shape.common(content.first, content.last);
        add(&mut own[common as usize], share.wrapping_neg());
        add(&mut own[content.first as usize], rest);
    }
    shape.each_upward(|parent, dir| own[parent] = own[parent].wrapping_add(own[dir]));
    own
}

/// Counts the files that share their contents. Calls `count` with the directory and the content of each
/// of these files. Each thread starts with `none`, and `merge` adds its results to those of another one.
fn tally<T: Clone + Send + Sync>(
    parts: &[Part],
    linked: &[Linked],
    none: &[T],
    merge: impl Fn(&mut T, T),
    count: impl Fn(&mut [T], u32, usize) + Sync,
) -> Vec<T> {
    let results = threads::each(parts.chunks(threads::chunk(parts.len())), |parts| {
        let mut counted = none.to_vec();
        for (run, names) in parts.iter().flat_map(Part::each_run) {
            let copies = names.iter().filter_map(Name::content);
            copies.for_each(|content| count(&mut counted, run.dir, content));
        }
        counted
    });
    let mut all = none.to_vec();
    for (dir, content) in linked.iter().filter_map(Linked::copy) {
        count(&mut all, dir, content);
    }
    for counted in results {
        all.iter_mut().zip(counted).for_each(|(all, counted)| merge(all, counted));
    }
    all
}
