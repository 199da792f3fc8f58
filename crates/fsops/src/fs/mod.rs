//! File systems: identity and type, the mount table, subvolumes, events, and support for ctimes.

pub(crate) mod ctimes;
pub(crate) mod fanotify;
pub(crate) mod mounts;
mod subvolume;
pub(crate) mod volume;
