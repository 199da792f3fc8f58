//! Compares the exports of many hosts: which contents several hosts have, and which files exist on one
//! host only.
//!
//! The inodes of an export are sorted by a bucket of their size. [`compare()`] reads the same buckets
//! of all hosts at a time, as many as the memory allows, and passes on all inodes of one size
//! together. [`Report`] sums them up.
//!
//! | Module    | What it does                                                          |
//! |-----------|-----------------------------------------------------------------------|
//! | `passes`  | divides the buckets into passes that fit into memory                  |
//! | `compare` | reads the inodes of all hosts, one pass after the other               |
//! | `order`   | sorts the inodes of a bucket                                          |
//! | `class`   | the inodes of one size, and which of them are copies                  |
//! | `answers` | the answer for each inode of one host                                 |
//! | `same_file` | files that several exports contain, because they share a file system   |
//! | `matrix`  | sums for each pair of hosts                                           |
//! | `plans`   | plans for the redundant files of one host                             |
//! | `report`  | sums for each host, and the contents that take the most space         |

mod answers;
mod class;
mod compare;
mod matrix;
mod order;
mod passes;
mod plans;
mod report;
mod same_file;

pub use answers::Answers;
pub use class::{Class, Elsewhere, Inode};
pub use compare::{Options, Part, Selection, Tally, compare};
pub use matrix::Matrix;
pub use plans::plan_host;
pub use report::{Copies, HostTotals, Report, TopContent};
pub use same_file::seen_before;
