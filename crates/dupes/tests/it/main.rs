//! Tests of the duplicate engine on real trees. The groups are compared with those of a naive
//! implementation.

#![expect(clippy::disallowed_methods, reason = "tests create and change the trees that they scan")]

mod cached;
mod changes;
mod child;
mod confirm;
mod contains;
mod determinism;
mod digests;
mod extents;
mod folders;
mod hostile;
mod injected;
mod limits;
mod lists;
mod model;
mod mounts;
mod properties;
mod pseudo;
mod readings;
mod reclaimable;
mod remembered;
mod reuse;
mod scale;
mod scan;
mod shared_extents;
mod sizes;
mod sparse;
mod stopped;
mod verify;
