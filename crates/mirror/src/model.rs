//! The basic types of the crate. They do not depend on workers or queues.

pub(crate) mod attributes;
pub(crate) mod change;
pub(crate) mod content;
pub(crate) mod dir_node;
pub(crate) mod metadata_support;
pub(crate) mod ownership;
pub(crate) mod reason;
pub(crate) mod selection;
pub(crate) mod settled;
pub(crate) mod temp_name;
