//! Cached files are recognized as cached, regardless of their owner.

use testkit::{TempTree, TreeBuilder};

use crate::child::{self, Rights};
use crate::scan::setup;

/// The kernel does not tell whether the files of other users are cached.
#[test]
fn files_of_other_users_count_as_cached() {
    let tree = TempTree::new();
    let files = (0..200).map(|n| (format!("{n}"), n / 2));
    let builder = files.fold(TreeBuilder::new(), |b, (name, seed)| b.seeded(name, seed, 10_000));
    builder.make(tree.path());
    // Data that has no disk offset yet is known to be cached.
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
