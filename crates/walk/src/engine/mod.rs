//! The walk itself: roots, disks, mounts, worker threads, listings.

pub(crate) mod changes;
mod deferred;
mod disk_walk;
pub(crate) mod list;
pub(crate) mod listing;
pub(crate) mod options;
pub(crate) mod roots;
pub(crate) mod walker;
mod worker;
