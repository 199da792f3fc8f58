//! Remembered files outside the roots of a scan, in other directories or unreachable.

use std::fs;
use std::time::SystemTime;

use testkit::{Content, TempTree, TreeBuilder};

use crate::disk::{bytes, walked};
use crate::sandbox::Sandbox;

const LEN: u64 = 20_000;

/// Creates two identical files on a removable disk, and two more copies in the directory `home`. A
/// third file in `home` has the same head, but its last byte differs.
fn disk_and_home() -> TempTree {
    let mut tree = TreeBuilder::new().differing("home/e", 1, LEN, LEN - 1, 1);
    for name in ["disk/a", "disk/b", "home/c", "home/d"] {
        tree = tree.seeded(name, 1, LEN);
    }
    tree.make_temp()
}

/// Scans the disk first, and then home while the disk is removed.
fn scanned_in_turn(tree: &TempTree, meanwhile: impl FnOnce(&Sandbox)) -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.scan(&[&tree.join("disk")]);
    meanwhile(&sandbox);
    fs::rename(tree.join("disk"), tree.join("away")).expect("renamed");
    sandbox.scan(&[&tree.join("home")]);
    fs::rename(tree.join("away"), tree.join("disk")).expect("renamed back");
    sandbox
}

fn content(sandbox: &Sandbox, tree: &TempTree, name: &str) -> Option<i64> {
    sandbox.entry(&tree.join(name)).expect("exists").content
}

#[test]
fn files_elsewhere_are_added_if_they_share_a_size_with_the_scan() {
    let tree = TreeBuilder::new()
        .file("one/a", "alike")
        .file("one/b", "another size")
        .file("two/c", "alike")
        .make_temp();
    let sandbox = Sandbox::new();
    sandbox.scan(&[&tree.join("one")]);
    assert_eq!(sandbox.scan(&[&tree.join("two")]).added(), [bytes(&tree.join("one/a"))]);
    let a = sandbox.entry(&tree.join("one/a")).expect("exists");
    assert_eq!(a.copies, 2, "the old row got a content");
    assert!(sandbox.entry(&tree.join("one/b")).is_some());
}

#[test]
fn files_elsewhere_are_added_only_on_request() {
    let tree = TreeBuilder::new().file("one/a", "alike").file("two/c", "alike").make_temp();
    let sandbox = Sandbox::new();
    sandbox.scan(&[&tree.join("one")]);
    let mut two = walked(&[&tree.join("two")]);
    sandbox.catalog().match_tree(&mut two, false).expect("matches");
    assert_eq!(two.files().len(), 1);
}

#[test]
fn unreachable_and_new_files_are_matched_by_digest() {
    let tree = disk_and_home();
    let sandbox = scanned_in_turn(&tree, |_| ());
    let content = |name| content(&sandbox, &tree, name);
    assert_eq!(content("disk/a"), content("home/c"));
    assert_ne!(content("disk/a"), content("home/e"));
    assert_eq!(sandbox.entry(&tree.join("disk/b")).expect("exists").copies, 4);
    assert_eq!(sandbox.scan(&[&tree.join("disk")]).known(), ["a", "b"]);
}

#[test]
fn unreachable_files_lose_a_content_that_may_equal_a_new_one() {
    let tree = disk_and_home();
    let forget = |sandbox: &Sandbox| sandbox.run("UPDATE content SET digest = NULL");
    let sandbox = scanned_in_turn(&tree, forget);
    assert_eq!(content(&sandbox, &tree, "disk/a"), None);
    assert_eq!(sandbox.entry(&tree.join("home/c")).expect("exists").copies, 2);
    // The heads of the files are kept, and the next scan compares the files again.
    assert_eq!(sandbox.scan(&[&tree.join("disk")]).known(), ["a", "b"]);
    assert_eq!(sandbox.entry(&tree.join("disk/a")).expect("exists").copies, 4);
}

#[test]
fn unreachable_files_keep_a_content_if_its_head_differs() {
    let differing = Content::Differing { seed: 1, len: LEN, at: 0, variant: 1 };
    let tree = TreeBuilder::new()
        .seeded("disk/a", 1, LEN)
        .seeded("disk/b", 1, LEN)
        .file("home/c", differing.clone())
        .file("home/d", differing)
        .make_temp();
    let forget = |sandbox: &Sandbox| sandbox.run("UPDATE content SET digest = NULL");
    let sandbox = scanned_in_turn(&tree, forget);
    assert!(content(&sandbox, &tree, "disk/a").is_some());
    assert_ne!(content(&sandbox, &tree, "disk/a"), content(&sandbox, &tree, "home/c"));
}

/// A file that changed too recently for its content to be trusted is compared as if it had no
/// content.
#[test]
fn recent_files_elsewhere_get_the_new_content() {
    let tree = TreeBuilder::new()
        .file("one/a", "alike")
        .file("one/b", "alike")
        .file("two/c", "alike")
        .make_temp();
    let sandbox = Sandbox::new();
    sandbox.scan_at(&[&tree.join("one")], SystemTime::UNIX_EPOCH);
    sandbox.scan(&[&tree.join("two")]);
    assert_eq!(sandbox.query("SELECT inodes FROM content"), ["3"]);
}
