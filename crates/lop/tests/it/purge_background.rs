//! `lop purge --instant` and `--resume`, as users run them.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::Value;
use testkit::{TEST_TIMEOUT, TreeBuilder};

use crate::lop::{Lop, document};

fn one_tree() -> TreeBuilder {
    let files = (0..300).map(|i| format!("tree/{}/{i}", i % 10));
    files.fold(TreeBuilder::new(), |tree, file| tree.file(file, "x"))
}

fn tree() -> TreeBuilder {
    one_tree().file("other/kept", "kept")
}

/// Moves the given paths to the trash, and returns the summary. The command must succeed.
fn instant(lop: &Lop, args: &[&str]) -> Value {
    let output = lop.command().args(["--json", "purge", "--instant"]).args(args).run();
    output.success();
    document(&output)["summary"].clone()
}

pub(crate) fn history(lop: &Lop) -> Vec<Value> {
    lop.json(["history"])["runs"].as_array().expect("runs").clone()
}

fn wait(lop: &Lop, what: &str, mut is_so: impl FnMut(&Value) -> bool) -> Value {
    let start = Instant::now();
    loop {
        let run = history(lop).pop().expect("a run");
        if is_so(&run) {
            return run;
        }
        assert!(start.elapsed() < TEST_TIMEOUT, "not {what}: {run}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn wait_for_end(lop: &Lop) -> Value {
    wait(lop, "over", |run| !run["ended_ms"].is_null())
}

pub(crate) fn wait_for_process(lop: &Lop) {
    wait(lop, "given up", |run| run["process"].is_null());
}

pub(crate) fn process(summary: &Value) -> String {
    summary["process"].as_u64().expect("a process").to_string()
}

pub(crate) fn send(signal: &str, process: &str) {
    let status = std::process::Command::new("kill").args([signal, process]).status();
    assert!(status.expect("kill").success());
}

#[test]
fn trees_are_out_of_the_way_at_once_and_then_gone() {
    let lop = Lop::with(&tree());
    let summary = instant(&lop, &["tree", "other"]);
    assert!(!lop.path("tree").exists() && !lop.path("other").exists());
    assert_eq!((&summary["run"], &summary["paths"]), (&1.into(), &2.into()));
    let run = wait_for_end(&lop);
    assert_eq!(run["action"], "purge");
    assert_eq!((&run["paths"], &run["entries"]), (&2.into(), &313.into()));
    wait_for_process(&lop);
    assert!(testkit::stores(&lop.runs()).is_empty());
    let output = lop.run(["history"]);
    assert!(output.stdout_str().contains("purge       2 paths, 313 entries gone\n"), "{output:?}");
}

#[test]
fn the_process_in_the_background_has_left_the_terminal_and_the_folder() {
    let lop = Lop::with(&tree());
    let process = process(&instant(&lop, &["--rate", "50", "tree"]));
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).expect("it runs");
    let fields: Vec<&str> = stat.rsplit(") ").next().expect("fields").split(' ').collect();
    let (session, terminal) = (fields[3], fields[4]);
    assert_eq!((session, terminal), (process.as_str(), "0"), "{stat}");
    let folder = fs::read_link(format!("/proc/{process}/cwd")).expect("it runs");
    assert_eq!(folder, std::path::Path::new("/"));
    send("-TERM", &process);
    wait_for_process(&lop);
    lop.run(["purge", "--resume"]).success();
    wait_for_end(&lop);
}

#[test]
fn resume_removes_what_a_killed_process_left_at_any_moment() {
    let lop = Lop::with(&TreeBuilder::new().file("other/kept", "kept"));
    for (run, (signal, delay)) in
        [("-KILL", 0), ("-KILL", 300), ("-KILL", 900), ("-TERM", 1500)].into_iter().enumerate()
    {
        lop.lay(&one_tree());
        let process = process(&instant(&lop, &["--rate", "100", "tree"]));
        std::thread::sleep(Duration::from_millis(delay));
        send(signal, &process);
        wait_for_process(&lop);
        let left = history(&lop).pop().expect("a run");
        assert!(left["ended_ms"].is_null() && left["run"] == run + 1, "{left}");
        // A terminated process records its progress. A killed one cannot.
        assert_eq!(signal == "-TERM", left["entries"].as_u64() > Some(0), "{left}");
        let text = lop.run(["history"]).stdout_str().to_string();
        assert!(text.contains("not finished ('lop purge --resume' continues): /"), "{text}");
        lop.run(["purge", "--resume"]).success();
        wait_for_end(&lop);
    }
    assert!(testkit::stores(&lop.runs()).is_empty());
    assert!(lop.path("other/kept").exists());
    let output = lop.run(["purge", "--resume"]);
    output.success();
    assert!(output.stderr_str().starts_with("nothing to resume\n"), "{output:?}");
}

#[test]
fn a_run_that_another_process_removes_is_left_to_it() {
    let lop = Lop::with(&tree());
    let process = process(&instant(&lop, &["--rate", "50", "tree"]));
    let output = lop.run(["purge", "--resume"]);
    output.success();
    assert!(output.stderr_str().contains(&format!("run 1: process {process} is working on it")));
    send("-TERM", &process);
    wait_for_process(&lop);
    lop.run(["purge", "--resume"]).success();
    wait_for_end(&lop);
}

#[test]
fn history_shows_the_progress() {
    let lop = Lop::with(&tree());
    let process = process(&instant(&lop, &["--rate", "20", "tree"]));
    let run = wait(&lop, "told", |run| run["entries"].as_u64() > Some(0));
    assert_eq!(run["process"].to_string(), process);
    // The progress of a killed process remains in the journal.
    send("-KILL", &process);
    wait_for_process(&lop);
    lop.run(["purge", "--resume"]).success();
    let run = wait_for_end(&lop);
    let entries = run["entries"].as_u64().expect("a number");
    assert!((250..=311).contains(&entries), "{run}");
}

#[test]
fn an_unreadable_journal_does_not_hide_the_others() {
    let lop = Lop::with(&tree());
    instant(&lop, &["tree"]);
    wait_for_end(&lop);
    let strange = TreeBuilder::new().file("7.jsonl", "no journal\n");
    strange.fifo("8.jsonl").fifo("9.purge.jsonl").make(lop.runs());
    let output = lop.command().args(["--json", "history"]).run();
    output.code(3);
    assert_eq!(document(&output)["runs"].as_array().expect("runs").len(), 1);
    let said = output.stderr_str();
    for number in ["7.jsonl", "8.jsonl", "9.purge.jsonl"] {
        assert!(said.contains(number), "{said}");
    }
    assert!(said.contains("3 journals could not be read"), "{said}");
    for fifo in ["8.jsonl", "9.purge.jsonl"] {
        fs::remove_file(lop.runs().join(fifo)).expect("is removed");
    }
    // Other runs continue.
    lop.remember(["other"]);
    lop.run(["dedupe", "--by", "hardlink", "--apply"]).success();
    instant(&lop, &["other"]);
}

#[test]
fn a_tree_with_files_in_quarantine_is_moved_back() {
    let lop = Lop::with(&tree().file("tree/1/.lop-quarantine-7/kept", "in quarantine"));
    instant(&lop, &["tree"]);
    let run = wait_for_end(&lop);
    assert_eq!((&run["entries"], &run["failed"]), (&309.into(), &1.into()));
    let kept = lop.path("tree/1/.lop-quarantine-7/kept");
    assert_eq!(fs::read(kept).expect("it is back"), b"in quarantine");
    let left = fs::read_dir(lop.path("tree")).expect("it is back").count();
    assert_eq!(left, 1, "all the rest is gone");
    assert!(testkit::stores(&lop.runs()).is_empty());
}

#[test]
fn an_interrupted_restore_changes_nothing_more() {
    let lop = Lop::with(&tree().file("tree/1/.lop-quarantine-7/kept", "in quarantine"));
    let process = process(&instant(&lop, &["--rate", "100", "--threads", "1", "tree"]));
    std::thread::sleep(Duration::from_millis(1500));
    send("-TERM", &process);
    wait_for_process(&lop);
    assert!(!lop.path("tree").exists());
    lop.run(["purge", "--resume"]).code(3);
    let run = wait_for_end(&lop);
    assert_eq!(run["entries"], 309, "{run}");
    assert!(lop.path("tree/1/.lop-quarantine-7/kept").exists());
}

#[test]
fn entries_that_cannot_be_removed_stay_in_the_journal_until_they_can() {
    let lop = Lop::with(&tree().file("tree/1/.lop-quarantine-7/kept", "in quarantine"));
    // The tree cannot be moved back, because its name is taken.
    let process = process(&instant(&lop, &["--rate", "50", "tree"]));
    lop.lay(&TreeBuilder::new().file("tree", "another"));
    send("-TERM", &process);
    wait_for_process(&lop);
    let output = lop.run(["purge", "--resume"]);
    output.code(3);
    assert!(output.stderr_str().contains("holds files in quarantine"), "{output:?}");
    assert!(!output.stderr_str().contains("more"), "{output:?}");
    let run = history(&lop).pop().expect("a run");
    assert!(run["ended_ms"].is_null() && run["failed"] == 1, "{run}");
    let store = testkit::stores(&lop.runs()).pop().expect("it is there");
    let kept = store.join("0/1/.lop-quarantine-7");
    assert_eq!(fs::read(kept.join("kept")).expect("it is there"), b"in quarantine");
    testkit::remove_tree(&kept).expect("is removed");
    lop.run(["purge", "--resume"]).success();
    wait_for_end(&lop);
    assert!(!store.exists());
}

#[test]
fn nested_and_repeated_paths_are_removed_once() {
    let lop = Lop::with(&tree());
    let output = lop.run(["purge", "--instant", "tree", "tree", "tree/1"]);
    output.success();
    wait_for_end(&lop);
    assert!(!lop.path("tree").exists());
}

#[test]
fn a_quarantine_is_not_removed_by_its_name() {
    let lop = Lop::with(&tree().file(".lop-quarantine-7/a/b", "in quarantine"));
    for path in [".lop-quarantine-7", ".lop-quarantine-7/a", "tree/../.lop-quarantine-7/a/b"] {
        for more in [&[][..], &["--instant"]] {
            let output = lop.command().args(["purge", path]).args(more.iter().copied()).run();
            output.code(4);
            assert!(output.stderr_str().contains("quarantine"), "{output:?}");
        }
    }
    assert!(lop.path(".lop-quarantine-7/a/b").exists());
}

#[test]
fn paths_that_cannot_be_moved_are_reported_and_kept() {
    let lop = Lop::with(&tree().file("other/.lop-quarantine-7/kept", "in quarantine"));
    let output = lop.run(["purge", "--instant", "other", "missing"]);
    output.code(1);
    let said = output.stderr_str();
    assert!(said.contains("other: holds files in quarantine"), "{said}");
    assert!(said.contains("missing: cannot open: No such file or directory"), "{said}");
    assert!(said.ends_with("nothing was moved, 2 could not be moved\n"), "{said}");
    assert!(history(&lop).is_empty());
    lop.run(["purge", "--instant", "missing", "tree"]).code(3);
    wait_for_end(&lop);
    assert!(lop.path("other/kept").exists() && !lop.path("tree").exists());
    lop.run(["purge", "--instant", "."]).code(4);
    for with in [["--include", "a"], ["--exclude", "a"], ["--older-than", "1d"]] {
        lop.command().args(["purge", "--instant", "other"]).args(with).run().code(2);
    }
    lop.run(["purge", "--resume", "other"]).code(2);
}

#[test]
fn a_purge_is_not_undone() {
    let lop = Lop::with(&tree());
    instant(&lop, &["tree"]);
    wait_for_end(&lop);
    let output = lop.run(["undo", "1"]);
    output.code(1);
    assert!(output.stderr_str().contains("run 1 was a purge"), "{output:?}");
    lop.run(["undo"]).code(1);
}
