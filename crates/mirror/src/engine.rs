//! The parts that execute a run: the shared job, its workers and tasks, and the state of unfinished directories.
//!
//! This module does not decide what happens to a name; see [`crate::reconcile`].

pub(crate) mod batch;
pub(crate) mod deferred;
pub(crate) mod dest_listing;
pub(crate) mod dir_cache;
pub(crate) mod dir_state;
pub(crate) mod disk_probe;
pub(crate) mod entry;
pub(crate) mod estimate;
pub(crate) mod extraneous;
#[cfg(test)]
pub(crate) mod fixture;
pub(crate) mod job;
pub(crate) mod task;
pub(crate) mod worker;
