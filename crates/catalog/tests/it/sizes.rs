//! The sizes of directories that earlier scans stored.

use std::path::Path;

use catalog::ScanSizes;
use testkit::{TempTree, TreeBuilder};

use crate::disk::{bytes, walked};
use crate::engine::compare;
use crate::sandbox::{Sandbox, later, match_tree, record};

fn tree() -> TempTree {
    TreeBuilder::new().file("x/a", "alike").file("y/b", "alike").make_temp()
}

fn sizes(root: &Path, data: &str) -> ScanSizes {
    ScanSizes { root: bytes(root), data: data.into() }
}

/// Scans a root and commits these sizes.
fn scan(sandbox: &Sandbox, root: &Path, sizes: &[ScanSizes]) {
    let (writer, mut tree) = (sandbox.writer(), walked(&[root]));
    let found = match_tree(&writer, &mut tree);
    let copies = compare(&tree, &found.fingerprints);
    writer.commit(&tree, found, copies.into_iter(), &[], &record(later()), sizes).expect("commits");
}

/// Returns the sizes of a root that are stored, newest first.
fn stored(sandbox: &Sandbox, root: &Path) -> Vec<(i64, String)> {
    let (catalog, root) = (sandbox.catalog(), bytes(root));
    let scans = catalog.scan_sizes(&root).expect("reads");
    let data = |scan| catalog.scan_size_data(scan, &root).expect("reads").expect("is there");
    let text = |scan| String::from_utf8(data(scan)).expect("text");
    scans.into_iter().map(|sized| (sized.scan, text(sized.scan))).collect()
}

fn pairs(expected: &[(i64, &str)]) -> Vec<(i64, String)> {
    expected.iter().map(|&(scan, data)| (scan, data.to_string())).collect()
}

#[test]
fn a_scan_stores_sizes_that_changed() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    let root = tree.path();
    for data in ["one", "one", "two", "one"] {
        scan(&sandbox, root, &[sizes(root, data)]);
    }
    assert_eq!(stored(&sandbox, root), pairs(&[(4, "one"), (3, "two"), (1, "one")]));
}

#[test]
fn sizes_have_the_time_of_their_scan() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    scan(&sandbox, tree.path(), &[sizes(tree.path(), "one")]);
    let finished = sandbox.query("SELECT finished_ms FROM scan");
    let sized = sandbox.catalog().scan_sizes(&bytes(tree.path())).expect("reads");
    assert_eq!(sized.iter().map(|s| s.finished_ms.to_string()).collect::<Vec<_>>(), finished);
}

#[test]
fn roots_have_separate_sizes() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    let (x, y) = (tree.join("x"), tree.join("y"));
    scan(&sandbox, &x, &[sizes(&x, "one")]);
    scan(&sandbox, &y, &[sizes(&y, "one")]);
    scan(&sandbox, &x, &[sizes(&x, "one")]);
    assert_eq!(stored(&sandbox, &x), pairs(&[(1, "one")]));
    assert_eq!(stored(&sandbox, &y), pairs(&[(2, "one")]));
}

#[test]
fn sizes_of_a_root_that_was_not_scanned_are_left_out() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    let (x, y) = (tree.join("x"), tree.join("y"));
    scan(&sandbox, &x, &[sizes(&y, "one"), sizes(&x.join("a"), "one")]);
    assert_eq!(sandbox.query("SELECT count(*) FROM scan_space"), ["0"]);
}

#[test]
fn sizes_of_old_scans_are_thinned_out() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    let root = tree.path();
    for data in 0..12 {
        scan(&sandbox, root, &[sizes(root, &data.to_string())]);
        sandbox.run("UPDATE scan SET finished_ms = finished_ms - 86400000");
    }
    let numbers: Vec<i64> = stored(&sandbox, root).into_iter().map(|(scan, _)| scan).collect();
    assert_eq!(numbers[..4], [12, 11, 10, 9]);
    assert_eq!(numbers.last(), Some(&1));
    assert!(numbers.len() < 12, "{numbers:?}");
}

#[test]
fn the_sizes_of_a_forgotten_root_are_forgotten() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    let (x, y) = (tree.join("x"), tree.join("y"));
    scan(&sandbox, &x, &[sizes(&x, "one")]);
    scan(&sandbox, &y, &[sizes(&y, "one")]);
    sandbox.writer().forget_below(&bytes(&x)).expect("forgets");
    assert_eq!(stored(&sandbox, &x), []);
    assert_eq!(stored(&sandbox, &y), pairs(&[(2, "one")]));
    sandbox.writer().forget_below(&bytes(tree.path())).expect("forgets");
    assert_eq!(stored(&sandbox, &y), []);
}

#[test]
fn sizes_that_were_not_stored_are_none() {
    let (sandbox, tree) = (Sandbox::new(), tree());
    sandbox.scan(&[tree.path()]);
    let data = sandbox.catalog().scan_size_data(1, &bytes(tree.path()));
    assert_eq!(data.expect("reads"), None);
}
