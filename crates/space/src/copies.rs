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
    fn divide(self, bytes: u64) -> (u64, u64) {
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
    let contents = contents(parts, linked, reclaimable.len());
    let mut shares = Vec::with_capacity(contents.len());
    // Forged catalogs may contain sums that exceed 64 bits. Wrapping keeps them from stopping lop.
    let mut own = vec![0u64; shape.parents.len()];
    for (content, &bytes) in contents.iter().zip(reclaimable) {
        let (each, rest) = content.divide(bytes);
        shares.push(each);
        if content.files > 1 {
            let all = &mut own[shape.common(content.first, content.last) as usize];
            *all = all.wrapping_sub(each);
            let first = &mut own[content.first as usize];
            *first = first.wrapping_add(rest);
        }
    }
    let add = |own: &mut [u64], dir: u32, content: usize| {
        let own = &mut own[dir as usize];
        *own = own.wrapping_add(shares[content]);
    };
    for part in threads::each(parts, |parts| {
        let mut own = vec![0u64; shape.parents.len()];
        each_copy(parts, |dir, content| add(&mut own, dir, content));
        own
    }) {
        own.iter_mut().zip(part).for_each(|(own, part)| *own = own.wrapping_add(part));
    }
    for (dir, content) in linked.iter().filter_map(Linked::copy) {
        add(&mut own, dir, content);
    }
    shape.each_upward(|parent, dir| own[parent] = own[parent].wrapping_add(own[dir]));
    own
}

/// Returns the files of each content.
fn contents(parts: &[Part], linked: &[Linked], count: usize) -> Vec<Content> {
    let add = |contents: &mut [Content], dir: u32, content: usize| {
        contents[content].add(Content { files: 1, first: dir, last: dir });
    };
    let mut contents = vec![Content::NONE; count];
    for part in threads::each(parts, |parts| {
        let mut contents = vec![Content::NONE; count];
        each_copy(parts, |dir, content| add(&mut contents, dir, content));
        contents
    }) {
        contents.iter_mut().zip(part).for_each(|(content, part)| content.add(part));
    }
    for (dir, content) in linked.iter().filter_map(Linked::copy) {
        add(&mut contents, dir, content);
    }
    contents
}

/// Calls `each` with the directory and the content of each file that shares its content.
fn each_copy(parts: &[Part], mut each: impl FnMut(u32, usize)) {
    for (run, names) in parts.iter().flat_map(Part::each_run) {
        names.iter().filter_map(Name::content).for_each(|content| each(run.dir, content));
    }
}
