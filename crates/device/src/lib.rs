//! What the devices below a tree are like, and how many threads to keep at work on each.
//!
//! A [`Disk`] is one physical device: the partitions of a disk share its disk, and what lies on two
//! disks goes on in two disks side by side. [`Disks`] finds the disk of a device number. A [`WorkerPool`]
//! are the threads at work in one disk: it starts with one per processor and grows while they are
//! seen waiting. A [`Queue`] holds what waits for them.
//!
//! # What is concluded, and from what
//!
//! What `/sys` says of a device is a first guess, as virtual disks and controllers lie. Whether
//! anything is cold is seen by a walk: threads that wait more than they work are waiting for storage.
//! Before contents are read it is asked of some files. Until then nothing is done differently than in a
//! warm cache, so what is warm costs nothing. Whether there is an arm is settled by a probe
//! ([`Probe`], [`Disk::classify`]): several requests at once help a device without one and not one that has.

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
