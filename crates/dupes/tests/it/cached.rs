//! What is cached is read as such, whoever asks.

use testkit::{TempTree, TreeBuilder};

use crate::child::{self, Rights};
use crate::scan::setup;

/// Of files that somebody else owns the kernel does not say whether they are cached.
#[test]
fn files_of_others_are_not_cold_for_that() {
    let tree = TempTree::new();
    let files = (0..200).map(|n| (format!("{n}"), n / 2));
    let builder = files.fold(TreeBuilder::new(), |b, (name, seed)| b.seeded(name, seed, 10_000));
    builder.make(tree.path());
    // What has no place yet is known to be cached.
    rustix::fs::sync();
    child::run("cached::reads_what_somebody_else_owns", tree.path(), Rights::Nobody);
}

#[test]
#[ignore = "run by files_of_others_are_not_cold_for_that"]
fn reads_what_somebody_else_owns() {
    let setup = setup();
    let scan = setup.scan_once(&[child::tree()]);
    assert_eq!(scan.groups().len(), 100);
    let conclusions = setup.find.disks.profiles();
    assert!(conclusions.iter().all(|device| !device.cold), "{conclusions:?}");
}
