//! A group of equal files.

use content::{ContentId, Digest};

/// A set of identical files, sorted by path. The group has one name of each inode (the first by
/// path), or all names if [`hardlinks`](crate::Options::hardlinks) is set.
#[derive(Clone, Debug)]
pub struct Group {
    /// Size of each file in bytes.
    pub size: u64,
    /// The content that the files share; `None` if all of them are names of one inode.
    pub content: Option<ContentId>,
    /// BLAKE3 of the content; `None` if all files are names of one inode, or if a file has more
    /// than a gigabyte of holes.
    pub digest: Option<Digest>,
    /// The number of inodes.
    pub inodes: u32,
    /// Number of bytes that keeping a single copy would free. Hard links, shared extents and holes
    /// free nothing.
    pub reclaimable: u64,
}
