//! Staging directories are private directories on the same file system as the files. This module
//! also exchanges a file's name with a name in a staging directory.
//!
//! `placement` assigns a directory to each file system, `dir` creates, opens and removes it, and
//! `name_swap` moves one name in and out.
//!
//! In this crate, entries leave the user's directories only by a rename into a staging directory or
//! an exchange with a name there. Entries are removed only from staging directories.

pub(crate) mod dir;
pub(crate) mod name_swap;
pub(crate) mod placement;
