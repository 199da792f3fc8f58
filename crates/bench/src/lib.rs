//! The instrument: trees with known answers, races against the peers, and counts without noise.
//!
//! | module | for |
//! |---|---|
//! | [`corpus`], [`store`] | trees by name and seed: the same bytes every time, checked after they are made; where they are kept |
//! | [`head`] | a hard disk's mechanics in front of a file, as a FUSE file system |
//! | [`image`] | loop images of ext4, XFS and btrfs, on the machine's disk or on a head |
//! | [`scenario`], [`tools`], [`race`] | what is raced, who takes part, how it goes |
//! | [`measure`], [`stats`] | one run and its figures, and what many runs come to |
//! | [`record`], [`page`] | what a race leaves behind, and the page made of it |
//! | [`way`] | where a disk's head was |
//! | [`counts`] | system calls, bytes and instructions, compared with a stored reference |
//!
//! It uses the program only as a stranger would, as a command, so that it can neither favour it
//! nor repeat its mistakes.

#![expect(
    clippy::print_stdout,
    reason = "a race tells how it goes; it is a program's, though it is a library to its tests"
)]
#![expect(
    clippy::disallowed_methods,
    reason = "bench makes and removes its own trees and records, never a user's files"
)]

pub mod corpus;
pub mod counts;
pub mod hdd;
pub mod head_trace;
pub mod image;
pub mod measure;
pub mod page;
pub mod race;
pub mod record;
pub mod scenario;
mod stats;
pub mod store;
pub mod tools;

mod failure;
mod system;

pub use failure::Failure;
