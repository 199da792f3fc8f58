//! Tests of filters by pattern, size and name.

use testkit::{TempTree, TreeBuilder};
use walk::{Filter, Remembered, Skipped};

use crate::found::{filter, found_with, names, options};

fn tree() -> TempTree {
    TreeBuilder::new()
        .file("a.txt", "1")
        .file("b.log", "22")
        .file(".hidden", "333")
        .file("src/a.txt", "4444")
        .file("src/deep/a.txt", "55555")
        .file("src/deep/c.rs", "666666")
        .file("target/a.txt", "7777777")
        .file("src/target/b.log", "88888888")
        .file(".git/config", "999999999")
        .file(b"odd \xff\n.txt", "0123456789")
        .file("[x]", "01234567890")
        .file("empty", "")
        .make_temp()
}

/// Returns the names that pass the filter, and the counts of skipped entries.
fn left(tree: &TempTree, filter: Filter) -> (Vec<String>, Skipped) {
    let walked = found_with(&[tree], &walk::Options { filter, ..options() });
    assert_eq!(walked.problems.len(), 0);
    (names(tree, &walked).into_iter().collect(), walked.skipped)
}

fn patterns(include: &[&str], exclude: &[&str]) -> Filter {
    let owned = |patterns: &[&str]| patterns.iter().map(|&p| p.to_owned()).collect::<Vec<_>>();
    Filter::default().with_patterns(&owned(include), &owned(exclude)).expect("patterns")
}

#[track_caller]
fn check(include: &[&str], exclude: &[&str], expected: &[&str]) {
    let tree = tree();
    let (mut left, mut expected) = (left(&tree, patterns(include, exclude)).0, expected.to_vec());
    left.sort_unstable();
    expected.sort_unstable();
    assert_eq!(left, expected, "include {include:?}, exclude {exclude:?}");
}

const ALL: [&str; 11] = [
    ".git/config",
    ".hidden",
    "[x]",
    "a.txt",
    "b.log",
    r"odd \xff\n.txt",
    "src/a.txt",
    "src/deep/a.txt",
    "src/deep/c.rs",
    "src/target/b.log",
    "target/a.txt",
];

fn all_but(names: &[&str]) -> Vec<&'static str> {
    ALL.into_iter().filter(|name| !names.contains(name)).collect()
}

#[test]
fn patterns_without_a_slash_match_names_at_any_depth() {
    check(
        &["*.txt"],
        &[],
        &["a.txt", "src/a.txt", "src/deep/a.txt", "target/a.txt", r"odd \xff\n.txt"],
    );
    check(
        &["a.txt", "*.rs"],
        &[],
        &["a.txt", "src/a.txt", "src/deep/a.txt", "target/a.txt", "src/deep/c.rs"],
    );
    check(&["?.log"], &[], &["b.log", "src/target/b.log"]);
    check(&["*"], &[], &ALL);
    check(&[r"\[x\]"], &[], &["[x]"]);
    check(&["{a,b}.*"], &["*.log"], &["a.txt", "src/a.txt", "src/deep/a.txt", "target/a.txt"]);
}

#[test]
fn excluded_names_skip_files_and_directories() {
    check(&[], &["target"], &all_but(&["target/a.txt", "src/target/b.log"]));
    check(
        &[],
        &["*.txt"],
        &all_but(&["a.txt", "src/a.txt", "src/deep/a.txt", "target/a.txt", r"odd \xff\n.txt"]),
    );
    check(&[], &[".*"], &all_but(&[".git/config", ".hidden"]));
    check(&[], &["*"], &[]);
}

#[test]
fn patterns_with_a_trailing_slash_match_only_directories() {
    check(&[], &["target/"], &all_but(&["target/a.txt", "src/target/b.log"]));
    check(&[], &["a.txt/", "b.log/"], &ALL);
    check(&[], &["src/target/"], &all_but(&["src/target/b.log"]));
    check(&[], &["/target/"], &all_but(&["target/a.txt"]));
}

#[test]
fn patterns_with_a_slash_match_paths_below_the_root() {
    check(&[], &["/a.txt"], &all_but(&["a.txt"]));
    check(&[], &["src/a.txt"], &all_but(&["src/a.txt"]));
    check(
        &[],
        &["src/*"],
        &all_but(&["src/a.txt", "src/deep/a.txt", "src/deep/c.rs", "src/target/b.log"]),
    );
    check(&[], &["src/*.txt"], &all_but(&["src/a.txt"]));
    check(
        &[],
        &["src/**"],
        &all_but(&["src/a.txt", "src/deep/a.txt", "src/deep/c.rs", "src/target/b.log"]),
    );
    check(&[], &["**/deep/*.txt"], &all_but(&["src/deep/a.txt"]));
    check(&[], &["**/a.txt"], &all_but(&["a.txt", "src/a.txt", "src/deep/a.txt", "target/a.txt"]));
    check(&["src/**"], &[], &["src/a.txt", "src/deep/a.txt", "src/deep/c.rs", "src/target/b.log"]);
    check(&["/*.txt"], &[], &["a.txt", r"odd \xff\n.txt"]);
    check(&["src/**", "*.log"], &["**/deep/"], &["src/a.txt", "src/target/b.log", "b.log"]);
}

#[test]
fn patterns_are_matched_below_each_root() {
    let tree = tree();
    let options = walk::Options { filter: patterns(&[], &["/a.txt"]), ..options() };
    let roots = [tree.join("src"), tree.join("target"), tree.join(".git")];
    let walked = found_with(&roots, &options);
    let left: Vec<_> = names(&tree, &walked).into_iter().collect();
    assert_eq!(left, [".git/config", "src/deep/a.txt", "src/deep/c.rs", "src/target/b.log"]);
}

#[test]
fn excluded_directories_are_not_entered_and_count_once() {
    let tree = tree();
    let (_, skipped) = left(&tree, patterns(&[], &["src", "a.txt"]));
    assert_eq!(skipped.excluded, 3);
    let walked =
        found_with(&[&tree], &walk::Options { filter: patterns(&[], &["src"]), ..options() });
    assert_eq!(walked.dirs().len(), 3);
}

#[test]
fn hidden_names_are_skipped_except_for_a_root() {
    let tree = tree();
    let filter = filter(|f| f.hidden = false);
    let (names, skipped) = left(&tree, filter.clone());
    assert_eq!(names, all_but(&[".git/config", ".hidden"]));
    assert_eq!(skipped.hidden, 2);
    let walked = found_with(&[tree.join(".git")], &walk::Options { filter, ..options() });
    assert_eq!(walked.files().len(), 1);
}

#[test]
fn size_limits_are_inclusive() {
    let tree = tree();
    for (min_size, max_size, taken) in [
        (0, u64::MAX, 11),
        (1, u64::MAX, 11),
        (3, 5, 3),
        (6, 6, 1),
        (0, 0, 0),
        (11, u64::MAX, 1),
        (12, u64::MAX, 0),
        (5, 4, 0),
    ] {
        let filter = filter(|f| (f.min_size, f.max_size) = (min_size, max_size));
        let (names, skipped) = left(&tree, filter);
        assert_eq!(names.len(), taken, "{min_size} to {max_size}");
        let counted = skipped.too_small + skipped.too_large + skipped.empty;
        assert_eq!((counted, skipped.empty), (12 - taken as u64, 1));
    }
    let small = filter(|f| (f.empty, f.max_size) = (true, 1));
    assert_eq!(left(&tree, small).0, ["a.txt", "empty"]);
    let filled = filter(|f| (f.empty, f.min_size) = (true, 1));
    assert_eq!(left(&tree, filled).0.len(), 11);
}

#[test]
fn invalid_patterns_are_reported() {
    for pattern in ["[", "a{b", "x[z-a]", "trailing \\"] {
        for (include, exclude) in
            [(vec![pattern.to_owned()], vec![]), (vec![], vec![pattern.to_owned()])]
        {
            let error = Filter::default().with_patterns(&include, &exclude).expect_err(pattern);
            assert_eq!(error.pattern, pattern);
            assert!(!error.reason.is_empty());
        }
    }
}

#[test]
fn names_in_invalid_utf8_are_matched_by_bytes() {
    let tree = TreeBuilder::new().file(b"\xff\xfe.bin", "1").file(b"d\xff/x", "2").make_temp();
    let walked = |include: &[&str], exclude: &[&str]| left(&tree, patterns(include, exclude)).0;
    assert_eq!(walked(&["*.bin"], &[]), [r"\xff\xfe.bin"]);
    assert_eq!(walked(&[], &["d*/x"]), [r"\xff\xfe.bin"]);
    assert_eq!(walked(&[], &["d?"]), [r"\xff\xfe.bin"]);
}

/// Returns whether the walk recorded the current version of the file `name` in the root as skipped.
fn is_left_out(tree: &TempTree, walked: &walk::Tree, name: &str) -> bool {
    let stat = fsops::Stat::of_path(&tree.join(name)).expect("metadata");
    let (mtime_ns, ctime_ns) = (stat.mtime_ns(), stat.ctime_ns);
    let file = Remembered { size: stat.size, inode: stat.inode, mtime_ns, ctime_ns };
    walked.left_out(walked.roots()[0].dir, name.as_bytes(), file)
}

#[test]
fn skipped_entries_are_recorded_by_name_or_version() {
    let tree = tree();
    let walk = |filter| found_with(&[&tree], &walk::Options { filter, ..options() });
    for (filter, out) in [
        (filter(|_| ()), &["empty"][..]),
        (filter(|f| f.max_size = 1), &["empty", "b.log", ".hidden", "[x]"]),
        (filter(|f| f.hidden = false), &["empty", ".hidden", ".git"]),
        (patterns(&["*.txt"], &["target"]), &["b.log", ".hidden", "[x]", "target", "empty"]),
    ] {
        let walked = walk(filter);
        for name in ["a.txt", "b.log", ".hidden", "[x]", "empty", "src", "target", ".git"] {
            assert_eq!(is_left_out(&tree, &walked, name), out.contains(&name), "{name}");
        }
        let nothing = Remembered { size: 0, inode: 0, mtime_ns: 0, ctime_ns: 0 };
        let root = walked.roots()[0].dir;
        let by_name = walked.left_out(root, b"empty", nothing);
        assert_eq!(by_name, out.contains(&"target"), "another version was not skipped");
        assert!(!walked.left_out(root, b"no such name", nothing));
    }
}
