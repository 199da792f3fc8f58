//! Tests of the selection of entries by pattern, age and quarantine.

use std::fs;
use std::path::Path;

use purge::{Options, Selection};
use testkit::TreeBuilder;
use walk::Globs;

use crate::world::{remove, usual, ways};

fn globs(patterns: &[&str]) -> Globs {
    let patterns: Vec<String> = patterns.iter().map(|&p| p.to_string()).collect();
    Globs::new(&patterns).expect("patterns")
}

/// Returns the sorted paths of the entries below a directory. Directories end in a slash.
fn left(root: &Path) -> Vec<String> {
    let (mut found, mut dirs) = (Vec::new(), vec![root.to_path_buf()]);
    while let Some(dir) = dirs.pop() {
        for entry in fs::read_dir(&dir).expect("list") {
            let path = entry.expect("an entry").path();
            let name =
                path.strip_prefix(root).expect("a path below the root").display().to_string();
            if path.is_dir() {
                dirs.push(path);
                found.push(format!("{name}/"));
            } else {
                found.push(name);
            }
        }
    }
    found.sort();
    found
}

fn check(include: &[&str], exclude: &[&str], expected: &[&str]) {
    for way in ways() {
        let tree = TreeBuilder::new()
            .file("tree/a.o", "1")
            .file("tree/a.c", "2")
            .file("tree/src/b.o", "3")
            .file("tree/src/b.c", "4")
            .file("tree/src/node_modules/x/y.c", "5")
            .file("tree/src/node_modules/x/keep.c", "6")
            .file("tree/objects/c.o", "7")
            .dir("tree/empty")
            .make_temp();
        let (include, exclude) = (globs(include), globs(exclude));
        let selection = Selection { include, exclude, ..Selection::default() };
        let outcome = remove(tree.join("tree"), &Options { selection, ..way });
        assert_eq!(outcome.failed, 0, "{:?}", outcome.problems);
        assert_eq!(left(tree.path()), expected);
    }
}

#[test]
fn included_files_are_removed_and_directories_kept() {
    check(
        &["*.o"],
        &[],
        &[
            "tree/",
            "tree/a.c",
            "tree/empty/",
            "tree/objects/",
            "tree/src/",
            "tree/src/b.c",
            "tree/src/node_modules/",
            "tree/src/node_modules/x/",
            "tree/src/node_modules/x/keep.c",
            "tree/src/node_modules/x/y.c",
        ],
    );
}

#[test]
fn included_directories_are_removed_except_for_excluded_entries() {
    check(
        &["node_modules/", "empty"],
        &["keep.c"],
        &[
            "tree/",
            "tree/a.c",
            "tree/a.o",
            "tree/objects/",
            "tree/objects/c.o",
            "tree/src/",
            "tree/src/b.c",
            "tree/src/b.o",
            "tree/src/node_modules/",
            "tree/src/node_modules/x/",
            "tree/src/node_modules/x/keep.c",
        ],
    );
}

#[test]
fn excluded_entries_and_their_parents_are_kept() {
    check(
        &[],
        &["src/*.c", "objects/"],
        &["tree/", "tree/objects/", "tree/objects/c.o", "tree/src/", "tree/src/b.c"],
    );
}

#[test]
fn a_leading_slash_means_the_top_directory() {
    check(
        &[],
        &["/a.c", "/src/", "/y.c"],
        &[
            "tree/",
            "tree/a.c",
            "tree/src/",
            "tree/src/b.c",
            "tree/src/b.o",
            "tree/src/node_modules/",
            "tree/src/node_modules/x/",
            "tree/src/node_modules/x/keep.c",
            "tree/src/node_modules/x/y.c",
        ],
    );
}

#[test]
fn patterns_may_be_absolute_paths() {
    for dir in ["", "tree/"] {
        let tree = TreeBuilder::new()
            .file("tree/a/keep/x", "1")
            .file("tree/a/b", "2")
            .file("tree/keep/y", "3")
            .make_temp();
        let exclude = tree.join(format!("{dir}a/keep")).display().to_string();
        let selection = Selection { exclude: globs(&[&exclude]), ..Selection::default() };
        let outcome = remove(tree.join("tree"), &Options { selection, ..usual() });
        assert_eq!(outcome.failed, 0, "{:?}", outcome.problems);
        let expected: &[&str] = if dir.is_empty() {
            &[]
        } else {
            &["tree/", "tree/a/", "tree/a/keep/", "tree/a/keep/x"]
        };
        assert_eq!(left(tree.path()), expected);
    }
}

#[test]
fn excluded_targets_are_kept() {
    let absolute = |path: std::path::PathBuf| path.display().to_string();
    for (name, pattern) in [("keep", "keep"), ("keep", "/keep"), ("keep", "k*/"), ("keep", "")] {
        let tree =
            TreeBuilder::new().file("keep/x", "1").file("go/x", "2").file("keep.c", "").make_temp();
        let pattern = if pattern.is_empty() { absolute(tree.join(name)) } else { pattern.into() };
        let selection = Selection { exclude: globs(&[&pattern, "keep.c"]), ..Selection::default() };
        let options = Options { selection, ..usual() };
        for target in ["keep", "go", "keep.c"] {
            remove(tree.join(target), &options);
        }
        assert_eq!(left(tree.path()), ["keep.c", "keep/", "keep/x"], "{pattern}");
        assert!(options.selection.exclude.unmatched().is_empty());
    }
}

/// Covers the options with which `lop mirror` removes extraneous entries.
#[test]
fn patterns_relative_to_an_ancestor_can_select_only_files() {
    let tree = TreeBuilder::new()
        .file("top/a/a/1.c", "")
        .file("top/a/b/1.c", "")
        .file("top/a/b/2.o", "")
        .file("top/a/c/1.c", "")
        .dir("top/a/d")
        .make_temp();
    let selection = Selection {
        include: globs(&["*.c", "a/", "d"]),
        exclude: globs(&["/top/a/a/1.c"]),
        above: "top/a".into(),
        by_files: true,
        ..Selection::default()
    };
    let outcome = remove(tree.join("top/a"), &Options { selection, ..usual() });
    assert_eq!(
        left(tree.path()),
        ["top/", "top/a/", "top/a/a/", "top/a/a/1.c", "top/a/b/", "top/a/b/2.o"]
    );
    assert_eq!((outcome.files, outcome.dirs, outcome.unselected), (2, 2, 2));
}

#[test]
fn only_old_entries_are_removed() {
    let old = 1_000_000_000;
    let tree = TreeBuilder::new()
        .file("tree/old", "1")
        .file("tree/new", "2")
        .file("tree/dir/old", "3")
        .dir("tree/fresh")
        .file("tree/fresh/old", "4")
        .mtime("tree/old", old, 0)
        .mtime("tree/dir/old", old, 0)
        .mtime("tree/fresh/old", old, 0)
        .mtime("tree/dir", old, 0)
        .make_temp();
    let selection =
        Selection { before_ns: Some((old + 1) * 1_000_000_000), ..Selection::default() };
    let outcome = remove(tree.join("tree"), &Options { selection, ..usual() });
    assert_eq!(left(tree.path()), ["tree/", "tree/fresh/", "tree/new"]);
    assert_eq!((outcome.files, outcome.dirs, outcome.unselected), (3, 1, 1));
}

#[test]
fn quarantined_files_are_kept() {
    let tree = TreeBuilder::new()
        .file("tree/.lop-quarantine-0/run/1", "kept")
        .file("tree/a/b", "x")
        .make_temp();
    let outcome = remove(tree.join("tree"), &usual());
    assert_eq!(outcome.failed, 1);
    assert_eq!(
        left(tree.path()),
        [
            "tree/",
            "tree/.lop-quarantine-0/",
            "tree/.lop-quarantine-0/run/",
            "tree/.lop-quarantine-0/run/1"
        ]
    );
}
