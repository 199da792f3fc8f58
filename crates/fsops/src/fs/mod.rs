//! File systems: identity and type, the mount table, subvolumes, and support for ctimes.

pub(crate) mod ctimes;
pub(crate) mod mounts;
mod subvolume;
pub(crate) mod volume;
