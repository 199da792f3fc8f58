//! Staging directories: private directories on the file system of the files, and the exchange of one name with a
//! name in there.
//!
//! `placement` assigns a directory to each file system, `dir` creates, opens and removes it, `name_swap` moves one
//! name in and out.
//!
//! In the whole crate, an entry leaves a directory of the user only by a rename or an exchange with a name in a
//! staging directory, and entries are removed only from there.

pub(crate) mod dir;
pub(crate) mod name_swap;
pub(crate) mod placement;
