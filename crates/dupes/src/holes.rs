//! Recognizes files that are mostly holes.

use walk::{FileId, Opener};

use crate::work::Work;

/// Returns whether a file has more than a gigabyte of holes. Such files can be compared side by
/// side without reading the holes, but hashing them takes minutes.
pub(crate) fn has_huge_holes(work: &Work<'_>, file: FileId) -> bool {
    has_holes_over(work, file, 1 << 30)
}

/// Returns whether a file has more than `holes` bytes of holes.
pub(crate) fn has_holes_over(work: &Work<'_>, file: FileId, holes: u64) -> bool {
    let size = work.tree.file(file).size;
    let allocated = || Opener::new(work.tree, 1).stat(file).map(|stat| stat.allocated);
    size > holes && allocated().is_ok_and(|allocated| allocated < size - holes)
}
