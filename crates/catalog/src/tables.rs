//! Access to the rows of the tables, shared by reading and writing.

pub(crate) mod dirs;
pub(crate) mod insert;
pub(crate) mod paths;
pub(crate) mod rows;
pub(crate) mod versions;
pub(crate) mod volumes;
