//! `lop scan --files-from`: lines, NULs, standard input, and skipped entries.

use testkit::{TreeBuilder, assert_groups, groups_of, parse_nul};

use crate::lop::{Lop, assert_exit_record};

fn tree() -> TreeBuilder {
    TreeBuilder::new()
        .file("a", "alike")
        .file("b", "alike")
        .file("d/c", "alike")
        .file("d/new\nline", "alike")
        .file(b"d/\xff", "alike")
        .file("e", "other")
}

#[test]
fn a_list_of_lines_comes_from_a_file_or_from_standard_input() {
    let lop = Lop::with(&tree().file("list", "a\nd/c\n\nb\na\n"));
    let scan = ["scan", "--no-catalog", "--format", "nul", "--files-from"];
    let expected = groups_of([["a", "b", "d/c"]]);
    let output = lop.command().args(scan).arg("list").run();
    output.success();
    assert_groups(&expected, &parse_nul(&output.stdout));
    // The last line needs no newline.
    let output = lop.command().args(scan).arg("-").stdin("a\nd/c\n\nb\na").run();
    output.success();
    assert_groups(&expected, &parse_nul(&output.stdout));
}

#[test]
fn a_list_of_nuls_carries_every_name() {
    let lop = Lop::with(&tree());
    let list = &b"d/new\nline\0d/\xff\0e\0"[..];
    let expected = groups_of([[&b"d/\xff"[..], b"d/new\nline"]]);
    for null in ["-0", "--null"] {
        let scan = ["scan", "--no-catalog", "--format", "nul", "--files-from", "-", null];
        let output = lop.command().args(scan).stdin(list).run();
        output.success();
        assert_groups(&expected, &parse_nul(&output.stdout));
    }
}

#[test]
fn directories_in_a_list_are_not_entered_and_missing_files_are_named() {
    let lop = Lop::with(&tree());
    let scan = ["scan", "--format", "fdupes", "--files-from", "-"];
    let output = lop.command().args(scan).stdin("d\na\nb\nnowhere\n").run();
    output.code(3);
    assert_eq!(output.stdout_str(), "a\nb\n");
    let said = output.stderr_str();
    assert!(said.contains("lop: nowhere: No such file or directory\n"), "{said}");
}

#[test]
fn directories_and_others_in_a_list_are_counted() {
    let lop = Lop::with(&tree().dir("empty").symlink("link", "a").fifo("fifo"));
    let scan = ["scan", "--files-from", "-"];
    let list = "d\nempty\nlink\nfifo\n";
    let output = lop.command().args(scan).stdin(list).run();
    output.success();
    let said = output.stdout_str();
    assert!(said.starts_with("Scanned   0 files"), "{said}");
    let line = "Skipped   2 directories in the list, 1 symbolic link, 1 FIFO\n";
    assert!(said.ends_with(line), "{said}");
    let output = lop.command().args(scan).arg("--json").stdin(list).run();
    let skipped = &crate::lop::document(&output)["summary"]["skipped"];
    assert_eq!(*skipped, serde_json::json!({ "dirs": 2, "symlinks": 1, "fifos": 1 }));
    let output = lop.command().args(["dedupe", "--by", "delete", "--files-from", "-"]).stdin(list);
    let output = output.run();
    let said = output.success().stderr_str();
    assert!(said.starts_with("lop: 2 directories in the list were not entered\n"), "{said}");
}

#[test]
fn the_selection_applies_to_lists_too() {
    let lop = Lop::with(&tree().file(".a", "alike").file("empty 1", "").file("empty 2", ""));
    let list = "a\nb\n.a\nd/c\nempty 1\nempty 2\n";
    let run = |options: &[&str]| {
        let scan = ["scan", "--no-catalog", "--format", "fdupes", "--files-from", "-"];
        let output = lop.command().args(scan).args(options).stdin(list).run();
        output.success();
        output.stdout_str().to_string()
    };
    assert_eq!(run(&[]), ".a\na\nb\nd/c\n");
    assert_eq!(run(&["--no-hidden", "--exclude", "c"]), "a\nb\n");
    assert_eq!(run(&["--min-size", "6"]), "");
    assert_eq!(run(&["--empty", "--max-size", "4"]), "empty 1\nempty 2\n");
}

#[test]
fn an_empty_list_is_an_empty_scan() {
    let lop = Lop::with(&tree());
    let summary = lop.scan_summary(["--files-from", "-"]);
    assert_eq!((&summary["files"], &summary["groups"]), (&0.into(), &0.into()));
    lop.assert_whole_catalog();
}

#[test]
fn a_list_that_cannot_be_read_fails_and_leaves_no_catalog() {
    let lop = Lop::with(&tree());
    for list in ["nowhere", "d"] {
        let output = lop.run(["scan", "--json", "--files-from", list]);
        assert_exit_record(&output, 1);
        let said = output.stderr_str();
        assert!(said.starts_with(&format!("lop: cannot read the list {list}: ")), "{said}");
    }
    assert!(!lop.catalog().exists());
}

#[test]
fn a_list_conflicts_with_paths_and_nul_needs_a_list() {
    let lop = Lop::with(&tree());
    lop.run(["scan", "--files-from", "-", "d"]).code(2);
    lop.run(["scan", "-0", "d"]).code(2);
    lop.run(["scan", "-0"]).code(2);
}

#[test]
fn a_list_leaves_other_rows_alone() {
    let lop = Lop::with(&tree());
    lop.remember(["."]);
    let all = groups_of([[&b"a"[..], b"b", b"d/c", b"d/\xff", b"d/new\nline"]]);
    assert_groups(&all, &lop.report());
    lop.command().args(["scan", "--files-from", "-"]).stdin("a\ne\n").run().success();
    assert_groups(&all, &lop.report());
    // A file that appears in a second list is examined again. Other files in its directory stay in the catalog.
    std::fs::write(lop.path("a"), "Alike").expect("written");
    lop.command().args(["scan", "--files-from", "-"]).stdin("a\n").run().success();
    let rest = groups_of([[&b"b"[..], b"d/c", b"d/\xff", b"d/new\nline"]]);
    assert_groups(&rest, &lop.report());
    let files: i64 = lop
        .database()
        .query_row("SELECT count(*) FROM file", [], |row| row.get(0))
        .expect("a count");
    assert_eq!(files, 6);
}

#[test]
fn a_list_alone_can_fill_a_catalog() {
    let lop = Lop::with(&tree());
    lop.command().args(["scan", "--files-from", "-"]).stdin("d/c\na\n").run().success();
    assert_groups(&groups_of([["a", "d/c"]]), &lop.report());
    lop.command().args(["scan", "--files-from", "-"]).stdin("b\n").run().success();
    assert_groups(&groups_of([["a", "b", "d/c"]]), &lop.report());
}

#[test]
fn each_path_of_a_list_is_printed_as_it_was_given() {
    let lop = Lop::with(&tree());
    let scan = ["scan", "--no-catalog", "--format", "nul", "--files-from", "-"];
    let output = lop.command().args(scan).stdin("a\nd/c\n./b\nd/../e\n").run();
    output.success();
    assert_groups(&groups_of([["a", "d/c", "./b"]]), &parse_nul(&output.stdout));
}
