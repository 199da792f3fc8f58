//! Computes the disk space of each directory, how much of it is reclaimable, and how much it has grown.
//!
//! [`Space::load`] answers from the catalog and does not access the remembered files. Callers find
//! a directory by its path, list its subdirectories in some order, and get the [`Totals`] of each.
//! [`Space::compare_scans`] adds the growth since an earlier scan, from the records that [`encode`]
//! made for the catalog. [`squarify`] lays out a treemap of any sizes. This crate neither prints nor
//! chooses what to show.
//!
//! | Module    | Contents                                                              |
//! |-----------|-----------------------------------------------------------------------|
//! | `space`   | the directories and their totals                                      |
//! | `load`    | reads a catalog with several threads                                  |
//! | `build`   | computes the totals from the rows of a catalog                        |
//! | `shape`   | directories in preorder                                               |
//! | `part`    | some of the files, as one thread reads them                           |
//! | `links`   | files with several names                                              |
//! | `copies`  | the disk space that removing copies would free                        |
//! | `record`  | the result of a scan, in a compact form                               |
//! | `growth`  | compares two records                                                  |
//! | `history` | chooses the scans to compare                                          |
//! | `treemap` | divides a rectangle in proportion to sizes                            |
//! | `numbers` | maps row ids to consecutive numbers                                   |
//! | `threads` | divides work among threads                                            |

mod build;
mod copies;
mod growth;
mod history;
mod links;
mod load;
mod numbers;
mod part;
mod record;
mod shape;
mod space;
mod threads;
mod treemap;

pub use history::{Compared, Comparisons};
pub use record::{Malformed, Record, RecordedDir, decode, encode};
pub use space::{By, DirId, Space, TOP, Totals};
pub use treemap::{Rect, squarify};
