//! TODO head.

pub(crate) mod attributes;
pub(crate) mod dir_node;
pub(crate) mod ownership;
pub(crate) mod temp_name;
