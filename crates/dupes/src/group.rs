//! A group of equal files.

use content::{ContentId, Digest};

/// What is said of equal files. Those are one name per inode (the first by path), or all names if
/// names count, sorted by path.
#[derive(Clone, Debug)]
pub struct Group {
    /// Size of each, in bytes.
    pub size: u64,
    /// The content they share; `None` if all are names of one inode.
    pub content: Option<ContentId>,
    /// BLAKE3 of the content; `None` if all are names of one inode, or for a file with over a
    /// gigabyte of holes.
    pub digest: Option<Digest>,
    /// How many inodes the files are.
    pub inodes: u32,
    /// Bytes that keeping a single copy would free: hard links, shared extents and holes free
    /// nothing.
    pub reclaimable: u64,
}
