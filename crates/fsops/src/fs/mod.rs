//! File systems: identity and type, the mount table, subvolumes, and which of them have real ctimes.

pub(crate) mod ctimes;
pub(crate) mod mounts;
mod subvolume;
pub(crate) mod volume;
