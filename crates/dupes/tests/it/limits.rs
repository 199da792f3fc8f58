//! The engine works with few descriptors.

use rustix::process::{Resource, Rlimit, setrlimit};
use testkit::{TempTree, TreeBuilder, assert_groups, naive_groups};

use crate::child::{self, Rights};
use crate::scan::setup;

#[test]
fn every_file_is_compared_with_only_a_few_descriptors() {
    let tree = TempTree::new();
    child::run("limits::compares_with_few_descriptors", tree.path(), Rights::Ours);
}

#[test]
#[ignore = "run by every_file_is_compared_with_only_a_few_descriptors"]
fn compares_with_few_descriptors() {
    let tree = child::tree();
    let mut builder = TreeBuilder::new();
    for i in 0..40 {
        let deep = "dir/".repeat(i % 9);
        builder = builder
            .seeded(format!("{deep}pair {i}"), i as u64 / 2, 100_000)
            .seeded(format!("{deep}small {i}"), i as u64 / 2, 999)
            .seeded(format!("{deep}same {i}"), 1000, 300_000);
    }
    builder.make(&tree);
    let expected = naive_groups(&tree);
    // Enough descriptors for the standard streams, the test harness, and a worker's directory, its
    // parent and two files.
    let limit = Some(16);
    setrlimit(Resource::Nofile, Rlimit { current: limit, maximum: limit }).expect("a lower limit");
    let setup = setup().open_dirs(1).open_files(2).threads(2);
    for inline_reads in [false, true] {
        let scan = setup.clone().inline_reads(inline_reads).scan(&[&tree]);
        assert_eq!(scan.problems().len(), 0, "{:?}", scan.problems());
        assert_groups(&expected, &scan.groups());
    }
}
