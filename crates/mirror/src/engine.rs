//! TODO head.

pub(crate) mod batch;
pub(crate) mod deferred;
pub(crate) mod dest_listing;
pub(crate) mod dir_cache;
pub(crate) mod dir_state;
pub(crate) mod disk_probe;
pub(crate) mod entry;
pub(crate) mod estimate;
pub(crate) mod extraneous;
pub(crate) mod job;
pub(crate) mod task;
pub(crate) mod worker;
