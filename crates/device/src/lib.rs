//! Classifies the disks that hold a tree, and runs a suitable number of threads on each disk.
//!
//! A [`Disk`] is one physical disk with all of its partitions. [`Disks`] finds the disk of a device
//! number. Different disks are processed in parallel. A [`WorkerPool`] runs the threads of one
//! disk. It starts with one thread per processor and grows while the threads wait for the disk. A
//! [`Queue`] holds their work.
//!
//! | module | contents |
//! |---|---|
//! | `disk` | a disk, its properties, and the strategy that follows from them |
//! | `disk_info` | the kernel's description of a disk, from `/sys` |
//! | `pool` | worker threads, and the measurement of their waits |
//! | `probe` | timed random reads that tell an SSD from a hard disk |
//! | `queue` | work shared by the threads of a pool |
//!
//! # How a disk is classified
//!
//! The type given in `/sys` is only a first guess because virtual disks and controllers report
//! wrong values. Two properties matter:
//!
//! - *Cold*: data comes from the disk and not from the page cache. A walk detects this when its
//!   threads wait more than they work. Before contents are read, a sample of files is checked for
//!   cached pages. A disk counts as warm until it proves cold, so scans in a warm cache have no
//!   extra cost.
//! - *Seek-bound*: random reads move a disk head. A [`Probe`] measures this ([`Disk::classify`]),
//!   as parallel requests are much faster on an SSD but hardly faster on a hard disk.

mod disk;
mod disk_info;
mod pool;
mod probe;
mod queue;

pub use disk::{Disk, DiskProfile, Disks, Io};
pub use disk_info::DiskInfo;
pub use pool::{Threads, WaitMeter, WorkerPool};
pub use probe::{Probe, spread};
pub use queue::Queue;
