//! The disk space that removing copies in a directory would free.
//!
//! One file of each content must stay. If a file with this content exists outside a directory, all
//! copies in the directory can be removed; otherwise, all but one. Each file gets a share of the bytes
//! that its content could free. The shares are added to the directories of the files, and one share is
//! subtracted in the lowest directory that contains all of the files. The sum over a directory and
//! everything below it is the result for the directory.

use crate::files::{Name, UNIQUE};
use crate::shape::Shape;

/// A content, and the files that have it.
#[derive(Clone, Copy, Debug)]
struct Content {
    /// Bytes that keeping one of the files would free; later, the share of each file.
    bytes: u64,
    /// Number of files; later, the number of bytes that are left over if each file but one gets its
    /// share. One byte more for each of the first files distributes these.
    number: u32,
    /// The first and the last directory with one of the files.
    first: u32,
    last: u32,
}

impl Content {
    /// Divides the bytes. A content that only one file has frees nothing.
    fn divide(&mut self) {
        let redundant = u64::from(self.number.saturating_sub(1));
        let bytes = self.bytes;
        self.bytes = bytes.checked_div(redundant).unwrap_or(0);
        let rest = bytes.checked_rem(redundant).unwrap_or(0);
        self.number = u32::try_from(rest).unwrap_or(0);
    }
}

/// Returns the contribution of each directory to the reclaimable bytes of all directories that
/// contain it. A contribution may be negative, but no sum over a directory and all below it is.
///
/// `reclaimable` has the reclaimable bytes of each content. The sum over everything is their sum,
/// without contents that fewer than two files have.
pub(crate) fn contributions(lists: &[Vec<Name>], reclaimable: &[u64], shape: &Shape) -> Vec<i64> {
    let content = |&bytes: &u64| Content { bytes, number: 0, first: u32::MAX, last: 0 };
    let mut contents: Vec<Content> = reclaimable.iter().map(content).collect();
    let files = || lists.iter().flatten().filter(|name| name.content != UNIQUE);
    for file in files() {
        let content = &mut contents[file.content as usize];
        content.number += 1;
        (content.first, content.last) = (content.first.min(file.dir), content.last.max(file.dir));
    }
    contents.iter_mut().for_each(Content::divide);
    // Forged catalogs may contain sums that exceed 64 bits. Wrapping keeps them from stopping lop.
    let mut own = vec![0i64; shape.parents.len()];
    for file in files() {
        let content = &mut contents[file.content as usize];
        let extra = u64::from(content.number > 0);
        content.number = content.number.saturating_sub(1);
        let own = &mut own[file.dir as usize];
        *own = own.wrapping_add((content.bytes + extra).cast_signed());
    }
    for content in contents.iter().filter(|content| content.bytes > 0) {
        let own = &mut own[shape.common(content.first, content.last) as usize];
        *own = own.wrapping_sub(content.bytes.cast_signed());
    }
    own
}

/// Adds everything below each directory to the contributions of the directory.
pub(crate) fn sums(mut own: Vec<i64>, shape: &Shape) -> Vec<u64> {
    shape.each_upward(|parent, dir| own[parent] = own[parent].wrapping_add(own[dir]));
    own.into_iter().map(|sum| sum.max(0).cast_unsigned()).collect()
}
