//! Cached files are read from the cache, even if another user owns them.

use testkit::{TempTree, TreeBuilder};

use crate::child::{self, Rights};
use crate::scan::setup;

/// The kernel does not reveal whether the files of other users are cached.
#[test]
fn files_of_other_users_count_as_cached() {
    let tree = TempTree::new();
    let files = (0..200).map(|n| (format!("{n}"), n / 2));
    let builder = files.fold(TreeBuilder::new(), |b, (name, seed)| b.seeded(name, seed, 10_000));
    builder.make(tree.path());
    // Data without a disk offset is known to be cached. `sync` gives it one.
    rustix::fs::sync();
    child::run("cached::reads_files_of_another_user", tree.path(), Rights::Nobody);
}

#[test]
#[ignore = "run by files_of_other_users_count_as_cached"]
fn reads_files_of_another_user() {
    let setup = setup();
    let scan = setup.scan_once(&[child::tree()]);
    assert_eq!(scan.groups().len(), 100);
    let conclusions = setup.find.disks.profiles();
    assert!(conclusions.iter().all(|device| !device.cold), "{conclusions:?}");
}
