//! Sources of groups for `lop dedupe` other than the catalog: saved plans, reports, lists of files.

use std::fs;

use serde_json::Value;
use testkit::{Compare, assert_same};

use crate::dedupe::{BACK, inode, scanned, snapshot, tree};
use crate::lop::Lop;

#[test]
fn a_plan_can_be_saved_cut_down_and_applied() {
    let lop = scanned();
    let plan = lop.state().join("plan.jsonl");
    let file = plan.to_str().expect("UTF-8");
    let output = lop.run(["dedupe", "--by", "delete", "--save-plan", file]);
    output.success();
    let text = fs::read_to_string(&plan).expect("a plan");
    assert_eq!(text.lines().count(), 3);
    let kept: Vec<&str> = text.lines().filter(|line| line.contains("c/y")).collect();
    fs::write(&plan, kept.join("\n")).expect("written");
    let shown = lop.run(["dedupe", "--plan", file]);
    shown.success();
    assert!(shown.stderr_str().starts_with("1 file to delete, "), "{}", shown.stderr_str());
    assert!(shown.stdout_str().contains("  delete      "), "{}", shown.stdout_str());
    assert!(lop.path("c/y").exists());
    lop.run(["dedupe", "--plan", file, "--apply"]).success();
    assert!(!lop.path("c/y").exists() && lop.path("b/2").exists());
    // A file of the plan is missing, and lop reports this.
    for (last, said) in [("--apply", "c/y: cannot open"), ("--color=never", "c/y: cannot stat")] {
        let stale = lop.run(["dedupe", "--plan", file, last]);
        stale.code(3);
        assert!(stale.stderr_str().contains(said), "{}", stale.stderr_str());
    }
    let history = lop.run(["history", "2"]);
    let lines: Vec<&str> = history.success().stdout_str().lines().collect();
    assert!(lines[0].contains("0 files, 1 left alone"), "{lines:?}");
    assert_eq!(lines[1..], ["  left alone    1 other file, which failed the first checks"]);
}

#[test]
fn a_plan_that_contradicts_itself_is_refused() {
    let lop = scanned();
    let before = snapshot(&lop);
    let plan = lop.state().join("plan.jsonl");
    let file = plan.to_str().expect("UTF-8");
    lop.run(["dedupe", "--by", "delete", "--save-plan", file, "c"]).success();
    let text = fs::read_to_string(&plan).expect("a plan");
    let line: Value = serde_json::from_str(text.trim()).expect("a line");
    let mut turned = line.clone();
    for (one, other) in [("path", "kept"), ("was", "kept_was")] {
        (turned[one], turned[other]) = (line[other].clone(), line[one].clone());
    }
    fs::write(&plan, format!("{line}\n{turned}\n")).expect("written");
    let output = lop.run(["dedupe", "--plan", file, "--apply"]);
    output.code(4);
    assert!(output.stderr_str().contains("would be acted on, but is kept for another"), "refused");
    assert_same(&before, &snapshot(&lop), Compare::ALL);
    for last in ["--apply", "--color=never"] {
        fs::write(&plan, "root:x:0:0:root:/root:/bin/bash\n").expect("written");
        let output = lop.run(["dedupe", "--plan", file, last]);
        output.code(1);
        let said = output.stderr_str();
        assert!(said.starts_with(&format!("lop: {file} is not a plan of lop\n")), "{said}");
        // All lines of the plan were removed.
        fs::write(&plan, "\n").expect("written");
        let output = lop.run(["dedupe", "--plan", file, last]);
        assert!(output.success().stderr_str().starts_with("Nothing to do"), "{output:?}");
    }
}

#[test]
fn a_report_is_compared_again_whatever_it_says() {
    let lop = scanned();
    let report = lop.run(["report", "--format", "json"]);
    let text = String::from_utf8_lossy(&report.stdout).replace("c/x", "lone");
    fs::write(lop.state().join("report.json"), text).expect("written");
    let file = lop.state().join("report.json");
    let file = file.to_str().expect("UTF-8");
    let before = snapshot(&lop);
    let output = lop.run(["dedupe", "--by", "hardlink", "--report", file, "--apply"]);
    output.code(3);
    // Only the two real groups were linked, but not the forged group.
    assert_eq!(inode(&lop, "a/1"), inode(&lop, "b/2"));
    assert_ne!(inode(&lop, "lone"), inode(&lop, "c/y"));
    lop.run(["undo"]).success();
    assert_same(&before, &snapshot(&lop), BACK);
}

#[test]
fn a_report_of_another_version_is_refused() {
    let lop = scanned();
    let report = lop.run(["report", "--format", "json"]);
    let before = snapshot(&lop);
    let version = "\"format_version\":1,";
    for (other, said) in [
        ("\"format_version\":2,", "another version of lop wrote this report (format 2)"),
        ("", "missing field `format_version`"),
    ] {
        let text = report.stdout_str().replacen(version, other, 1);
        let args = ["dedupe", "--by", "delete", "--report", "-", "--apply"];
        let output = lop.command().args(args).stdin(text.as_bytes()).run();
        assert!(output.code(1).stderr_str().contains(said), "{}", output.stderr_str());
    }
    assert_same(&before, &snapshot(&lop), Compare::ALL);
}

#[test]
fn a_list_of_files_is_compared_first() {
    let lop = Lop::with(&tree());
    let list = b"a/1\0b/2\0c/x\0lone\0missing\0";
    let command = ["dedupe", "--by", "delete", "--files-from", "-", "-0", "--apply"];
    let output = lop.command().args(command).stdin(list.as_slice()).run();
    output.code(3);
    assert!(output.stderr_str().contains("missing: No such file"), "{}", output.stderr_str());
    assert!(lop.path("a/1").exists() && !lop.path("b/2").exists());
    assert!(lop.path("c/x").exists() && lop.path("c/y").exists());
}
