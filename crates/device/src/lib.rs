//! Classifies the disks that hold a tree, and runs a suitable number of threads on each disk.
//!
//! A [`Disk`] is one physical disk with all of its partitions. [`Disks`] maps a device number to
//! its disk. Different disks are processed in parallel. A [`WorkerPool`] runs the threads of one
//! disk. The pool starts with one thread per processor and grows while the threads wait for the
//! disk. A [`Queue`] holds the work of the pool.
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
//! - *Cold*: data has to be read from the disk because it is not in the page cache. A walk detects
//!   this when its threads spend more time waiting than working. Before the contents of files are
//!   read, lop checks whether the pages of a sample of files are cached. A disk counts as warm
//!   until it proves to be cold, so scans with a warm cache have no extra cost.
//! - *Seek-bound*: each random read has to move a disk head. A [`Probe`] detects this
//!   ([`Disk::classify`]), as parallel requests are much faster on an SSD but hardly faster on a
//!   hard disk.

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
