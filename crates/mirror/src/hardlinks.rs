//! Keeps names of one file names of one file: groups of names that are still open, and the linking itself.

pub(crate) mod groups;
pub(crate) mod inode_set;
pub(crate) mod link;
pub(crate) mod table;
