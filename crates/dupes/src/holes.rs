//! Recognizes files that are mostly holes.

use walk::{FileId, Opener};

use crate::work::Work;

/// Returns whether more than a gigabyte of a file are holes: those need no read side by side, and
/// minutes to put through a hash.
pub(crate) fn has_huge_holes(work: &Work<'_>, file: FileId) -> bool {
    has_holes_over(work, file, 1 << 30)
}

/// Returns whether more than so many bytes of a file are holes.
pub(crate) fn has_holes_over(work: &Work<'_>, file: FileId, holes: u64) -> bool {
    let size = work.tree.file(file).size;
    let allocated = || Opener::new(work.tree, 1).stat(file).map(|stat| stat.allocated);
    size > holes && allocated().is_ok_and(|allocated| allocated < size - holes)
}
