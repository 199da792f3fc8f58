//! Learns what the disks below a tree are like, and runs a suitable number of threads on each.
//!
//! A [`Disk`] is one physical disk, which all its partitions share. Different disks are processed
//! in parallel. [`Disks`] finds the disk of a device number. A [`WorkerPool`] runs the threads of
//! one disk: it starts with one per processor and grows while they wait for the disk. A [`Queue`]
//! holds their work.
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
//! The statement of `/sys` is only a first guess, since virtual disks and controllers report wrong
//! values. Two properties matter:
//!
//! - *Cold*: data comes from the disk and not from the page cache. A walk notices this when its
//!   threads wait more than they work. Before contents are read, some files are checked for cached
//!   pages. Until a disk proves cold it is treated as warm, so a warm cache costs nothing.
//! - *Seek-bound*: random reads move a disk head. A [`Probe`] decides ([`Disk::classify`]):
//!   parallel requests speed up an SSD, but hardly a hard disk.

mod disk;
mod disk_info;
mod pool;
mod probe;
mod queue;

pub use disk::{Disk, DiskProfile, Disks, Io};
pub use disk_info::DiskInfo;
pub use pool::{Threads, WaitMeter, WorkerPool};
pub use probe::{Probe, spread};
pub use queue::{CloseOnPanic, Queue};
