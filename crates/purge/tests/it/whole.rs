//! Tests of the removal of whole trees. Only the tree is removed, and the counts are correct.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use purge::{Guard, Operation, Options, Refusal, Why};
use testkit::{Compare, Snapshot, TempTree, TreeBuilder, assert_same, hostile_tree};

use crate::world::{assert_gone, remove, target, usual, ways};

/// Returns the number of non-directories and the number of directories in a tree, including the
/// root.
fn counted(root: &Path) -> (u64, u64) {
    let (mut files, mut dirs, mut left) = (0, 0, vec![root.to_path_buf()]);
    while let Some(dir) = left.pop() {
        dirs += 1;
        for entry in fs::read_dir(dir).expect("list") {
            let entry = entry.expect("an entry");
            if entry.file_type().expect("a type").is_dir() {
                left.push(entry.path());
            } else {
                files += 1;
            }
        }
    }
    (files, dirs)
}

#[test]
fn hostile_trees_are_removed_and_link_targets_kept() {
    for options in ways() {
        let place = TempTree::new();
        let outside = TreeBuilder::new().file("kept/a", "a").file("kept/b/c", "c");
        outside.make(&place);
        hostile_tree(place.join("tree")).unlock(place.join("tree"));
        let tree = place.join("tree");
        std::os::unix::fs::symlink(place.join("kept"), tree.join("away")).expect("create link");
        std::os::unix::fs::symlink("../kept/a", tree.join("a way")).expect("create link");
        fs::hard_link(place.join("kept/a"), tree.join("shared")).expect("create link");
        let before = Snapshot::without_names(&place, &["tree"]);
        let outcome = remove(&tree, &options);
        assert_gone(&tree, &outcome);
        let after = Snapshot::of(&place);
        assert_same(&before, &after, Compare::ALL - Compare::DIR_MTIMES);
    }
}

#[test]
fn counts_match_the_tree() {
    for options in ways() {
        let mut tree = TreeBuilder::new();
        for dir in 0..30 {
            for file in 0..dir * 20 {
                tree = tree.file(format!("{dir}/{}/{file}", dir % 7), "x");
            }
        }
        let place = tree.dir("empty/inside").make_temp();
        let expected = counted(place.path());
        let count = remove(&place, &Options { operation: Operation::Count, ..options.clone() });
        assert_eq!((count.files, count.dirs), expected);
        assert_eq!(counted(place.path()), expected, "counting removes nothing");
        let outcome = remove(&place, &options);
        assert_gone(&place, &outcome);
        assert_eq!((outcome.files, outcome.dirs), expected);
    }
}

#[test]
fn flat_and_wide_directories_are_removed() {
    for options in ways().into_iter().take(2) {
        let place = TempTree::new();
        let (flat, wide) = (place.join("flat"), place.join("wide"));
        fs::create_dir(&flat).expect("create");
        fs::create_dir(&wide).expect("create");
        for number in 0..6_000 {
            fs::File::create(flat.join(format!("{number}"))).expect("create");
            fs::create_dir(wide.join(format!("{number}"))).expect("create");
        }
        let outcome = remove(&flat, &options);
        assert_gone(&flat, &outcome);
        assert_eq!((outcome.files, outcome.dirs), (6_000, 1));
        let outcome = remove(&wide, &options);
        assert_gone(&wide, &outcome);
        assert_eq!((outcome.files, outcome.dirs), (0, 6_001));
    }
}

#[test]
fn chains_longer_than_the_longest_path_are_removed() {
    for options in ways() {
        let place = TempTree::new();
        TreeBuilder::new().deep_chain(5_000, "chain", "at the bottom").make(place.join("deep"));
        let outcome = remove(place.join("deep"), &options);
        assert_gone(place.join("deep"), &outcome);
        assert_eq!((outcome.files, outcome.dirs), (1, 5_001));
    }
}

#[test]
fn deep_trees_with_a_branch_at_every_level_are_removed() {
    // Each level has two directories. One of them leads further down, and the other is removed on
    // the way back up.
    for options in ways() {
        let place = TempTree::new();
        let mut path = place.join("comb");
        for level in 0..300 {
            let beside = path.join(format!("beside {level}")).join("x");
            fs::create_dir_all(&beside).expect("create");
            fs::write(beside.join("file"), "x").expect("write");
            path.push("d");
        }
        let outcome = remove(place.join("comb"), &options);
        assert_gone(place.join("comb"), &outcome);
        assert_eq!((outcome.files, outcome.dirs), (300, 900));
    }
}

#[test]
fn only_files_without_other_names_count_as_freed() {
    let place = TreeBuilder::new()
        .file("tree/alone", vec![1; 10_000])
        .hard_links(vec![2; 20_000], &["tree/one", "tree/d/other"])
        .hard_links(vec![3; 40_000], &["tree/in", "out"])
        .make_temp();
    let taken = |name: &str| place.join(name).metadata().expect("the entry exists").blocks() * 512;
    let expected = taken("tree/alone") + taken("tree/one");
    let outcome = remove(place.join("tree"), &Options { operation: Operation::Weigh, ..usual() });
    assert_eq!((outcome.files, outcome.dirs), (4, 2));
    assert_eq!((outcome.freed, outcome.linked), (expected, 1));
    assert!(place.join("tree/d/other").exists());
}

#[test]
fn the_top_directory_can_be_kept() {
    let place = TreeBuilder::new().file("tree/a/b", "x").file("tree/c", "y").make_temp();
    let outcome = remove(place.join("tree"), &Options { keep_root: true, ..usual() });
    assert_eq!((outcome.files, outcome.dirs, outcome.failed), (2, 1, 0));
    assert_eq!(fs::read_dir(place.join("tree")).expect("the directory exists").count(), 0);
}

#[test]
fn targets_need_not_be_directories() {
    let place = TreeBuilder::new().file("file", "x").fifo("fifo").dir("d/e").make_temp();
    std::os::unix::fs::symlink("d", place.join("link")).expect("create link");
    for name in ["file", "fifo", "link"] {
        assert_gone(place.join(name), &remove(place.join(name), &usual()));
    }
    assert!(place.join("d/e").exists(), "only the link is removed");
}

#[test]
fn protected_directories_are_refused_in_any_spelling() {
    let place = TreeBuilder::new().dir("here/inside").dir("state").dir("other").make_temp();
    let link = |to: &Path, name: &str| {
        std::os::unix::fs::symlink(to, place.join(name)).expect("create link");
    };
    link(&place.join("here"), "link");
    link(Path::new("/"), "root");
    let mut guard =
        Guard::new(Some(&place.join("here/inside")), &[place.join("state/lop/catalog.db")]);
    let mut refused = |path: &Path| guard.check(path).expect_err("refused");
    for path in ["/", "//", "/..", "/.", "", ".", "..", "x/..", "other/."] {
        assert!(refused(Path::new(path)).is_for_safety(), "{path}");
    }
    for path in ["here", "here/", "here//", "other/../here", "here/inside", "link/inside"] {
        let refusal = refused(&place.join(path));
        assert!(matches!(refusal, Refusal::Protected(Why::WorkingDirectory)), "{path}: {refusal}");
    }
    assert!(matches!(refused(place.path()), Refusal::Protected(_)));
    assert!(matches!(refused(&place.join("state")), Refusal::Protected(Why::Catalog)));
    let catalog = place.join("other/catalog.db");
    fs::write(&catalog, "x").expect("write");
    let refusal =
        Guard::new(None, std::slice::from_ref(&catalog)).check(&catalog).expect_err("refused");
    assert!(matches!(refusal, Refusal::Protected(Why::Catalog)), "{refusal}");
    let to_root = refused(&place.join("root"));
    assert!(matches!(to_root, Refusal::LinkToProtected(Why::Root)), "{to_root}");
    let to_here = refused(&place.join("link"));
    assert!(matches!(to_here, Refusal::LinkToProtected(Why::WorkingDirectory)), "{to_here}");
    assert!(!refused(&place.join("missing")).is_for_safety());
    assert!(guard.check(&place.join("other")).is_ok());
    assert!(target(place.join("other")).is_dir());
}
