//! `--progress json`: progress as lines of JSON on standard error, for programs that run lop.

use std::fs;
use std::io::Write;

use serde_json::Value;
use testkit::{Output, Sandbox, TreeBuilder, When};

use crate::lop::{Lop, assert_exit_record, unversioned};
use crate::sweep::{RULES, lop_in, tree as sweep_tree};

fn pairs(number: usize) -> TreeBuilder {
    (0..number).fold(TreeBuilder::new(), |tree, pair| {
        let bytes = format!("pair {pair:05}");
        tree.file(format!("d/{bytes} a"), &*bytes).file(format!("d/{bytes} b"), &*bytes)
    })
}

/// Returns the records of the progress in the order in which they were written.
fn records(output: &Output) -> Vec<Value> {
    let documents = output.stderr_str().lines().filter(|line| line.starts_with('{'));
    let documents = documents.map(|line| unversioned(line).expect("a document"));
    documents.filter_map(|mut document| Some(document.get_mut("progress")?.take())).collect()
}

/// Runs a command, and asserts that its last record is in one of the given stages.
#[track_caller]
fn assert_last_stage(lop: &Lop, args: &[&str], stage: &str) -> Value {
    let output = lop.command().args(args).args(["--progress", "json"]).run();
    output.success();
    let mut records = records(&output);
    assert!(records.len() >= 2, "{args:?}: one at the start and one at the end: {records:?}");
    assert!(records.iter().all(|record| record["text"].is_string()), "{args:?}: {records:?}");
    let last = records.pop().expect("two or more");
    assert_eq!(last["stage"], stage, "{args:?}");
    last
}

#[test]
fn every_command_that_shows_progress_has_records_of_it() {
    let lop = Lop::with(&pairs(3));
    assert_last_stage(&lop, &["scan", "."], "commit");
    let quarantine = ["dedupe", "--by", "quarantine", "--apply", "--all"];
    let act = assert_last_stage(&lop, &quarantine, "act");
    for (key, value) in [("files_done", 3), ("files_total", 3), ("done_percent", 100)] {
        assert_eq!(act[key], value, "{key}: {act}");
    }
    assert_eq!(act["bytes_done"], act["bytes_total"], "{act}");
    assert_last_stage(&lop, &["undo"], "restore");
    assert_last_stage(&lop, &quarantine, "act");
    assert_last_stage(&lop, &["quarantine", "restore"], "restore");
    assert_last_stage(&lop, &quarantine, "act");
    assert_last_stage(&lop, &["quarantine", "purge", "--older-than", "0s"], "act");
    let mirror = assert_last_stage(&lop, &["mirror", "d", "copy"], "mirror");
    assert_eq!(mirror["files_done"], 3, "{mirror}");
    let purge = assert_last_stage(&lop, &["purge", "copy"], "purge");
    assert_eq!(purge["files_total"], 4, "{purge}");
    assert_last_stage(&lop, &["export", "--host", "nas", "fleet"], "export");
    assert!(!lop.path("copy").exists());
}

#[test]
fn a_sweep_has_records_of_its_progress() {
    let lop = lop_in(&sweep_tree(), RULES);
    let args = ["sweep", "--rules", "rules.toml", "--apply", "t", "--progress", "json"];
    let output = lop.run(args);
    let stages: Vec<Value> =
        records(&output).into_iter().map(|mut record| record["stage"].take()).collect();
    assert!(stages.len() >= 2 && stages.last().is_some_and(|stage| stage == "act"), "{stages:?}");
}

#[test]
fn records_are_written_while_the_work_goes_on() {
    let lop = Lop::with(&pairs(2).fifo("list"));
    let scan = ["scan", "--no-catalog", "--progress", "json", "--files-from", "list"];
    let mut running = lop.command().args(scan).spawn();
    let mut list = fs::File::options().write(true).open(lop.path("list")).expect("opens");
    list.write_all(b"d/pair 00000 a\n").expect("written");
    assert!(running.wait_for(&When::Stderr(b"\"stage\":\"walk\"".to_vec())));
    drop(list);
    let output = running.wait();
    let records = records(output.success());
    assert_eq!(records[0]["stage"], "begin", "{records:?}");
    assert_eq!(records[0].get("files_done"), None, "{records:?}");
}

#[test]
fn the_other_lines_are_messages_and_the_last_line_is_the_error() {
    let lop = Lop::with(&pairs(1));
    for mode in [&["--json", "-q"][..], &["--json"]] {
        let scan = lop.command().args(["scan", "--progress", "json", "d", "nowhere"]).args(mode);
        let output = scan.run();
        assert_exit_record(&output, 3);
        assert!(records(&output).len() >= 2, "{}", output.stderr_str());
        let others: Vec<&str> =
            output.stderr_str().lines().filter(|line| !line.starts_with('{')).collect();
        assert_eq!(others, ["lop: nowhere: No such file or directory"]);
    }
}

/// Runs a command whose standard output and standard error are pipes that nobody reads any more.
fn without_readers(lop: &Lop, args: &str) -> Output {
    let shell = Sandbox::new("/bin/sh");
    let pipe = lop.state().join("pipe").display().to_string();
    // The pipe needs a reader until the writing end is open.
    let script = format!(
        "rm -f {pipe}; mkfifo {pipe}; exec 3<>{pipe} 4>{pipe} 3<&-; \
         exec \"$0\" {args} --json --progress json >&4 2>&4"
    );
    let command = shell.command().args(["-c", &script, env!("CARGO_BIN_EXE_lop")]);
    command.env("XDG_STATE_HOME", lop.state()).cwd(lop.work()).run()
}

#[test]
fn a_reader_that_goes_away_does_not_end_a_run() {
    let lop = Lop::with(&pairs(300));
    without_readers(&lop, "scan .").success();
    assert_eq!(lop.report().len(), 300);
    without_readers(&lop, "dedupe --by quarantine --apply --all").success();
    let left = || fs::read_dir(lop.path("d")).expect("is there").count();
    assert_eq!(left(), 300);
    assert!(lop.report().is_empty(), "the catalog follows the run");
    let runs = lop.json(["history"]);
    assert!(runs["runs"][0]["ended_ms"].is_number(), "the run is over: {runs}");
    without_readers(&lop, "undo 1").success();
    assert_eq!(left(), 600);
}
