//! Walks trees on disk, and changes files in ways that their metadata shows.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fsops::Stat;
use runtime::Progress;
use testkit::{TempTree, TreeBuilder};
use walk::{Changes, FileId, Filter, Tree};

pub(crate) fn walked(roots: &[&Path]) -> Tree {
    walked_changes(roots, None)
}

/// Walks only `changes` below the roots, if there are any.
pub(crate) fn walked_changes(roots: &[&Path], changes: Option<Changes>) -> Tree {
    let options = walk::Options {
        filter: Filter::default(),
        one_file_system: false,
        threads: device::Threads { first: 2, grows: true },
        disks: Arc::default(),
        open_dirs: 8,
        root_timeout: std::time::Duration::from_secs(60),
        changes: changes.map(Arc::new),
        own: walk::OwnFiles::default(),
    };
    let roots: Vec<PathBuf> = roots.iter().map(|root| root.to_path_buf()).collect();
    walk::walk(&roots, &options, None, &Progress::default()).expect("not stopped")
}

/// Returns the ids of all files.
pub(crate) fn ids(tree: &Tree) -> impl Iterator<Item = FileId> + use<> {
    (0u32..).map(FileId).take(tree.files().len())
}

/// Returns a path as bytes.
pub(crate) fn bytes(path: &Path) -> Vec<u8> {
    path.as_os_str().as_encoded_bytes().to_vec()
}

pub(crate) fn stat(path: &Path) -> Stat {
    Stat::of_path(path).expect("metadata")
}

/// Waits until any further change to the file at `path` shows in its ctime.
///
/// The kernel stamps files with the time of its last tick, so two changes in quick succession may
/// leave the same ctime. Once any file gets a later stamp, all further changes get one as well.
pub(crate) fn let_the_clock_tick(path: &Path) {
    let probe = TempTree::new();
    let before = stat(path).ctime_ns;
    while stat(probe.path()).ctime_ns <= before {
        fs::set_permissions(probe.path(), Permissions::from_mode(0o700)).expect("set");
    }
}

/// Creates two identical files, a different file of the same size, and a file with a unique size.
/// In a catalog, "a" and "b" have content 1, and "c" has content 2.
pub(crate) fn pairs() -> TempTree {
    TreeBuilder::new()
        .file("a", "alike")
        .file("d/b", "alike")
        .file("d/sub/c", "other")
        .file("single", "alone with its size")
        .make_temp()
}
