//! Remembered roots: nested roots, adjacent roots, and their problems.

use std::fs;

use testkit::{TempTree, TreeBuilder};
use walk::{Problem, Reason};

use crate::disk::{bytes, ids};
use crate::sandbox::Sandbox;

fn tree() -> TempTree {
    TreeBuilder::new()
        .file("x/a", "alike")
        .file("x/inner/b", "alike")
        .file("x.old/c", "alike")
        .file("x0/d", "alike")
        .make_temp()
}

fn scanned(tree: &TempTree, scans: &[&[&str]]) -> Sandbox {
    let sandbox = Sandbox::new();
    for names in scans {
        let roots: Vec<_> = names.iter().map(|name| tree.join(*name)).collect();
        sandbox.scan(&roots.iter().map(AsRef::as_ref).collect::<Vec<_>>());
    }
    sandbox
}

/// Asserts that exactly these roots below the tree are remembered.
#[track_caller]
fn assert_roots(sandbox: &Sandbox, tree: &TempTree, expected: &[&str]) {
    let expected: Vec<Vec<u8>> = expected.iter().map(|name| bytes(&tree.join(*name))).collect();
    assert_eq!(sandbox.catalog().roots().expect("query succeeds"), expected);
}

#[test]
fn a_scan_of_a_nested_root_keeps_the_outer_root() {
    let tree = tree();
    assert_roots(&scanned(&tree, &[&["x"], &["x/inner"]]), &tree, &["x", "x/inner"]);
}

#[test]
fn a_scan_of_a_root_replaces_the_roots_inside_it() {
    let tree = tree();
    assert_roots(&scanned(&tree, &[&["x/inner"], &["x"]]), &tree, &["x"]);
}

#[test]
fn neighbours_with_a_common_prefix_are_kept() {
    let tree = tree();
    let sandbox = scanned(&tree, &[&["x.old", "x0"], &["x"], &["x"]]);
    assert_roots(&sandbox, &tree, &["x", "x.old", "x0"]);
    assert_eq!(sandbox.query("SELECT scan FROM root ORDER BY path"), ["3", "1", "1"]);
}

#[test]
fn files_of_nested_roots_are_found_once() {
    let tree = tree();
    let sandbox = Sandbox::new();
    let scan = sandbox.scan(&[&tree.join("x/inner"), &tree.join("x")]);
    assert_eq!(ids(&scan.tree).count(), 2);
    assert_eq!(sandbox.query("SELECT count(*) FROM file"), ["2"]);
    assert_eq!(sandbox.entry(&tree.join("x/inner/b")).expect("exists").copies, 2);
}

#[test]
fn roots_from_separate_scans_are_known_together() {
    let tree = tree();
    let sandbox = scanned(&tree, &[&["x/inner"], &["x0"]]);
    let both = sandbox.scan(&[&tree.join("x"), &tree.join("x0")]);
    assert_eq!(both.known(), ["b", "d"]);
}

#[test]
fn missing_files_outside_the_roots_are_kept() {
    let tree = tree();
    let sandbox = scanned(&tree, &[&["x", "x0"]]);
    for name in ["x/a", "x/inner/b", "x0/d"] {
        fs::remove_file(tree.join(name)).expect("removed");
    }
    sandbox.scan(&[&tree.join("x/inner")]);
    let is_there = |name: &str| sandbox.entry(&tree.join(name)).is_some();
    assert_eq!(["x/a", "x/inner/b", "x0/d"].map(is_there), [true, false, true]);
}

/// Scans `root` and reports a problem at each of `paths`.
fn scan_with_problems(sandbox: &Sandbox, root: &std::path::Path, paths: &[Vec<u8>]) {
    let problem = |path: &Vec<u8>| Problem { path: path.clone(), reason: Reason::Short };
    let problems: Vec<Problem> = paths.iter().map(problem).collect();
    let problems: Vec<&Problem> = problems.iter().collect();
    sandbox.try_scan(&[root], &problems, || ()).expect("commits");
}

#[test]
fn problems_of_a_root_are_those_of_its_last_scan() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    let path = |name: &str| bytes(&tree.join(name));
    let problems = || sandbox.query("SELECT path FROM problem ORDER BY path");
    scan_with_problems(&sandbox, &tree.join("x0"), &[path("x0/p")]);
    scan_with_problems(&sandbox, &tree.join("x"), &[path("x/p"), path("x/q")]);
    scan_with_problems(&sandbox, &tree.join("x"), &[path("x/q")]);
    assert_eq!(problems(), ["x/q", "x0/p"].map(|name| tree.join(name).display().to_string()));
    assert_eq!(sandbox.query("SELECT problems FROM scan"), ["1", "2", "1"]);
    assert_eq!(sandbox.query("SELECT DISTINCT reason FROM problem"), [Reason::Short.to_string()]);
}

#[test]
fn problems_outside_the_roots_are_recorded_once() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    for _ in 0..2 {
        scan_with_problems(&sandbox, &tree.join("x"), &[bytes(&tree.join("missing"))]);
    }
    assert_eq!(sandbox.query("SELECT scan FROM problem"), ["2"]);
}

#[test]
fn a_root_given_by_a_link_is_remembered_by_its_real_path() {
    let tree = TreeBuilder::new().file("x/a", "alike").symlink("link", "x").make_temp();
    let sandbox = Sandbox::new();
    let link = tree.join("link");
    scan_with_problems(&sandbox, &link, &[bytes(&link.join("p"))]);
    assert_roots(&sandbox, &tree, &["x"]);
    let real = tree.join("x/p").display().to_string();
    assert_eq!(sandbox.query("SELECT path FROM problem"), [real]);
}
