//! Files that are listed one by one rather than found by a walk.

use std::path::PathBuf;
use std::sync::Arc;

use content::Fingerprints;
use runtime::Progress;
use testkit::{TempTree, TreeBuilder, assert_groups, groups_of, relative_to};
use walk::{Filter, from_list};

use crate::properties::relative;
use crate::scan::{Scan, Setup, Walked, setup};

fn scan(paths: impl IntoIterator<Item = PathBuf>, setup: &Setup) -> Scan {
    let tree = from_list(paths.into_iter(), &Filter::default(), &Progress::default());
    let tree = tree.expect("not stopped");
    let fingerprints = Fingerprints::new(tree.files().len());
    Walked::new(tree, fingerprints).try_find(setup, Arc::default()).ok().expect("not stopped")
}

fn tree() -> TempTree {
    TreeBuilder::new()
        .file("a", "equal")
        .file("d/b", "equal")
        .file("d/e/c", "equal")
        .hard_links("more", &["one", "d/other"])
        .file("d/copy", "more")
        .seeded("large 1", 1, 100_000)
        .seeded("d/large 2", 1, 100_000)
        .symlink("link", "a")
        .symlink("dir link", "d")
        .dangling_symlink("nowhere")
        .fifo("fifo")
        .make_temp()
}

#[test]
fn only_listed_files_are_compared() {
    let tree = tree();
    let paths = ["a", "d/e/c", "d/other", "large 1", "d/large 2", "link", "nowhere", "fifo", "d"];
    let scan = scan(paths.map(|p| tree.join(p)), &setup());
    let expected = groups_of([["a", "d/e/c"], ["d/large 2", "large 1"]]);
    assert_groups(&expected, &relative_to(tree.path(), &scan.groups()));
    assert_eq!(scan.problems().len(), 0);
    assert_eq!((scan.tree.skipped.symlinks, scan.tree.skipped.fifos), (2, 1));
}

#[test]
fn a_file_listed_under_many_spellings_counts_once() {
    let tree = tree();
    let spellings = ["a", "./a", "d/../a", "d//..///a", "dir link/../a", "d/e/../../a", "a"];
    let below = ["d/b", "dir link/b", "d/./b", "dir link/e/../b"];
    let mut paths: Vec<PathBuf> = spellings.iter().chain(&below).map(|p| tree.join(p)).collect();
    paths.extend([relative(&tree.join("a")), relative(&tree.join("d/b"))]);
    for hardlinks in [false, true] {
        let scan = scan(paths.clone(), &setup().hardlinks(hardlinks));
        assert_eq!(scan.tree.files().len(), 2);
        assert_eq!(scan.tree.skipped.seen_before, 11);
        let group = scan.only_group();
        assert_eq!((group.files.len(), group.inodes), (2, 2));
    }
}

#[test]
fn hard_links_in_a_list_are_recognized() {
    let tree = tree();
    let paths = ["one", "d/other", "d/copy"].map(|p| tree.join(p));
    let names = |hardlinks| scan(paths.clone(), &setup().hardlinks(hardlinks)).groups();
    let expected = groups_of([["d/copy", "d/other"]]);
    assert_groups(&expected, &relative_to(tree.path(), &names(false)));
    let expected = groups_of([["d/copy", "d/other", "one"]]);
    assert_groups(&expected, &relative_to(tree.path(), &names(true)));
}

#[test]
fn missing_paths_are_reported_and_the_rest_is_compared() {
    let tree = tree();
    let paths = ["a", "gone", "a/below", "d/b", "d/gone/x", "a/", ""];
    let scan =
        scan(paths.map(|p| if p.is_empty() { PathBuf::new() } else { tree.join(p) }), &setup());
    assert_groups(&groups_of([["a", "d/b"]]), &relative_to(tree.path(), &scan.groups()));
    let problems = scan.problems();
    assert_eq!(problems.len(), 5, "{problems:?}");
    assert!(problems.values().all(|reason| reason.starts_with("cannot stat")), "{problems:?}");
}
