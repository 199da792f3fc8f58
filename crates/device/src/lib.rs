//! What the devices below a tree are like, and how many threads to keep at work on each.
//!
//! A [`Lane`] is one physical device: the partitions of a disk share its lane, and what lies on two
//! disks goes on in two lanes side by side. [`Lanes`] finds the lane of a device number. A [`Crew`]
//! are the threads at work in one lane: it starts with one per processor and grows while they are
//! seen waiting. A [`Queue`] holds what waits for them.
//!
//! # What is concluded, and from what
//!
//! What `/sys` says of a device is a first guess, as virtual disks and controllers lie. Whether
//! anything is cold is seen by a walk: threads that wait more than they work are waiting for storage.
//! Before contents are read it is asked of some files. Until then nothing is done differently than in a
//! warm cache, so what is warm costs nothing. Whether there is an arm is settled by a trial
//! ([`Trial`], [`Lane::judge`]): several requests at once help a device without one and not one that has.

mod crew;
mod disk;
mod lane;
mod queue;
mod trial;

pub use crew::{Crew, Pace, Threads};
pub use disk::Disk;
pub use lane::{Conclusion, Io, Lane, Lanes};
pub use queue::{CloseOnPanic, Queue};
pub use trial::{Trial, spread};
