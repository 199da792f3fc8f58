//! A group of equal files.

use content::{ContentId, Digest};

/// A set of equal files. The files are one name of each inode (the first by path),
/// or all names if names count, sorted by path.
#[derive(Clone, Debug)]
pub struct Group {
    /// Size of each file in bytes.
    pub size: u64,
    /// The content they share; `None` if all are names of one inode.
    pub content: Option<ContentId>,
    /// BLAKE3 of the content; `None` if all files are names of one inode, or if a file has over a
    /// gigabyte of holes.
    pub digest: Option<Digest>,
    /// The number of inodes.
    pub inodes: u32,
    /// Bytes that keeping a single copy would free. Hard links, shared extents and holes free
    /// nothing.
    pub reclaimable: u64,
}
