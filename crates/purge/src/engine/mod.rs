//! The removal of one tree: workers, their tasks, and the order of the tasks.

mod batch;
mod disk_order;
mod drive;
mod inode_blocks;
pub(crate) mod job;
mod linked;
mod nodes;
mod probe;
pub(crate) mod removal;
pub(crate) mod subvolume;
mod tuner;
mod worker;
