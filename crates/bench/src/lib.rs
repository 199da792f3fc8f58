//! Measures lop: trees with known answers, races against its peers, and reproducible counts.
//!
//! | module | for |
//! |---|---|
//! | [`corpus`], [`store`] | reproducible trees, checked after they are made; the folder that keeps them |
//! | [`hdd`] | a simulated hard disk in front of a file, as a FUSE file system |
//! | [`image`] | loop images of ext4, XFS and btrfs, on the machine's disk or on a simulated one |
//! | [`scenario`], [`tools`], [`race`] | work, tree, storage and caches; the programs with their command lines; the races |
//! | [`load`] | a load generator for web servers |
//! | [`measure`], `stats` | one measured run; medians and ranks of many |
//! | `rules`, [`bare_walk`], [`globset_walk`] | rule files for races of `lop sweep`, the least that a sweep must do, and a peer |
//! | [`bare_scan`] | the least that a duplicate finder must do, as a reference for races |
//! | [`record`], [`page`] | the CSV files of a race, and the pages computed from them |
//! | [`head_trace`] | the position of the disk's head during a scan |
//! | [`filter_graph`] | the time to insert into Bloom filters of many sizes |
//! | [`profile`] | the processor time of a scan by kind of work |
//! | [`counts`] | system calls, bytes and instructions, compared with a stored reference |
//!
//! Races and counts run lop only as a command, as any user does. They therefore cannot favour lop or
//! repeat its mistakes. Only [`filter_graph`] and the corpus of exports call the code of lop itself.

#![expect(
    clippy::print_stdout,
    reason = "a race tells how it goes; it is a program's, though it is a library to its tests"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "bench makes and removes its own trees and records, never a user's files"
)]

pub mod bare_scan;
pub mod bare_walk;
pub mod corpus;
pub mod counts;
pub mod filter_graph;
pub mod globset_walk;
pub mod hdd;
pub mod head_trace;
pub mod image;
pub mod load;
pub mod measure;
pub mod page;
pub mod profile;
pub mod race;
pub mod record;
mod rules;
pub mod scenario;
mod stats;
pub mod store;
pub mod tools;

mod failure;
mod system;

pub use failure::Failure;
