//! The paths that a scan accepts: directories and files, which may be repeated, nested, or reached through links. Also
//! checks how paths are printed and stored.

use testkit::{
    Groups, Rules, TreeBuilder, assert_groups, groups_of, naive_truth, parse_nul, relative_to,
};

use crate::lop::{Lop, assert_exit_record, document};

#[track_caller]
fn found(lop: &Lop, roots: &[&str]) -> Groups {
    let output = lop.command().args(["scan", "--no-catalog", "--format", "nul"]).args(roots).run();
    output.success();
    parse_nul(&output.stdout)
}

fn two_dirs() -> TreeBuilder {
    TreeBuilder::new()
        .file("one/a", "alike")
        .file("one/sub/b", "alike")
        .file("two/c", "alike")
        .file("two/d", "other")
}

#[test]
fn the_current_directory_is_the_default() {
    let lop = Lop::with(&two_dirs());
    let expected = groups_of([["./one/a", "./one/sub/b", "./two/c"]]);
    assert_groups(&expected, &found(&lop, &[]));
    assert_groups(&expected, &found(&lop, &["."]));
}

#[test]
fn paths_are_printed_as_they_were_given_and_remembered_absolute() {
    let lop = Lop::with(&two_dirs());
    assert_groups(&groups_of([["one/a", "one/sub/b"]]), &found(&lop, &["one"]));
    assert_groups(&groups_of([["one/a", "one/sub/b"]]), &found(&lop, &["one/"]));
    assert_groups(&groups_of([["./one/a", "./one/sub/b"]]), &found(&lop, &["./one"]));
    assert_groups(
        &groups_of([["two/../one/a", "two/../one/sub/b"]]),
        &found(&lop, &["two/../one"]),
    );
    let absolute = lop.path("one").to_str().expect("UTF-8").to_string();
    let expected = groups_of([["one/a", "one/sub/b"]]);
    assert_groups(&expected, &relative_to(lop.work(), &found(&lop, &[&absolute])));
    lop.remember(["two/../one/"]);
    assert_groups(&expected, &lop.report());
    let root: Vec<u8> =
        lop.database().query_row("SELECT path FROM root", [], |row| row.get(0)).expect("a root");
    assert_eq!(root, absolute.as_bytes());
}

#[test]
fn a_root_given_twice_or_inside_another_counts_once() {
    let lop = Lop::with(&two_dirs());
    for roots in [
        &["one", "one"][..],
        &["one", "./one"],
        &["one", "one/sub"],
        &["one/sub", "one"],
        &["one", "one/a"],
        &["one/a", "one/sub/b", "one", "one/sub/b"],
        &["one", "two/../one"],
    ] {
        let groups = found(&lop, roots);
        assert_eq!(groups.len(), 1, "{roots:?}: {groups:?}");
        let names: Vec<_> = groups.iter().flatten().collect();
        assert_eq!(names.len(), 2, "{roots:?}: {groups:?}");
        let summary = lop.scan_summary(roots);
        assert_eq!((&summary["files"], &summary["redundant_files"]), (&2.into(), &1.into()));
        assert!(summary["skipped"]["seen_before"].as_u64() >= Some(1), "{summary}");
        assert_groups(&groups_of([["one/a", "one/sub/b"]]), &lop.report());
    }
}

#[test]
fn a_link_given_as_root_is_followed_and_links_below_are_not() {
    let tree = two_dirs().symlink("link", "one").symlink("two/into one", "../one");
    let lop = Lop::with(&tree);
    assert_groups(&groups_of([["link/a", "link/sub/b"]]), &found(&lop, &["link"]));
    assert_groups(&groups_of([["link/a", "link/sub/b"]]), &found(&lop, &["link/"]));
    assert_groups(&Groups::new(), &found(&lop, &["two"]));
    let both = found(&lop, &["one", "link"]);
    assert_eq!(both.iter().flatten().count(), 2, "one directory by two names: {both:?}");
    lop.remember(["link"]);
    assert_groups(&groups_of([["one/a", "one/sub/b"]]), &lop.report());
}

#[test]
fn single_files_can_be_named() {
    let lop = Lop::with(&two_dirs());
    let expected = groups_of([["one/a", "two/c"]]);
    assert_groups(&expected, &found(&lop, &["one/a", "two/c", "two/d"]));
    assert_groups(&groups_of([["one/a", "two/c"]]), &found(&lop, &["two", "one/a"]));
    let output = lop.command().cwd("one").args(["scan", "--format", "nul", "a", "sub/b"]).run();
    output.success();
    assert_groups(&groups_of([["a", "sub/b"]]), &parse_nul(&output.stdout));
    assert_groups(&groups_of([["one/a", "one/sub/b"]]), &lop.report());
}

#[test]
fn several_roots_are_one_answer() {
    let lop = Lop::with(&two_dirs());
    let expected = groups_of([["one/a", "one/sub/b", "two/c"]]);
    assert_groups(&expected, &found(&lop, &["one", "two"]));
    assert_groups(&expected, &found(&lop, &["two", "one"]));
    let truth = naive_truth(&[lop.path("one"), lop.path("two")], Rules::default());
    assert_groups(&relative_to(lop.work(), &truth.groups), &expected);
}

#[test]
fn a_root_that_is_missing_is_named_and_the_others_are_done() {
    let lop = Lop::with(&two_dirs());
    let output = lop.run(["scan", "--format", "nul", "one", "nowhere", "two/nothing"]);
    output.code(3);
    assert_groups(&groups_of([["one/a", "one/sub/b"]]), &parse_nul(&output.stdout));
    let said = output.stderr_str();
    for name in ["nowhere", "two/nothing"] {
        let line = format!("lop: {name}: No such file or directory\n");
        assert!(said.contains(&line), "{said}");
    }
    assert!(said.contains("Problems  2 entries could not be examined"), "{said}");
    assert_groups(&groups_of([["one/a", "one/sub/b"]]), &lop.report());
}

#[test]
fn a_scan_of_nothing_but_missing_roots_fails_and_makes_no_catalog() {
    let lop = Lop::with(&two_dirs());
    let output = lop.run(["scan", "--json", "nowhere", "two/nothing"]);
    assert_exit_record(&output, 1);
    assert!(output.stderr_str().starts_with("lop: nowhere: No such file or directory\n"));
    assert!(!lop.catalog().exists());
    lop.run(["scan", "--no-catalog", "nowhere"]).code(1);
    lop.remember(["one"]);
    lop.run(["scan", "nowhere"]).code(1);
    let scans: i64 = lop
        .database()
        .query_row("SELECT count(*) FROM scan", [], |row| row.get(0))
        .expect("a count");
    assert_eq!(scans, 1);
}

#[test]
fn entries_of_a_missing_root_are_kept() {
    let lop = Lop::with(&two_dirs());
    lop.remember(["one", "two"]);
    std::fs::rename(lop.path("two"), lop.path("away")).expect("renamed");
    lop.run(["scan", "one", "two"]).code(3);
    std::fs::rename(lop.path("away"), lop.path("two")).expect("renamed back");
    assert_groups(&groups_of([["one/a", "one/sub/b", "two/c"]]), &lop.report());
}

#[test]
fn problems_are_remembered_by_absolute_paths_and_once() {
    let lop = Lop::with(&two_dirs());
    let problems = || -> Vec<(Vec<u8>, i64)> {
        let database = lop.database();
        let mut query =
            database.prepare("SELECT path, scan FROM problem ORDER BY path").expect("a query");
        let rows = query.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
        rows.and_then(Iterator::collect).expect("rows")
    };
    let path = |name: &str| lop.path(name).to_str().expect("UTF-8").as_bytes().to_vec();
    for scan in 1..=3 {
        lop.run(["scan", "one", ".nowhere", "two/gone"]).code(3);
        assert_eq!(problems(), [(path(".nowhere"), scan), (path("two/gone"), scan)]);
    }
    lop.command().args(["scan", "--files-from", "-"]).stdin("two/gone\none/a\n").run().code(3);
    assert_eq!(problems(), [(path(".nowhere"), 3), (path("two/gone"), 4)]);
    lop.remember(["."]);
    assert_eq!(problems(), []);
}

#[test]
fn roots_that_are_neither_files_nor_directories_are_skipped_unopened() {
    let tree = two_dirs().fifo("fifo").socket("socket");
    let lop = Lop::with(&tree);
    let output = lop.run(["scan", "--json", "one", "fifo", "socket"]);
    output.success();
    let skipped = &document(&output)["summary"]["skipped"];
    assert_eq!((&skipped["fifos"], &skipped["sockets"]), (&1.into(), &1.into()));
}

#[test]
fn a_link_to_a_file_given_as_path_is_followed_and_a_dangling_one_is_named() {
    let lop = Lop::with(&two_dirs().symlink("link", "two/c").symlink("dangling", "nowhere"));
    let output = lop.run(["scan", "--no-catalog", "--format", "nul", "one/a", "link"]);
    output.success();
    // A link is not its target, so the output must not show the link as a file.
    let target = lop.sandbox.work().join("two/c").canonicalize().expect("two/c is there");
    let target = target.into_os_string().into_encoded_bytes();
    assert_groups(&groups_of([[target, b"one/a".to_vec()]]), &parse_nul(&output.stdout));
    let output = lop.run(["scan", "--no-catalog", "one", "dangling"]);
    output.code(3);
    assert!(output.stderr_str().contains("lop: dangling: "), "{}", output.stderr_str());
}
