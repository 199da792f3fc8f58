//! TODO head.

pub(crate) mod groups;
pub(crate) mod inode_set;
pub(crate) mod link;
pub(crate) mod table;
