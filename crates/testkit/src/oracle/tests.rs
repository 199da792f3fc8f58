//! The oracle on trees with known answers.

use super::{Rules, collapse_links, naive_groups, naive_truth};
use crate::{TempTree, TreeBuilder, groups_of, is_root, relative_to, skipped};

fn hand_made() -> TempTree {
    TreeBuilder::new()
        .file("a", "same")
        .file("dir/.hidden", "same")
        .file("same size", "emas")
        .hard_links("linked", &["z/link", "m/link", "m/other"])
        .file("empty1", "")
        .file("dir/empty2", "")
        .symlink("to a", "a")
        .symlink("to dir", "dir")
        .dangling_symlink("nowhere")
        .fifo("fifo")
        .socket("socket")
        .seeded("big1", 1, 300_000)
        .seeded("big2", 1, 300_000)
        .differing("big3", 1, 300_000, 299_999, 1)
        .sparse("hole", 5000, &[])
        .file("zeros", vec![0; 5000])
        .make_temp()
}

#[test]
fn finds_equal_regular_files_hidden_ones_included_and_nothing_else() {
    let tree = hand_made();
    let expected = groups_of([["a", "dir/.hidden"], ["big1", "big2"], ["hole", "zeros"]]);
    assert_eq!(relative_to(tree.path(), &naive_groups(&tree)), expected);
}

#[test]
fn counts_empty_files_and_every_link_on_request() {
    let tree = hand_made();
    let rules = Rules { empty: true, every_link: true };
    let truth = naive_truth(&[&tree], rules);
    let expected = groups_of([
        vec!["a", "dir/.hidden"],
        vec!["big1", "big2"],
        vec!["dir/empty2", "empty1"],
        vec!["hole", "zeros"],
        vec!["m/link", "m/other", "z/link"],
    ]);
    assert_eq!(relative_to(tree.path(), &truth.groups), expected);
    assert!(truth.unread.is_empty());
}

#[test]
fn keeps_the_smallest_path_of_a_link_group_that_has_a_copy() {
    let tree = TreeBuilder::new().hard_links("x", &["c", "b", "d"]).file("e", "x").make_temp();
    let groups = naive_groups(&tree);
    assert_eq!(relative_to(tree.path(), &groups), groups_of([["b", "e"]]));
}

#[test]
fn takes_a_file_reached_twice_for_one() {
    let tree = TreeBuilder::new().file("d/one", "x").file("d/sub/two", "y").make_temp();
    let roots = [tree.path().to_path_buf(), tree.join("d"), tree.join("d"), tree.join("d/one")];
    assert!(naive_truth(&roots, Rules::default()).groups.is_empty());
}

#[test]
fn reports_what_is_missing_or_out_of_reach() {
    let tree = TreeBuilder::new().deep_chain(400, "0123456789", "x").file("a", "x").make_temp();
    let truth = naive_truth(&[tree.path().to_path_buf(), tree.join("missing")], Rules::default());
    assert_eq!(truth.unread.len(), 2, "the missing root and the directory past PATH_MAX");
    assert!(truth.groups.is_empty());
}

#[test]
fn reports_unreadable_files_and_directories() {
    if is_root() {
        return skipped("root can read every file");
    }
    let tree = TreeBuilder::new()
        .file("file", "x")
        .mode("file", 0)
        .file("dir/file", "x")
        .mode("dir", 0)
        .make_temp();
    let truth = naive_truth(&[&tree], Rules::default());
    assert_eq!(truth.unread.len(), 2);
}

#[test]
fn links_collapse_to_the_smallest_name_whatever_was_chosen() {
    let tree = TreeBuilder::new()
        .hard_links("x", &["a/2", "a/1", "b"])
        .file("copy", "x")
        .hard_links("y", &["y1", "y2"])
        .make_temp();
    let chosen = groups_of([vec!["b", "a/2", "copy"], vec!["y1", "y2"], vec!["gone", "away"]]);
    let expected = groups_of([["a/1", "copy"], ["gone", "away"]]);
    assert_eq!(collapse_links(&tree, &chosen), expected);
    let absolute = groups_of([[tree.join("b"), tree.join("copy")]]);
    let collapsed = collapse_links(&tree, &absolute);
    assert_eq!(relative_to(tree.path(), &collapsed), groups_of([["a/1", "copy"]]));
}
