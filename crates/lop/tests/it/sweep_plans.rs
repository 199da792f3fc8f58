//! The plans of `lop sweep`: written, reviewed, carried out, and refused if something has changed.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;

use crate::sweep::{RULES, lop_in, lop_with, sweep, tree};

#[test]
fn a_plan_takes_exactly_the_entries_that_were_reviewed() {
    let lop = lop_with(RULES);
    let output = sweep(&lop, &["--plan", "plan", "t"]);
    output.success();
    assert!(output.stderr_str().ends_with("Carry it out with: lop sweep --plan plan --apply\n"));
    assert!(lop.path("t/a.tmp").exists());
    // The user removes a line. A new match is not in the plan.
    let plan = fs::read_to_string(lop.path("plan")).expect("a plan");
    let lines = plan.lines().filter(|line| !line.contains("b.tmp")).map(|line| format!("{line}\n"));
    fs::write(lop.path("plan"), lines.collect::<String>()).expect("written");
    fs::write(lop.path("t/new.tmp"), "new").expect("written");
    lop.run(["sweep", "--plan", "plan", "--apply"]).success();
    assert!(!lop.path("t/a.tmp").exists() && !lop.path("t/p/target").exists());
    assert!(lop.path("t/d/b.tmp").exists() && lop.path("t/new.tmp").exists());
}

#[test]
fn entries_that_changed_after_the_review_stay() {
    for how in ["--apply", "--delete"] {
        let lop = lop_with(RULES);
        sweep(&lop, &["--plan", "plan", "t"]).success();
        fs::write(lop.path("t/a.tmp"), "changed").expect("written");
        // The change is deep in a tree, so the times of the top directory stay the same.
        fs::write(lop.path("t/p/target/debug/x"), "changed").expect("written");
        let output = lop.run(["sweep", "--plan", "plan", how]);
        output.code(3);
        assert!(
            output.stderr_str().contains("t/a.tmp: has changed since it was matched"),
            "{}",
            output.stderr_str()
        );
        assert!(output.stderr_str().contains("t/p/target: "), "{}", output.stderr_str());
        assert!(lop.path("t/a.tmp").exists() && lop.path("t/p/target/debug/x").exists());
        assert!(!lop.path("t/d/b.tmp").exists());
    }
}

#[test]
fn a_plan_applies_only_to_its_own_target() {
    let lop = lop_in(&tree().file("other/a.tmp", "12345"), RULES);
    sweep(&lop, &["--plan", "plan", "t"]).success();
    let output = lop.run(["sweep", "--plan", "plan", "--apply", "other"]);
    output.code(4);
    assert!(output.stderr_str().contains("nothing was changed"), "{}", output.stderr_str());
    fs::rename(lop.path("t"), lop.path("moved")).expect("renamed");
    lop.run(["sweep", "--plan", "plan", "--apply"]).code(1);
    lop.run(["sweep", "--plan", "plan", "--apply", "moved"]).success();
    assert!(!lop.path("moved/a.tmp").exists() && lop.path("other/a.tmp").exists());
}

#[test]
fn only_a_plan_is_overwritten_by_a_plan() {
    let lop = lop_with(RULES);
    let output = sweep(&lop, &["--plan", "rules.toml", "t"]);
    output.code(4);
    assert!(output.stderr_str().contains("rules.toml already exists and is not a plan"));
    sweep(&lop, &["--plan", "plan", "t"]).success();
    let first = fs::read(lop.path("plan")).expect("a plan");
    fs::write(lop.path("t/new.tmp"), "new").expect("written");
    sweep(&lop, &["--plan", "plan", "t"]).success();
    assert!(fs::read(lop.path("plan")).expect("a plan").len() > first.len());
    fs::write(lop.path("plan"), "{\"format_version\":1,\"path\":\"../x\"}\n").expect("written");
    lop.run(["sweep", "--plan", "plan", "--apply"]).code(1);
}

#[test]
fn delete_leaves_a_tree_alone_that_a_program_writes_to() {
    let lop = lop_in(&tree().file("t/p/target/deep/log", "1").file("t/q.tmp", "q"), RULES);
    let log = lop.path("t/p/target/deep/log");
    let is_done = AtomicBool::new(false);
    let output = thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Relaxed) {
                fs::write(&log, "more").expect("written");
            }
        });
        let output = lop.run(["sweep", "--rules", "rules.toml", "--delete", "t"]);
        is_done.store(true, Relaxed);
        output
    });
    output.code(3);
    let said = "t/p/target: was replaced or changed after it was checked";
    assert!(output.stderr_str().contains(said), "{}", output.stderr_str());
    assert!(log.exists() && !lop.path("t/q.tmp").exists());
}

#[test]
fn a_plan_goes_where_its_path_leads() {
    let lop = lop_in(&tree().symlink("link", "plan").dangling_symlink("dangling"), RULES);
    sweep(&lop, &["--plan", "plan", "t"]).success();
    let before = fs::read(lop.path("plan")).expect("a plan");
    fs::write(lop.path("t/new.tmp"), "new").expect("written");
    sweep(&lop, &["--plan", "link", "t"]).success();
    assert!(lop.path("link").is_symlink() && fs::read(lop.path("plan")).expect("read") != before);
    sweep(&lop, &["--plan", "dangling", "t"]).code(1);
    assert!(lop.path("dangling").is_symlink());
    sweep(&lop, &["--plan", "t/d", "t"]).code(1);
    // A FIFO that nobody reads.
    let fifo = lop.path("fifo");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status().expect("mkfifo runs");
    assert!(made.success());
    sweep(&lop, &["--plan", "fifo", "t"]).code(1);
    let long = "p".repeat(255);
    sweep(&lop, &["--plan", &long, "t"]).success();
    assert!(lop.path(&long).exists());
}
