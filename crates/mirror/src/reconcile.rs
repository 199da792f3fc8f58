//! Makes the destination match the source, one name at a time: compares, copies, sets metadata, and deletes.
//!
//! Most submodules add methods to [`crate::engine::worker::Worker`].

pub(crate) mod buffer;
pub(crate) mod compare;
pub(crate) mod copy;
pub(crate) mod copy_bytes;
pub(crate) mod create;
pub(crate) mod decide;
pub(crate) mod delete;
pub(crate) mod directory;
pub(crate) mod finish_dir;
pub(crate) mod local_source;
pub(crate) mod metadata_probe;
pub(crate) mod put_in_place;
