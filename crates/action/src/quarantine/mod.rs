//! Quarantine: files that a run moved aside instead of removing. They can be listed, restored, and
//! purged. A sweep also moves symbolic links and directory trees there.
//!
//! [`crate::run::Runs`] works on the quarantine of one journal folder. [`Quarantine`] needs no
//! journal folder. It reads the manifests beside the files, on any disk.

pub(crate) mod dirs;
pub(crate) mod manifest;
pub(crate) mod purge;

pub use dirs::{Quarantine, RestoreOutcome};
pub use purge::{PurgeOutcome, QuarantinedFile, QuarantinedTree, RemoveTree};

pub use crate::staging::dir::MANIFEST;
