//! Partial scans: files elsewhere stay in the catalog, and groups span files from different scans.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use testkit::{
    Groups, NOBODY, TreeBuilder, assert_groups, groups_of, is_root, naive_groups, relative_to,
    skipped,
};

use crate::lop::{Lop, assert_exit_record, settle};

fn tree() -> TreeBuilder {
    TreeBuilder::new()
        .file("one/a", "alike")
        .file("one/sub/b", "alike")
        .file("one/sub/alone", "single")
        .file("two/c", "alike")
        .file("two/d", "in two")
        .file("three/e", "in two")
}

#[track_caller]
fn assert_truth(lop: &Lop) {
    assert_groups(&relative_to(lop.work(), &naive_groups(lop.work())), &lop.report());
}

fn remembered(lop: &Lop) -> Vec<String> {
    let database = lop.database();
    let mut query = database.prepare("SELECT path FROM files ORDER BY path").expect("a query");
    let rows = query.query_map([], |row| row.get::<_, String>(0)).expect("rows");
    let prefix = format!("{}/", lop.work().display());
    rows.map(|row| row.expect("a path").trim_start_matches(&prefix).to_string()).collect()
}

#[test]
fn roots_scanned_at_different_times_have_common_groups() {
    let lop = Lop::with(&tree());
    for root in ["two", "one", "three"] {
        lop.remember([root]);
    }
    assert_truth(&lop);
    assert!(lop.run(["file", "one/a"]).stdout_str().starts_with("one/a: 2 duplicates, 5 B\n"));
    assert_eq!(lop.listed(["uniques", "one"], 6), ["one/sub/alone"]);
    assert_eq!(lop.listed(["dups", "three"], 0), ["three/e"]);
    for root in ["one", "two", "three"] {
        lop.scan_figures([root]).assert_nothing_read();
    }
    lop.scan_figures(["."]).assert_nothing_read();
    assert_truth(&lop);
}

#[test]
fn a_scan_counts_copies_outside_of_what_it_scans() {
    let lop = Lop::with(&tree());
    lop.remember(["one"]);
    let summary = lop.scan_summary(["two"]);
    assert_eq!((&summary["groups"], &summary["elsewhere"]), (&0.into(), &1.into()));
    let output = lop.scan(["three"]);
    let said = output.stdout_str();
    assert!(said.contains("Elsewhere 1 file with copies outside of what was scanned\n"), "{said}");
}

#[test]
fn a_subdirectory_scanned_again_replaces_only_what_is_under_it() {
    let lop = Lop::with(&tree());
    lop.remember(["."]);
    fs::remove_file(lop.path("one/sub/b")).expect("removed");
    fs::remove_file(lop.path("one/a")).expect("removed");
    fs::write(lop.path("one/sub/new"), "in two").expect("written");
    fs::write(lop.path("two/new"), "in two").expect("written");
    settle();
    lop.remember(["one/sub"]);
    assert_groups(&groups_of([["one/sub/new", "three/e", "two/d"]]), &lop.report());
    let expected = ["one/a", "one/sub/alone", "one/sub/new", "three/e", "two/c", "two/d"];
    assert_eq!(remembered(&lop), expected, "one/a and two are as they were");
    lop.remember(["one"]);
    assert_eq!(remembered(&lop), expected[1..]);
    lop.remember(["two"]);
    assert_truth(&lop);
}

#[test]
fn a_parent_scanned_later_takes_its_parts_in() {
    let lop = Lop::with(&tree());
    lop.remember(["one/sub"]);
    lop.remember(["two"]);
    lop.remember(["."]);
    assert_truth(&lop);
    let roots: i64 = lop
        .database()
        .query_row("SELECT count(*) FROM root", [], |row| row.get(0))
        .expect("a count");
    assert_eq!(roots, 1);
    lop.scan_figures(["."]).assert_nothing_read();
}

#[test]
fn a_copy_found_later_gives_an_old_file_its_group() {
    // The old file was not read, because no other file had the same size.
    let lop =
        Lop::with(&TreeBuilder::new().seeded("one/old", 1, 70_000).seeded("two/new", 1, 70_000));
    let figures = lop.scan_figures(["one"]);
    figures.assert_nothing_read();
    lop.remember(["two"]);
    assert_truth(&lop);
    lop.scan_figures(["one"]).assert_nothing_read();
    assert_truth(&lop);
}

/// Files are scanned while a disk with copies of them is unmounted. The disk is mounted again
/// later.
#[test]
fn files_on_an_absent_disk_are_found_again_when_it_is_mounted() {
    let mut tree = TreeBuilder::new();
    for place in ["disk", "home"] {
        // Pairs, which get a digest, and single files that differ only after their first blocks.
        for n in 0..2 {
            tree = tree.seeded(format!("{place}/twice {n}"), 1, 5000);
            tree = tree.seeded(format!("{place}/large {n}"), 1, 200_000);
            tree = tree.differing(format!("{place}/unlike {n}"), 2, 90_000, 89_999, n);
            tree = tree.sparse(format!("{place}/hole {n}"), 1 << 33, &[(1 << 32, &[n + 1])]);
        }
        tree = tree.sparse(format!("{place}/hole alike"), 1 << 33, &[(1 << 32, &[1])]);
    }
    let lop = Lop::with(&tree);
    let (disk, away) = (lop.path("disk"), lop.path("away"));
    let expected = groups_of([
        vec!["disk/twice 0", "disk/twice 1", "home/twice 0", "home/twice 1"],
        vec!["disk/large 0", "disk/large 1", "home/large 0", "home/large 1"],
        vec!["disk/unlike 0", "home/unlike 0"],
        vec!["disk/unlike 1", "home/unlike 1"],
        vec!["disk/hole 0", "disk/hole alike", "home/hole 0", "home/hole alike"],
        vec!["disk/hole 1", "home/hole 1"],
    ]);
    lop.remember(["disk"]);
    fs::rename(&disk, &away).expect("renamed");
    lop.remember(["home"]);
    fs::rename(&away, &disk).expect("renamed back");
    lop.remember(["disk"]);
    assert_groups(&expected, &lop.report());
    lop.scan_figures(["."]).assert_nothing_read();
    assert_groups(&expected, &lop.report());
}

#[test]
fn changes_of_files_outside_are_no_problem_of_a_scan() {
    let tree = TreeBuilder::new()
        .seeded("one/gone", 1, 50)
        .seeded("one/changed", 2, 60)
        .seeded("one/dir/gone", 3, 70)
        .seeded("two/a", 1, 50)
        .seeded("two/b", 2, 60)
        .seeded("two/c", 3, 70);
    let lop = Lop::with(&tree);
    lop.remember(["one"]);
    fs::remove_file(lop.path("one/gone")).expect("removed");
    fs::write(lop.path("one/changed"), [7; 60]).expect("written");
    fs::remove_dir_all(lop.path("one/dir")).expect("removed");
    settle();
    let output = lop.scan(["two"]);
    assert_eq!(output.stderr_str(), "");
    assert_groups(&Groups::new(), &lop.report());
    assert_eq!(lop.listed(["uniques", "two"], 6), ["two/a", "two/b", "two/c"]);
}

#[test]
fn copies_outside_that_are_gone_or_changed_are_not_announced() {
    let tree = TreeBuilder::new()
        .file("one/gone", "gone")
        .file("one/gone 2", "gone")
        .file("one/changed", "changed")
        .file("one/changed 2", "changed")
        .file("two/a", "gone")
        .file("two/b", "changed");
    let lop = Lop::with(&tree);
    lop.remember(["one"]);
    for name in ["one/gone", "one/gone 2"] {
        fs::remove_file(lop.path(name)).expect("removed");
    }
    for name in ["one/changed", "one/changed 2"] {
        fs::write(lop.path(name), "CHANGED").expect("written");
    }
    settle();
    let summary = lop.scan_summary(["two"]);
    assert_eq!(summary["elsewhere"], 0, "{summary}");
}

#[test]
fn an_old_name_outside_does_not_say_what_its_file_is_now() {
    let tree =
        TreeBuilder::new().hard_links("old one", &["a/name", "d/name"]).file("f/old", "old one");
    let lop = Lop::with(&tree.file("f/new", "new one"));
    lop.remember(["."]);
    settle();
    fs::write(lop.path("a/name"), "new one").expect("written");
    settle();
    lop.remember(["d"]);
    assert_groups(&groups_of([["d/name", "f/new"]]), &lop.report());
    lop.remember(["."]);
    assert_truth(&lop);
}

#[test]
fn a_directory_that_became_unreadable_keeps_its_rows() {
    if !is_root() {
        return skipped("only root can run the rest as a user without permissions");
    }
    let lop = Lop::with(&tree());
    let as_nobody = |args: &[&str]| lop.command().args(args).as_user(NOBODY, NOBODY).run();
    as_nobody(&["scan", "."]).success();
    let all = remembered(&lop);
    fs::set_permissions(lop.path("one/sub"), Permissions::from_mode(0o0)).expect("locked");
    fs::write(lop.path("one/new"), "new").expect("written");
    let output = as_nobody(&["scan", "--json", "."]);
    assert_exit_record(&output, 3);
    let said = output.stderr_str();
    assert!(said.contains("lop: ./one/sub: cannot list: Permission denied\n"), "{said}");
    let mut expected = all.clone();
    expected.push("one/new".into());
    expected.sort();
    assert_eq!(remembered(&lop), expected);
    let reason: String = lop
        .database()
        .query_row("SELECT reason FROM problem", [], |row| row.get(0))
        .expect("one problem");
    assert!(reason.contains("Permission denied"), "{reason}");
    fs::set_permissions(lop.path("one/sub"), Permissions::from_mode(0o755)).expect("unlocked");
    as_nobody(&["scan", "."]).success();
    assert_truth(&lop);
    let problems: i64 = lop
        .database()
        .query_row("SELECT count(*) FROM problem", [], |row| row.get(0))
        .expect("a count");
    assert_eq!(problems, 0);
}

#[test]
fn an_unreadable_file_is_named_and_is_in_no_group() {
    if !is_root() {
        return skipped("only root can run the rest as a user without permissions");
    }
    let lop = Lop::with(&tree().mode("two/c", 0));
    for _ in 0..2 {
        let output = lop.command().args(["scan", "."]).as_user(NOBODY, NOBODY).run();
        output.code(3);
        let said = output.stderr_str();
        assert!(said.contains("lop: ./two/c: cannot open: Permission denied\n"), "{said}");
        let expected = groups_of([["one/a", "one/sub/b"], ["three/e", "two/d"]]);
        assert_groups(&expected, &lop.report());
    }
    fs::set_permissions(lop.path("two/c"), Permissions::from_mode(0o644)).expect("unlocked");
    settle();
    lop.command().args(["scan", "."]).as_user(NOBODY, NOBODY).run().success();
    assert_truth(&lop);
}
