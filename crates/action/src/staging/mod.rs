//! Private directories on the file system of the files, and the exchange of one name with a name in there.
//!
//! `placement` chooses a directory for each file system, `dir` creates, opens and removes it, `name_swap` moves one
//! name in and out. No other module of the crate renames or removes a user's file.

pub(crate) mod dir;
pub(crate) mod name_swap;
pub(crate) mod placement;
