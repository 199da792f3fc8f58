//! Targets and options that the tests share.

use std::path::Path;
use std::sync::Arc;

use device::{Disks, Io, Threads};
use purge::{Guard, Operation, Options, Outcome, Selection, Target, purge};
use runtime::Progress;

/// Returns several sets of options, with different thread counts and kinds of disk.
pub(crate) fn ways() -> Vec<Options> {
    let way = |first, grows, io| Options {
        operation: Operation::Remove,
        selection: Selection::default(),
        keep_root: false,
        adds_permissions: false,
        cross_mounts: false,
        guarded: Guard::new(None, &[]).keys(),
        threads: Threads { first, grows },
        disks: Arc::new(Disks::new(io)),
        open_dirs: 3,
        throttle: Arc::default(),
    };
    vec![
        way(1, false, Io::Cached),
        way(2, true, Io::Auto),
        way(4, true, Io::Ssd),
        way(2, true, Io::Hdd),
    ]
}

/// Returns the options that most tests use.
pub(crate) fn usual() -> Options {
    ways().swap_remove(1)
}

pub(crate) fn target(path: impl AsRef<Path>) -> Target {
    Guard::new(None, &[]).check(path.as_ref()).expect("a removable path")
}

/// Removes a tree.
pub(crate) fn remove(path: impl AsRef<Path>, options: &Options) -> Outcome {
    let (outcome, ended) = purge(&[target(path)], options, &Progress::default(), None);
    ended.expect("not interrupted");
    outcome
}

/// Asserts that a tree was removed completely and without problems.
pub(crate) fn assert_gone(path: impl AsRef<Path>, outcome: &Outcome) {
    assert!(outcome.problems.is_empty(), "{:?}", outcome.problems);
    assert_eq!(outcome.failed, 0);
    assert!(path.as_ref().symlink_metadata().is_err(), "the tree still exists");
}
