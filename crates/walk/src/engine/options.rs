//! The options of a walk.

use std::sync::Arc;
use std::time::Duration;

use device::{Disks, Threads};

use crate::filter::Filter;
use crate::filter::own::OwnFiles;

/// How to walk.
#[derive(Clone, Debug)]
pub struct Options {
    /// Selects the entries.
    pub filter: Filter,
    /// Whether to stay on the file system of each root.
    pub one_file_system: bool,
    /// Workers per disk.
    pub threads: Threads,
    /// The disks, and what is known about them.
    pub disks: Arc<Disks>,
    /// Descriptors that a worker may keep open.
    pub open_dirs: usize,
    /// How long to wait for unresponsive roots after all others have been walked.
    pub patience: Duration,
    /// Lop's own files, which are skipped silently, as the catalog can change during the walk.
    pub own: OwnFiles,
}
