//! The options of a walk.

use std::sync::Arc;
use std::time::Duration;

use device::{Disks, Threads};

use crate::engine::changes::Changes;
use crate::filter::Filter;
use crate::filter::own::OwnFiles;

/// Options of a walk.
#[derive(Clone, Debug)]
pub struct Options {
    /// Selection of the entries.
    pub filter: Filter,
    /// True if the walk stays on the file system of each root.
    pub one_file_system: bool,
    /// Number of workers per disk.
    pub threads: Threads,
    /// The known disks and their properties.
    pub disks: Arc<Disks>,
    /// Maximum number of directory descriptors that a worker keeps open.
    pub open_dirs: usize,
    /// Time to wait for unresponsive roots after all other roots have been walked.
    pub root_timeout: Duration,
    /// Lop's own files. They are skipped without being counted, because the catalog can change
    /// during the walk.
    pub own: OwnFiles,
    /// The entries to examine; `None` for everything below the roots.
    pub changes: Option<Arc<Changes>>,
}
