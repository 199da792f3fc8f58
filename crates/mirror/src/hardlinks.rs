//! Recreates hard links in the destination: tracks link groups with unprocessed names, and links names to copied files.

pub(crate) mod birth;
pub(crate) mod groups;
pub(crate) mod inode_set;
pub(crate) mod link;
pub(crate) mod table;
