//! Trees that are very deep or very wide.

use std::collections::BTreeSet;
use std::fs;

use testkit::{Content, Groups, PathBytes, TempTree, TreeBuilder, deep_path, disk_space};

use crate::scan::{in_memory, setup};

const LEVELS: usize = 3000;

#[test]
fn a_copy_at_the_bottom_of_three_thousand_directories_is_found() {
    let tree = in_memory();
    TreeBuilder::new()
        .deep_chain(LEVELS, "a rather long name", "deep down")
        .file("copy", "deep down")
        .seeded("other size class", 1, 100_000)
        .seeded("its copy", 1, 100_000)
        .make(&tree);
    let bottom = path_in(&tree, deep_path(LEVELS, "a rather long name"));
    for (threads, open_dirs) in [(1, 1), (2, 16), (8, 300)] {
        for inline_reads in [false, true] {
            let scan = setup()
                .threads(threads)
                .open_dirs(open_dirs)
                .inline_reads(inline_reads)
                .scan(&[&tree]);
            assert_eq!(scan.problems().len(), 0, "{:?}", scan.problems().values().next());
            let groups = scan.groups();
            assert_eq!(groups.len(), 2);
            assert!(groups.iter().any(|group| group.contains(&bottom)));
        }
    }
}

#[test]
fn large_files_at_the_bottoms_of_deep_chains_are_compared() {
    let mut builder = TreeBuilder::new();
    for i in 0..5 {
        let (seed, len) = (u64::from(i == 4), 3_000_000);
        builder = builder.deep_chain(1000, format!("chain {i}"), Content::Seeded { seed, len });
    }
    let tree = in_memory();
    builder.make(&tree);
    let scan = setup().open_files(2).open_dirs(2).scan(&[&tree]);
    assert_eq!(scan.problems().len(), 0);
    assert_eq!(scan.only_group().files.len(), 4);
}

/// Number of files in the wide directory. All files have the same size, and half of them are copies
/// of the other half.
const WIDE: usize = 40_000;

#[test]
fn a_directory_of_forty_thousand_files_of_one_size_is_grouped() {
    let tree = in_memory();
    for i in 0..WIDE {
        fs::write(tree.join(format!("{i:05}")), format!("{:05}", i % (WIDE / 2))).expect("room");
    }
    let scan = setup().scan(&[&tree]);
    assert_eq!(scan.tree.files().len(), WIDE);
    assert_eq!(scan.problems().len(), 0);
    let path = |i: usize| path_in(&tree, format!("{i:05}"));
    let pair = |i: usize| BTreeSet::from([path(i), path(i + WIDE / 2)]);
    let expected: Groups = (0..WIDE / 2).map(pair).collect();
    assert!(scan.groups() == expected);
}

#[test]
fn a_group_of_ten_thousand_equal_files_is_one_group() {
    let tree = in_memory();
    for i in 0..10_000 {
        fs::write(tree.join(i.to_string()), "all the same").expect("room");
    }
    for hardlinks in [false, true] {
        let scan = setup().hardlinks(hardlinks).scan(&[&tree]);
        assert_eq!(scan.only_group().files.len(), 10_000);
        assert_eq!(scan.only_group().reclaimable, 9_999 * disk_space(tree.join("0")));
    }
}

fn path_in(tree: &TempTree, name: impl PathBytes) -> Vec<u8> {
    [tree.path().path_bytes(), b"/", name.path_bytes()].concat()
}
