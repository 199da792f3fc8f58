//! Access to the rows of the tables, shared by reading and writing.
//!
//! `rows` reads the table `file` and `insert` writes it. `contents` reads `content`, `dirs` and
//! `paths` read `dir`, `volumes` reads `volume`, and `versions` compares rows with files.
//!
//! The id of a directory is greater than the id of its parent. All code that follows parents relies
//! on this to terminate on damaged catalogs.

pub(crate) mod contents;
pub(crate) mod dirs;
pub(crate) mod insert;
pub(crate) mod paths;
pub(crate) mod rows;
pub(crate) mod versions;
pub(crate) mod volumes;
