//! Options and a top directory for unit tests.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use device::{Disks, Io, Threads};
use fsops::Dir;

use crate::Operation;
use crate::Options;
use crate::Selection;
use crate::engine::job::Top;

/// Returns options for counting with one thread.
pub(crate) fn options(io: Io) -> Options {
    Options {
        operation: Operation::Count,
        selection: Selection::default(),
        keep_root: false,
        adds_permissions: false,
        cross_mounts: false,
        guarded: HashSet::new(),
        threads: Threads { first: 1, grows: false },
        disks: Arc::new(Disks::new(io)),
        open_dirs: 3,
        throttle: Arc::default(),
    }
}

/// Opens a top directory.
pub(crate) fn top(path: &Path) -> Top<'static> {
    let dir = Dir::open(path).expect("the directory exists");
    let stat = dir.stat().expect("metadata");
    Top { dir, stat, given: b"tree", mounts_below: false, tell: None }
}
