//! Tests that read the results of processes. Shell scripts take the place of lop.

use action::plan::Kind;
use testkit::{TempTree, TreeBuilder};

use super::{Lop, Stop};

/// Returns a script that prints a document and an error record, and ends with the shell command `end`.
fn program(document: &str, error: &str, end: &str) -> (TempTree, Lop) {
    let temp = TempTree::new();
    let script = format!("#!/bin/sh\necho '{document}'\necho '{error}' >&2\n{end}\n");
    let _made =
        TreeBuilder::new().file("lop", script.as_str()).mode("lop", 0o755).make(temp.path());
    let lop = Lop::new(&temp.path().join("lop"), &temp.path().join("c.db"));
    (temp, lop)
}

fn file(temp: &TempTree) -> std::fs::File {
    runtime::unnamed_file(temp.path()).expect("a file")
}

#[test]
fn a_run_that_was_stopped_reports_what_it_has_done() {
    let document = r#"{"summary":{"run":4,"done":2,"failed":1,"freed_bytes":0}}"#;
    let error = r#"{"error":{"code":130,"message":"interrupted after 3 files"}}"#;
    let (temp, lop) = program(document, error, "kill -INT $$");
    let acted = lop.apply(file(&temp), &Stop::default(), &mut |_| {}).expect("a result");
    assert_eq!(acted.text, "Run 4: 2 files changed, 1 file left alone; interrupted");
    assert_eq!((acted.run, acted.done), (Some(4), 2));
    assert_eq!(acted.messages, ["interrupted after 3 files"]);
}

#[test]
fn a_process_that_was_killed_has_no_result() {
    let (temp, lop) = program("{}", "", "kill -KILL $$");
    let acted = lop.apply(file(&temp), &Stop::default(), &mut |_| {});
    assert_eq!(acted, Err("lop was killed".into()));
}

#[test]
fn an_incomplete_plan_says_why() {
    let error = r#"{"error":{"code":3,"message":"2 files changed since the scan"}}"#;
    let (temp, lop) = program(r#"{"summary":{}}"#, error, "exit 3");
    let plan = lop.plan(Kind::Hardlink, file(&temp), &Stop::default(), &mut |_| {});
    let plan = plan.expect("a plan");
    assert_eq!(
        (plan.len(), &plan.messages[..]),
        (0, &["2 files changed since the scan".into()][..])
    );
}

#[test]
fn an_incomplete_list_of_uniques_says_why() {
    let document =
        r#"{"files":[],"summary":{"files":3,"uniques":0,"bytes":0,"unknown":0,"problems":0}}"#;
    let error = r#"{"error":{"code":3,"message":"1 entry could not be examined"}}"#;
    let (_temp, lop) = program(document, error, "exit 3");
    let uniques = lop.uniques(b"/t", &Stop::default(), &mut |_| {}).expect("a list");
    assert!(!uniques.is_complete);
    assert_eq!(uniques.remarks, ["1 entry could not be examined"]);
}
