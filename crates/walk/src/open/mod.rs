//! Opens files and directories by number or by path, with caches of open directories.

pub(crate) mod dir_cache;
pub(crate) mod dir_slots;
pub(crate) mod opener;
pub(crate) mod path_opener;
