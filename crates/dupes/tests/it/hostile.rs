//! A tree with everything that is known to break duplicate finders.

use std::collections::BTreeSet;
use std::path::Path;

use testkit::{
    PathBytes, Rules, TempTree, assert_groups, collapse_links, hostile_tree, jdupes, naive_truth,
    relative_to, skipped,
};

use crate::child::{self, Rights};
use crate::scan::setup;

#[test]
fn the_groups_are_the_ones_listed_for_the_tree() {
    let tree = TempTree::new();
    let hostile = hostile_tree(&tree);
    for inline_reads in [false, true] {
        let scan = setup().inline_reads(inline_reads).scan(&[&tree]);
        assert_groups(hostile.groups_here(), &relative_to(tree.path(), &scan.groups()));
        let problems: BTreeSet<_> = scan.problems().into_keys().collect();
        let unreadable = hostile.unreadable.iter().map(|path| path_in(tree.path(), path));
        let expected = if testkit::is_root() { BTreeSet::new() } else { unreadable.collect() };
        assert_eq!(problems, expected);
    }
}

#[test]
fn an_ordinary_user_gets_partial_groups_and_a_report_of_the_rest() {
    let tree = TempTree::new();
    hostile_tree(tree.join("tree"));
    child::run("hostile::finds_what_an_ordinary_user_may_read", tree.path(), Rights::Nobody);
}

#[test]
#[ignore = "run by an_ordinary_user_gets_partial_groups_and_a_report_of_the_rest"]
fn finds_what_an_ordinary_user_may_read() {
    let home = child::tree();
    // Creates a second tree elsewhere, only to compute the expected groups.
    let hostile = hostile_tree(TempTree::new());
    let root = home.join("tree");
    for inline_reads in [false, true] {
        let scan = setup().inline_reads(inline_reads).scan(&[&root]);
        assert_groups(&hostile.groups_without_rights, &relative_to(&root, &scan.groups()));
        let problems = scan.problems();
        let expected = |path: &Vec<u8>| path_in(&root, path);
        assert!(problems.keys().eq(&hostile.unreadable.iter().map(expected).collect::<Vec<_>>()));
        assert!(
            problems.values().all(|reason| reason.contains("Permission denied")),
            "{problems:?}"
        );
    }
}

fn path_in(root: &Path, path: &[u8]) -> Vec<u8> {
    [root.path_bytes(), b"/", path].concat()
}

#[test]
fn every_name_counts_if_requested_and_empty_files_too() {
    let tree = TempTree::new();
    hostile_tree(&tree);
    if !testkit::is_root() {
        return skipped("the oracle needs root to read the whole tree");
    }
    let truth = naive_truth(&[&tree], Rules { empty: true, every_link: true });
    let scan = setup().hardlinks(true).empty(true).scan(&[&tree]);
    assert_groups(&truth.groups, &scan.groups());
}

#[test]
fn jdupes_finds_the_same_groups() {
    let tree = TempTree::new();
    hostile_tree(&tree);
    if !testkit::is_root() {
        return skipped("jdupes needs root to read the whole tree");
    }
    if let Some(groups) = jdupes(&tree) {
        assert_groups(&collapse_links(&tree, &groups), &setup().scan(&[&tree]).groups());
    }
}

#[test]
fn special_files_and_links_are_counted_and_skipped() {
    let tree = TempTree::new();
    hostile_tree(&tree);
    let skipped = setup().scan(&[&tree]).tree.skipped;
    assert_eq!((skipped.fifos, skipped.sockets, skipped.symlinks, skipped.empty), (1, 1, 7, 2));
    assert_eq!(skipped.devices, u64::from(testkit::is_root()));
}
