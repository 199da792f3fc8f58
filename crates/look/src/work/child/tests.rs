//! Tests that read the results of processes. Shell scripts take the place of lop.

use action::plan::Kind;
use testkit::TempTree;

use super::{Acted, Lop, Stop};
use crate::tests::install;

/// Returns a script that prints a document and an error record, and ends with the shell command `end`.
fn program(document: &str, error: &str, end: &str) -> (TempTree, Lop) {
    let temp = TempTree::new();
    let script = format!("#!/bin/sh\necho '{document}'\necho '{error}' >&2\n{end}\n");
    let lop = Lop::new(&install(&script, temp.path()), &temp.path().join("c.db"));
    (temp, lop)
}

fn file(temp: &TempTree) -> std::fs::File {
    runtime::unnamed_file(temp.path()).expect("a file")
}

fn apply(temp: &TempTree, lop: Lop, kind: Kind) -> Result<Acted, String> {
    lop.apply(kind, file(temp), &Stop::default(), &mut |_| {})
}

#[test]
fn a_run_that_was_stopped_reports_what_it_has_done() {
    let document = r#"{"summary":{"run":4,"done":2,"failed":1,"freed_bytes":0}}"#;
    let error = r#"{"error":{"code":130,"message":"interrupted after 3 files"}}"#;
    let (temp, lop) = program(document, error, "kill -INT $$");
    let acted = apply(&temp, lop, Kind::Hardlink).expect("a result");
    assert_eq!(acted.text, "Run 4: 2 files changed, 1 file left alone; interrupted");
    assert_eq!((acted.run, acted.done), (Some(4), 2));
    assert_eq!(acted.messages, ["interrupted after 3 files"]);
}

#[test]
fn a_second_stop_does_not_cut_off_the_result() {
    // The script reports progress before and after the first signal, and each report causes a stop.
    let script = r#"
        report() { echo '{"progress":{"text":"1 of 3"}}' >&2; }
        result='{"summary":{"run":4,"done":2}}'
        trap 'trap - INT; report; sleep 0.2; echo "$result"; exit 130' INT
        report
        while :; do sleep 0.01; done"#;
    let (temp, lop) = program("", "", script);
    let (stop, mut stops) = (Stop::default(), 0);
    let mut tell = |_| {
        stop.stop();
        stops += 1;
    };
    let acted = lop.apply(Kind::Hardlink, file(&temp), &stop, &mut tell).expect("a result");
    assert_eq!(stops, 2);
    assert_eq!(acted.text, "Run 4: 2 files changed; interrupted");
}

#[test]
fn a_run_that_reported_no_result_may_have_changed_files() {
    for (end, how) in
        [("kill -INT $$", "interrupted"), ("exit 130", "interrupted"), ("kill -KILL $$", "killed")]
    {
        let (temp, lop) = program("{\"summary\":{\"run\":4,", "", end);
        let why = format!(
            "The run was {how} before it reported its result. Press 5 to see what it changed."
        );
        assert_eq!(apply(&temp, lop, Kind::Hardlink), Err(why), "{end}");
        let (_temp, lop) = program("", "", end);
        let undone = lop.undo(4, Kind::Hardlink, &Stop::default(), &mut |_| {});
        assert!(undone.is_err_and(|why| why.starts_with(&format!("The undo was {how}"))), "{end}");
    }
}

#[test]
fn a_run_that_ended_with_an_error_reports_what_it_has_done() {
    let document = r#"{"summary":{"run":4,"done":2,"failed":0,"freed_bytes":1024}}"#;
    let error = r#"{"error":{"code":1,"message":"cannot write c.db.runs/4.jsonl"}}"#;
    let (temp, lop) = program(document, error, "echo 'lop: /a: changed' >&2; exit 1");
    let acted = apply(&temp, lop, Kind::Hardlink).expect("a result");
    assert_eq!(acted.text, "Run 4: 2 files changed, 1.0 KiB freed");
    assert_eq!(acted.run, Some(4));
    assert_eq!(acted.messages, ["cannot write c.db.runs/4.jsonl", "/a: changed"]);
    let (temp, lop) = program("", error, "exit 1");
    assert_eq!(apply(&temp, lop, Kind::Hardlink), Err("cannot write c.db.runs/4.jsonl".into()));
}

#[test]
fn a_run_that_cannot_be_undone_has_no_number_to_undo() {
    let undoable = |kind, done: u64| {
        let (temp, lop) = program(&format!(r#"{{"summary":{{"run":4,"done":{done}}}}}"#), "", "");
        apply(&temp, lop, kind).expect("a result").run
    };
    assert_eq!(undoable(Kind::Delete, 1), Some(4));
    assert_eq!(undoable(Kind::Delete, 0), None);
    assert_eq!(undoable(Kind::Reflink, 1), None);
}

#[test]
fn an_undo_is_reported_in_the_words_of_lop_undo() {
    let undone = |kind, numbers: &str, end: &str| {
        let document = format!(r#"{{"summary":{{"run":4,{numbers}}}}}"#);
        let (_temp, lop) = program(&document, "", end);
        lop.undo(4, kind, &Stop::default(), &mut |_| {}).expect("a result").text
    };
    for (numbers, end, text) in [
        (r#""restored":2,"failed":0"#, "", "Run 4 undone: 2 files restored"),
        (r#""restored":0,"failed":5"#, "exit 3", "Run 4: nothing restored, 5 files could not be"),
        (r#""restored":2,"failed":5"#, "exit 3", "Run 4: 2 files restored, 5 could not be"),
        (r#""restored":0,"failed":0"#, "", "Run 4: nothing is left to restore"),
        (r#""restored":0,"failed":0"#, "exit 130", "Run 4: nothing restored; interrupted"),
        (r#""restored":2,"failed":0"#, "exit 130", "Run 4: 2 files restored; interrupted"),
        (
            r#""restored":2,"failed":0,"other_owner":1"#,
            "exit 3",
            "Run 4 undone: 2 files restored, 1 with another owner or group than before",
        ),
    ] {
        assert_eq!(undone(Kind::Hardlink, numbers, end), text);
    }
    let swept = undone(Kind::Sweep, r#""restored":2,"failed":0"#, "");
    assert_eq!(swept, "Run 4 undone: 2 entries restored");
}

#[test]
fn messages_that_are_not_stored_are_counted() {
    let document = r#"{"summary":{"run":4,"done":2}}"#;
    let end = "for at in $(seq 203); do echo \"lop: /$at: changed\" >&2; done; exit 3";
    let (temp, lop) = program(document, "", end);
    let messages = apply(&temp, lop, Kind::Hardlink).expect("a result").messages;
    assert_eq!(messages.len(), 201);
    assert_eq!(messages[199..], ["/200: changed", "… and 3 more messages"]);
}

#[test]
fn messages_are_shown_while_the_process_works() {
    let wait = "waiting for process 7, which is changing the catalog";
    let end = format!(
        r#"echo 'lop: {wait}' >&2; echo '{{"progress":{{"text":"1 of 3"}}}}' >&2
        for at in $(seq 203); do echo "lop: /$at: changed" >&2; done"#
    );
    let (temp, lop) = program(r#"{"summary":{"run":4,"done":2}}"#, "", &end);
    let mut reports = Vec::new();
    let mut tell = |text| reports.push(text);
    lop.apply(Kind::Hardlink, file(&temp), &Stop::default(), &mut tell).expect("a result");
    assert_eq!(reports[..2], [wait, "1 of 3"]);
    assert_eq!((reports.len(), reports.last().map(String::as_str)), (205, Some("/203: changed")));
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
