//! `lop undo`: what it restores, what it refuses to, and what it says of both.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use testkit::{Compare, FileSystem, Mount, Snapshot, TreeBuilder, assert_same, skipped};

use crate::lop::{Lop, document};

/// Writes other bytes of the same length to a file, and gives it back the time that it had.
fn write_behind_its_back(path: &Path, bytes: &str) {
    let before = fs::metadata(path).expect("is there");
    assert_eq!(before.len(), bytes.len() as u64);
    fs::write(path, bytes).expect("written");
    let file = fs::File::options().write(true).open(path).expect("opens");
    file.set_modified(before.modified().expect("a time")).expect("set");
    assert_eq!(fs::metadata(path).expect("is there").mtime_nsec(), before.mtime_nsec());
}

/// The ways to tell `lop dedupe` of files whose digests nobody knows.
fn sources(lop: &Lop) -> Vec<Vec<String>> {
    let state = lop.state().display().to_string();
    let file = |name: &str, bytes: &[u8]| {
        fs::write(lop.state().join(name), bytes).expect("written");
        format!("{state}/{name}")
    };
    let report = lop.run(["report", "--format", "json"]).success().stdout.clone();
    let plan = format!("{state}/plan.jsonl");
    lop.run(["dedupe", "--by", "delete", "--save-plan", &plan]).success();
    // Whoever edits a plan may put any digest into it.
    let text = fs::read_to_string(&plan).expect("a plan");
    let at = text.find("\"digest\":\"").expect("a digest") + 10;
    let text = format!("{}{}{}", &text[..at], "0".repeat(64), &text[at + 64..]);
    let list = file("list", b"a\nb\n");
    [
        vec!["--by", "delete", "--files-from", &list],
        vec!["--by", "delete", "--report", &file("report.json", &report)],
        vec!["--plan", &file("edited.jsonl", text.as_bytes())],
        vec!["--by", "delete", "--all"],
    ]
    .map(|args| args.into_iter().map(String::from).collect())
    .into()
}

#[test]
fn no_other_content_is_ever_taken_for_the_file() {
    for source in 0..4 {
        let lop = Lop::with(&TreeBuilder::new().file("a", "content 1").file("b", "content 1"));
        lop.remember(["."]);
        let before = Snapshot::of(lop.work());
        let args = sources(&lop).swap_remove(source);
        let command = ["dedupe", "--apply"].into_iter().chain(args.iter().map(String::as_str));
        lop.run(command).success();
        assert!(!lop.path("b").exists(), "{args:?}");
        write_behind_its_back(&lop.path("a"), "content 2");
        let output = lop.run(["undo"]);
        output.code(3);
        let said = output.stderr_str();
        assert!(said.contains("/a, the copy that was kept, has changed"), "{args:?}: {said}");
        assert!(said.contains("Run 1: nothing restored, 1 file could not be"), "{said}");
        assert!(!lop.path("b").exists());
        // The content is known, so that any file that has it will do.
        write_behind_its_back(&lop.path("a"), "content 1");
        lop.run(["undo"]).success();
        let what = Compare::NAMES | Compare::BYTES;
        assert_same(&before, &Snapshot::of(lop.work()), what);
    }
}

#[test]
fn there_is_nothing_to_take_back_of_a_reflink_run() {
    let Ok(mount) = Mount::new(FileSystem::Btrfs, 0).map_err(skipped) else { return };
    let tree = TreeBuilder::new().seeded("1", 1, 9000).seeded("2", 1, 9000).seeded("3", 1, 9000);
    tree.seeded("x", 2, 9000).seeded("y", 2, 9000).make(mount.path().join("d"));
    let lop = Lop::new();
    let dir = mount.path().join("d").display().to_string();
    lop.remember([&dir]);
    lop.run(["dedupe", "--by", "hardlink", "--apply", &format!("{dir}/y")]).success();
    lop.run(["dedupe", "--by", "reflink", "--apply", &dir]).success();
    let output = lop.run(["undo"]);
    output.code(1);
    let said = output.stderr_str();
    assert!(said.contains("run 2 made files share disk space"), "{said}");
    assert!(said.contains("there is nothing to take back"), "{said}");
    assert!(said.contains("hint: an older run can be undone: lop undo 1"), "{said}");
    let history = document(&lop.run(["history", "--json"]));
    assert_eq!(history["runs"][1]["undone"], 0);
    lop.run(["undo", "1"]).success();
    lop.run(["undo", "2"]).code(1);
}

#[test]
fn a_journal_that_cannot_be_read_keeps_nobody_from_the_others() {
    let tree = TreeBuilder::new().file("a", "alike").file("b", "alike").file("c", "other");
    let lop = Lop::with(&tree.file("d", "other"));
    lop.remember(["."]);
    let before = Snapshot::of(lop.work());
    lop.run(["dedupe", "--by", "quarantine", "--apply", "a", "b"]).success();
    lop.run(["dedupe", "--by", "quarantine", "--apply", "c", "d"]).success();
    fs::write(lop.runs().join("7.jsonl"), "no journal\n").expect("written");
    for args in
        [&["quarantine", "list"][..], &["quarantine", "purge", "--older-than", "1h"], &["undo"]]
    {
        let output = lop.run(args);
        output.code(3);
        let said = output.stderr_str();
        assert!(said.contains("7.jsonl: its first line is damaged"), "{args:?}: {said}");
    }
    assert!(lop.path("d").exists(), "the last run that can be read is undone");
    lop.run(["undo"]).code(3);
    assert_same(&before, &Snapshot::of(lop.work()), Compare::VISIBLE);
}

#[test]
fn an_undo_that_was_killed_can_be_repeated() {
    let strace = match testkit::Strace::find() {
        Ok(strace) => strace,
        Err(reason) => return skipped(reason),
    };
    let tree = TreeBuilder::new().file("1", "alike").file("2", "alike").file("3", "alike");
    for nth in 1..=2 {
        let lop = Lop::with(&tree);
        lop.remember(["."]);
        let before = Snapshot::of(lop.work());
        lop.run(["dedupe", "--by", "quarantine", "--apply", "--all"]).success();
        let undo = lop.command().args(["undo"]);
        assert!(strace.kill(undo, &testkit::Calls::nth("renameat2", nth)).fired());
        assert_eq!(lop.run(["undo"]).success().stderr_str(), "Run 1 undone: 2 files restored\n");
        assert_eq!(lop.run(["undo"]).code(1).stderr_str(), "lop: there is nothing to undo\n");
        assert_same(&before, &Snapshot::of(lop.work()), Compare::VISIBLE);
    }
}

#[test]
fn separated_names_whose_file_is_elsewhere_are_said_to_be() {
    let tree = TreeBuilder::new().hard_links("alike".as_bytes(), &["d/1", "d/2", "e/3"]);
    let lop = Lop::with(&tree);
    let shown = lop.run(["separate", "d"]);
    let text = shown.success().stdout_str().to_owned();
    assert!(text.contains("  keep        1 name elsewhere\n"), "{text}");
    assert_eq!(text.matches("d/1").count(), 1, "{text}");
    let done = lop.run(["separate", "--apply", "d"]);
    let said = done.success().stderr_str();
    assert_eq!(said, "2 hard links replaced by copies\n");
    let output = lop.run(["undo"]);
    output.code(3);
    let said = output.stderr_str();
    assert!(said.contains("its file has its other names outside of the paths"), "{said}");
    // With all names there is a way back.
    let lop = Lop::with(&tree);
    let done = lop.run(["separate", "--apply", "."]);
    let said = done.success().stderr_str();
    assert_eq!(said, "2 hard links replaced by copies; 'lop undo 1' takes it back\n");
    lop.run(["undo"]).success();
    assert_eq!(fs::metadata(lop.path("d/2")).expect("is there").nlink(), 3);
    // There is nothing to do only where something could be looked at.
    let output = lop.run(["separate", "nothere"]);
    output.code(1);
    assert_eq!(output.stderr_str(), "lop: nothere: No such file or directory\n");
}

/// Two processes that undo at once wait for each other; here one of them is the shell's `mv`.
#[test]
fn a_file_that_somebody_took_out_of_the_store_by_hand_counts_as_back() {
    let lop = Lop::with(&TreeBuilder::new().file("a", "alike").file("b", "alike"));
    lop.remember(["."]);
    lop.run(["dedupe", "--by", "quarantine", "--apply", "--all"]).success();
    let listed = document(&lop.run(["quarantine", "list", "--json"]));
    let at = listed["files"][0]["at"].as_str().expect("a path").to_owned();
    let moved = Command::new("mv").arg(at).arg(lop.path("b")).status().expect("runs");
    assert!(moved.success());
    fs::write(lop.path("b"), "changed since").expect("written");
    lop.run(["undo"]).success();
    lop.run(["undo"]).code(1);
    assert_eq!(fs::read(lop.path("b")).expect("is there"), b"changed since");
}
