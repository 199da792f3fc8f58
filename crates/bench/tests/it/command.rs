//! The commands of `lop-bench`, as a user runs them.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};
use std::time::Duration;

use bench::measure::{Task, Usage};
use bench::record::Ending;
use testkit::TempTree;

fn lop_bench(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_lop-bench")).args(args).output().expect("it runs")
}

fn measured(argv: &[&str], limit: Duration) -> (Usage, String) {
    let temp = TempTree::new();
    let task = Task {
        argv: argv.iter().map(Into::into).collect(),
        variables: vec![("LOP_OF_A_TASK".into(), "/set".into())],
        home: temp.path().to_path_buf(),
        output: temp.join("output"),
        settle: Some(temp.path().to_path_buf()),
        limit,
    };
    let order = temp.join("order");
    fs::write(&order, serde_json::to_vec(&task).expect("a task")).expect("written");
    let output = lop_bench(&["measure", order.to_str().expect("a temporary name")]);
    let usage = serde_json::from_slice(&output.stdout).expect("a usage");
    (usage, fs::read_to_string(temp.join("output")).expect("its output"))
}

#[test]
fn a_run_is_measured_with_its_children() {
    let script =
        "dd if=/dev/zero of=/dev/null bs=1M count=20 2>/dev/null; echo $HOME $LOP_OF_A_TASK";
    let (usage, said) = measured(&["sh", "-c", script], Duration::from_secs(60));
    assert_eq!(usage.ending, Ending::Done);
    if testkit::is_root() {
        assert!(usage.read_bytes >= 20 << 20, "{usage:?}");
    } else {
        testkit::skipped("only root can see how much an ended process has read");
    }
    assert!(usage.peak_kib >= 1_000 && usage.peak_kib < 50_000, "{usage:?}");
    assert!(usage.wall_s > 0.0 && usage.user_s + usage.sys_s > 0.0, "{usage:?}");
    assert!(usage.settled_s.is_some_and(|settled| settled >= usage.wall_s), "{usage:?}");
    assert!(said.contains("tmp"), "a home of its own: {said}");
    assert!(said.ends_with(" /set\n"), "the variable of the task: {said}");
}

#[test]
fn failed_and_endless_runs_are_distinguished() {
    let (usage, _) = measured(&["false"], Duration::from_secs(60));
    assert_eq!(usage.ending, Ending::Failed);
    let (usage, _) = measured(&["sh", "-c", "sleep 1000; true"], Duration::from_millis(200));
    assert_eq!(usage.ending, Ending::Stopped);
}

#[test]
fn corpora_and_races_are_listed() {
    let text = String::from_utf8(lop_bench(&["corpus"]).stdout).expect("text");
    assert!(text.contains("server2018") && text.contains("hostile"), "{text}");
    let output = lop_bench(&["race", "nothing"]);
    let reason = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(1));
    assert!(reason.contains("nothing") || reason.contains("lop"), "{reason}");
}

#[test]
fn a_tree_is_made_by_name() {
    let temp = TempTree::new();
    let to = temp.join("tree");
    let to = to.to_str().expect("a temporary name");
    let output = lop_bench(&["corpus", "flat", to, "--names", "50"]);
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(text.starts_with("50 names of 50 files in 1 directories"), "{text}");
    let again = lop_bench(&["corpus", "flat", to, "--names", "50"]);
    assert_eq!(again.status.code(), Some(1), "it is not made over another");
}

#[test]
fn a_race_needs_lop() {
    let temp = TempTree::new();
    let store = temp.path().to_str().expect("a temporary name");
    let output = lop_bench(&["race", "smoke", "--store", store, "--lop", "/does/not/exist"]);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
}

#[test]
fn a_wrong_answer_of_lop_fails_the_race() {
    let temp = TempTree::new();
    let lop = temp.join("lop");
    fs::write(&lop, "#!/bin/sh\necho lop 0.0\n").expect("written");
    fs::set_permissions(&lop, fs::Permissions::from_mode(0o755)).expect("ours");
    let (store, lop) = (temp.join("store"), lop.to_str().expect("a temporary name"));
    let store = store.to_str().expect("a temporary name");
    let output = lop_bench(&["race", "smoke", "--store", store, "--tools", "rm", "--lop", lop]);
    let complaints = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(1), "{complaints}");
    assert!(complaints.contains("lop lacks 135 of the groups and has 0 others"), "{complaints}");
}
