//! Names that move, and inodes with several names.

use std::fs;

use testkit::{TempTree, TreeBuilder};

use crate::disk::{bytes, let_the_clock_tick};
use crate::sandbox::Sandbox;

/// Creates two inodes with the same content, each with names in two directories.
fn two_linked_inodes() -> TempTree {
    TreeBuilder::new()
        .hard_links("alike", &["one/a", "two/a"])
        .hard_links("alike", &["one/b", "two/b"])
        .make_temp()
}

#[test]
fn files_in_a_moved_directory_are_recognized_by_inode() {
    let tree = TreeBuilder::new().file("a", "alike").file("d/sub/b", "alike").make_temp();
    let sandbox = Sandbox::new();
    sandbox.scan(&[tree.path()]);
    fs::rename(tree.join("d"), tree.join("moved")).expect("renamed");
    assert_eq!(sandbox.scan(&[tree.path()]).known(), ["a", "b"]);
    assert!(sandbox.catalog().files_in(&bytes(&tree.join("d"))).expect("query succeeds").is_none());
    let moved = sandbox.entry(&tree.join("moved/sub/b")).expect("exists");
    assert_eq!(moved.copies, 2);
}

#[test]
fn files_in_swapped_directories_are_recognized_by_inode() {
    let tree = TreeBuilder::new().file("x/f", "alike").file("y/f", "other").make_temp();
    let sandbox = Sandbox::new();
    sandbox.scan(&[tree.path()]);
    let (x, y, aside) = (tree.join("x"), tree.join("y"), tree.join("aside"));
    for (from, to) in [(&x, &aside), (&y, &x), (&aside, &y)] {
        fs::rename(from, to).expect("renamed");
    }
    sandbox.scan(&[tree.path()]);
    let digest = |path: &str| sandbox.entry(&tree.join(path)).expect("exists").digest;
    assert_eq!(digest("y/f"), Some(content::Digest::of(b"alike")));
    assert_eq!(digest("x/f"), Some(content::Digest::of(b"other")));
}

#[test]
fn other_names_of_a_known_inode_are_known() {
    let (sandbox, tree) = (Sandbox::new(), two_linked_inodes());
    sandbox.scan(&[&tree.join("one")]);
    assert_eq!(sandbox.scan(&[&tree.join("two")]).known(), ["a", "b"]);
}

#[test]
fn other_names_of_a_changed_inode_are_not_known() {
    let (sandbox, tree) = (Sandbox::new(), two_linked_inodes());
    sandbox.scan(&[&tree.join("one")]);
    let_the_clock_tick(&tree.join("two/a"));
    fs::write(tree.join("two/a"), "Alike").expect("written");
    assert_eq!(sandbox.scan(&[&tree.join("two")]).known(), ["b"]);
}

#[test]
fn copies_are_counted_by_inode() {
    let (sandbox, tree) = (Sandbox::new(), two_linked_inodes());
    for scan in ["one", "two"] {
        sandbox.scan(&[&tree.join(scan)]);
        let a = sandbox.entry(&tree.join(scan).join("a")).expect("exists");
        assert_eq!(a.copies, 2);
    }
    let a = sandbox.entry(&tree.join("one/a")).expect("exists");
    let names = sandbox.catalog().files_with(a.content.expect("compared")).expect("query succeeds");
    assert_eq!(names.len(), 4);
}

#[test]
fn an_inode_that_lost_a_name_counts_as_changed() {
    let (sandbox, tree) = (Sandbox::new(), two_linked_inodes());
    sandbox.scan(&[tree.path()]);
    let_the_clock_tick(&tree.join("two/a"));
    fs::remove_file(tree.join("one/a")).expect("removed");
    assert_eq!(sandbox.scan(&[tree.path()]).known(), ["b", "b"]);
    assert_eq!(sandbox.entry(&tree.join("two/a")).expect("exists").copies, 2);
}

#[test]
fn an_inode_with_a_new_name_counts_as_changed() {
    let (sandbox, tree) = (Sandbox::new(), two_linked_inodes());
    sandbox.scan(&[tree.path()]);
    let_the_clock_tick(&tree.join("one/a"));
    fs::hard_link(tree.join("one/a"), tree.join("new")).expect("linked");
    assert_eq!(sandbox.scan(&[tree.path()]).known(), ["b", "b"]);
    assert_eq!(sandbox.entry(&tree.join("new")).expect("exists").copies, 2);
}
