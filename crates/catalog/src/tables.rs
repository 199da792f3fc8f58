//! Access to the rows of the tables, shared by reading and writing.
//!
//! `rows` reads the table `file` and `insert` writes it; `dirs` and `paths` read `dir`, `volumes`
//! reads `volume`, and `versions` compares rows with files. Directories have ascending ids from
//! parent to child, and all code that follows parents relies on that to terminate on damaged
//! catalogs.

pub(crate) mod dirs;
pub(crate) mod insert;
pub(crate) mod paths;
pub(crate) mod rows;
pub(crate) mod versions;
pub(crate) mod volumes;
