//! The same tree gives the same groups in the same order, whatever the timing of the threads.

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use testkit::{TempTree, TreeBuilder, disk_space, hostile_tree, random_tree};

use crate::scan::setup;

/// Creates a tree with many identical files: hard links, files with holes, and several groups of
/// each size.
fn tree() -> TempTree {
    let temp = TempTree::new();
    hostile_tree(temp.join("hostile"));
    let mut runner = TestRunner::deterministic();
    for i in 0..3 {
        let tree = random_tree(80).new_tree(&mut runner).expect("a tree").current();
        tree.make(temp.join(format!("random {i}")));
    }
    let mut many = TreeBuilder::new();
    for i in 0..200 {
        many = many.seeded(format!("many/{}/{i}", i % 13), i % 50, 70_000);
    }
    many.make(&temp);
    temp
}

#[test]
fn order_and_counts_depend_only_on_the_tree() {
    let tree = tree();
    for hardlinks in [false, true] {
        let first = setup().hardlinks(hardlinks).empty(true).scan(&[&tree]);
        assert!(first.found.groups.len() > 50);
        let (listed, problems) = (first.listed(), first.problems());
        for round in 0..4 {
            for (threads, open_files) in [(1, 32), (2, 2), (8, 5)] {
                let setup = setup().threads(threads).open_files(open_files).open_dirs(2);
                let setup = setup.hardlinks(hardlinks).empty(true).inline_reads(round % 2 == 1);
                let scan = setup.scan(&[&tree]);
                let now = scan.listed();
                let differs = listed.iter().zip(&now).find(|(was, is)| was != is);
                assert!(differs.is_none() && now.len() == listed.len(), "{differs:#?}, {setup:?}");
                assert_eq!(scan.problems(), problems);
                assert_eq!(scan.found.candidates, first.found.candidates);
            }
        }
    }
}

#[test]
fn groups_are_sorted_by_reclaimable_bytes_and_then_by_path() {
    let tree = TreeBuilder::new()
        .hard_links("a block for two", &["a1", "a2", "a3", "a4"])
        .file("a5", "a block for two")
        .file("b1", "another block for two")
        .file("b2", "another block for two")
        .file("y1", "two blocks for three")
        .file("y2", "two blocks for three")
        .file("y3", "two blocks for three")
        .make_temp();
    let reclaimable = |hardlinks| {
        let scan = setup().hardlinks(hardlinks).scan(&[&tree]);
        scan.listed()
            .into_iter()
            .map(|(_, bytes, _, paths)| (bytes, paths.len()))
            .collect::<Vec<_>>()
    };
    let block = disk_space(tree.join("a5"));
    assert_eq!(reclaimable(false), [(2 * block, 3), (block, 2), (block, 2)]);
    assert_eq!(reclaimable(true), [(2 * block, 3), (block, 5), (block, 2)]);
}
