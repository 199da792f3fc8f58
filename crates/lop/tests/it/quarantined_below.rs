//! Files in quarantine below a directory that would be deleted. They would be lost with it.

use std::fs;

use serde_json::json;
use testkit::{NOBODY, TreeBuilder, is_root, skipped};

use crate::lop::{Lop, document};

/// Returns a directory with a quarantine. All other files in the directory have a copy outside it.
fn stored() -> Lop {
    let lop = Lop::with(
        &TreeBuilder::new()
            .file("d/a", "alike")
            .file("other/a", "alike")
            .file("d/sub/.lop-quarantine-0/run/1", "the only one")
            .file("d/sub/.lop-quarantine-0/run/2", "")
            .file("d/sub/.lop-quarantine-0/run/manifest.jsonl", "{}")
            .file("d/.lop-quarantine-0-run-7", "where no directory could be made"),
    );
    lop.remember(["d", "other"]);
    lop
}

const LINE: &str = "3 files are in quarantine there; list them with 'lop quarantine list'";

#[test]
fn a_folder_with_files_in_quarantine_is_not_reported_as_copied_elsewhere() {
    let lop = stored();
    for args in [&["uniques", "d"][..], &["contains", "d", "other"]] {
        let output = lop.run(args);
        output.code(3);
        let said = output.stderr_str();
        assert!(said.starts_with("1 of 4 files "), "{said}");
        assert!(said.contains(LINE), "{said}");
        let output = lop.command().args(args).arg("--json").run();
        let summary = document(&output)["summary"].clone();
        let numbers = ["files", "unknown", "quarantined"].map(|key| summary[key].clone());
        assert_eq!(numbers, [json!(4), json!(3), json!(3)], "{summary}");
    }
    // Files in quarantine do not matter if they are in the directory that is kept.
    lop.run(["contains", "other", "d"]).success();
    lop.run(["uniques", "other"]).success();
    // Now the directory contains only files in quarantine.
    fs::remove_file(lop.path("d/a")).expect("removed");
    lop.run(["uniques", "d"]).code(3);
    lop.run(["contains", "d", "other"]).code(3);
}

#[test]
fn an_unreadable_quarantine_is_reported() {
    if !is_root() {
        return skipped("only root can run the rest as a user without permissions");
    }
    let tree = TreeBuilder::new()
        .file("d/a", "alike")
        .file("other/a", "alike")
        .file("d/.lop-quarantine-0/run/1", "the only one")
        .mode("d/.lop-quarantine-0", 0o700);
    let lop = Lop::with(&tree);
    let nobody = |args: &[&str]| lop.command().args(args).as_user(NOBODY, NOBODY).run();
    nobody(&["scan", "."]).success();
    for args in [&["uniques", "d"][..], &["contains", "d", "other"]] {
        let output = nobody(args);
        output.code(3);
        let said = output.stderr_str();
        assert!(said.contains("d/.lop-quarantine-0: cannot "), "{said}");
    }
}

#[test]
fn a_scan_reports_what_it_skipped() {
    let lop = stored();
    let said = lop.scan(["d"]);
    let said = said.stdout_str();
    assert!(said.contains("Skipped   2 quarantine folders\n"), "{said}");
    assert_eq!(lop.scan_summary(["d"])["skipped"], json!({ "quarantine": 2 }));
}

#[test]
fn special_files_are_counted() {
    let tree = TreeBuilder::new().file("d/a", "alike").file("other/a", "alike").fifo("d/fifo");
    let lop = Lop::with(&tree.symlink("d/link", "a"));
    lop.remember(["."]);
    let output = lop.run(["uniques", "d"]);
    let said = output.success().stderr_str();
    let lines = "\n  1 symbolic link not counted\n  1 FIFO, socket or device not counted\n";
    assert!(said.ends_with(lines), "{said}");
    assert_eq!(lop.json(["uniques", "d"])["summary"]["special_files"], 1);
}
