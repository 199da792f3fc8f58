//! `lop undo`: the files that it restores, the files that it refuses to restore, and its reports.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use testkit::{Compare, FileSystem, Mount, Snapshot, TreeBuilder, assert_same, skipped};

use crate::dedupe::scanned;
use crate::lop::{Lop, document};

/// Writes different bytes of the same length to a file, and restores its modification time.
fn write_behind_its_back(path: &Path, bytes: &str) {
    let before = fs::metadata(path).expect("is there");
    assert_eq!(before.len(), bytes.len() as u64);
    fs::write(path, bytes).expect("written");
    let file = fs::File::options().write(true).open(path).expect("opens");
    file.set_modified(before.modified().expect("a time")).expect("set");
    assert_eq!(fs::metadata(path).expect("is there").mtime_nsec(), before.mtime_nsec());
}

/// Returns the sources for `lop dedupe` that do not contain digests.
fn sources(lop: &Lop) -> Vec<Vec<String>> {
    let state = lop.state().display().to_string();
    let file = |name: &str, bytes: &[u8]| {
        fs::write(lop.state().join(name), bytes).expect("written");
        format!("{state}/{name}")
    };
    let report = lop.run(["report", "--format", "json"]).success().stdout.clone();
    let plan = format!("{state}/plan.jsonl");
    lop.run(["dedupe", "--by", "delete", "--save-plan", &plan]).success();
    // A user who edits a plan can put any digest into it.
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
fn no_other_content_is_ever_used_for_the_file() {
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
        // The digest of the content is known, so any file with this content can be copied.
        write_behind_its_back(&lop.path("a"), "content 1");
        lop.run(["undo"]).success();
        let what = Compare::NAMES | Compare::BYTES;
        assert_same(&before, &Snapshot::of(lop.work()), what);
    }
}

#[test]
fn a_reflink_run_has_nothing_to_undo() {
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
    assert!(said.contains("there is nothing to undo"), "{said}");
    assert!(said.contains("hint: an older run can be undone: lop undo 1"), "{said}");
    let history = document(&lop.run(["history", "--json"]));
    assert_eq!(history["runs"][1]["restored"], 0);
    lop.run(["undo", "1"]).success();
    lop.run(["undo", "2"]).code(1);
}

#[test]
fn an_unreadable_journal_does_not_hide_the_others() {
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
fn separated_names_whose_file_is_elsewhere_are_reported() {
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
    // If all names of the file are in the scope, the run can be undone.
    let lop = Lop::with(&tree);
    let done = lop.run(["separate", "--apply", "."]);
    let said = done.success().stderr_str();
    assert_eq!(said, "2 hard links replaced by copies; 'lop undo 1' reverts it\n");
    lop.run(["undo"]).success();
    assert_eq!(fs::metadata(lop.path("d/2")).expect("is there").nlink(), 3);
    // "Nothing to do" would be wrong, because no file could be examined.
    let output = lop.run(["separate", "nothere"]);
    output.code(1);
    assert_eq!(output.stderr_str(), "lop: nothere: No such file or directory\n");
}

/// Two processes that undo at the same time wait for each other, so `mv` in a shell takes the place of one of them
/// here.
#[test]
fn a_file_that_was_taken_out_of_quarantine_by_hand_counts_as_restored() {
    let lop = Lop::with(&TreeBuilder::new().file("a", "alike").file("b", "alike"));
    lop.remember(["."]);
    lop.run(["dedupe", "--by", "quarantine", "--apply", "--all"]).success();
    let listed = document(&lop.run(["quarantine", "list", "--json"]));
    let at = listed["files"][0]["at"]["path"].as_str().expect("a path").to_owned();
    let moved = Command::new("mv").arg(at).arg(lop.path("b")).status().expect("runs");
    assert!(moved.success());
    fs::write(lop.path("b"), "changed since").expect("written");
    lop.run(["undo"]).success();
    lop.run(["undo"]).code(1);
    assert_eq!(fs::read(lop.path("b")).expect("is there"), b"changed since");
}

/// Returns a tree with two groups. One group contains a file that has two names.
fn tree() -> TreeBuilder {
    TreeBuilder::new()
        .file("a/1", "alike")
        .file("b/2", "alike")
        .file("b/3", "alike")
        .seeded("c/x", 2, 70_000)
        .hard_links(testkit::Content::Seeded { seed: 2, len: 70_000 }, &["c/y", "d/z"])
}

fn applied(kind: &str) -> (Lop, Snapshot) {
    let lop = Lop::with(&tree());
    lop.remember(["."]);
    let before = Snapshot::of(lop.work());
    lop.run(["dedupe", "--by", kind, "--apply", "--all"]).success();
    (lop, before)
}

#[test]
fn a_dry_run_shows_how_each_file_would_be_restored() {
    for (kind, how) in [("delete", "copy"), ("hardlink", "copy"), ("quarantine", "move")] {
        let (lop, before) = applied(kind);
        let after = Snapshot::of(lop.work());
        let output = lop.run(["undo", "--dry-run"]);
        let said = "Run 1: 4 files would be restored; nothing was changed\n";
        assert_eq!(output.success().stderr_str(), said);
        let work = lop.work().display().to_string();
        let text = output.stdout_str().replace(&work, "");
        assert_eq!(text.lines().count(), 4, "{text}");
        let of = if how == "copy" { "(of /a/1)" } else { "(from quarantine)" };
        assert!(text.contains(&format!("  {how}  /b/2  {of}\n")), "{kind}: {text}");
        if how == "copy" {
            assert!(text.contains("  link  /c/y  (to /d/z)\n"), "{kind}: {text}");
        }
        assert_same(&after, &Snapshot::of(lop.work()), Compare::ALL);
        // Files that could not be restored are reported. Paths on the command line limit the undo.
        fs::write(lop.path("a/1"), "changed").expect("written");
        let output = lop.run(["undo", "-n", "--json", "1", "b"]);
        output.code(if how == "copy" { 3 } else { 0 });
        let shown = document(&output);
        let expected = if how == "copy" { (0, 2) } else { (2, 0) };
        let summary = &shown["summary"];
        assert_eq!(
            (&summary["restored"], &summary["failed"]),
            (&expected.0.into(), &expected.1.into())
        );
        assert_eq!(shown["files"].as_array().expect("files").len(), expected.0);
        fs::write(lop.path("a/1"), "alike").expect("written");
        if kind != "hardlink" {
            lop.run(["undo"]).success();
            let what = Compare::NAMES | Compare::BYTES | Compare::LINKS;
            assert_same(&before, &Snapshot::of(lop.work()), what);
        }
    }
    let lop = Lop::new();
    assert_eq!(lop.run(["undo", "-n"]).code(1).stdout_str(), "");
}

#[test]
fn only_some_files_of_a_run_can_be_restored() {
    for kind in ["delete", "hardlink", "symlink", "quarantine"] {
        let (lop, before) = applied(kind);
        // A link that took the place of a file is not followed.
        let output = lop.run(["undo", "1", "b/2", "d"]);
        assert_eq!(output.success().stderr_str(), "Run 1 undone: 2 files restored\n", "{kind}");
        let is_back = |path: &str| {
            let now = Snapshot::of(lop.work());
            now.get(path).is_some_and(|entry| {
                entry.same_as == path.as_bytes() && entry.kind == testkit::snapshot::Kind::File
            })
        };
        assert!(is_back("b/2") && !is_back("b/3"), "{kind}");
        let output = lop.run(["undo", "1", "b/2", "lone"]);
        output.code(3);
        let said = output.stderr_str();
        assert!(said.contains("b/2: run 1 has nothing to restore there"), "{said}");
        assert!(said.contains("lone: run 1 has nothing to restore there"), "{said}");
        lop.run(["undo", "1"]).success();
        assert_same(&before, &Snapshot::of(lop.work()), Compare::VISIBLE);
        lop.run(["undo"]).code(1);
    }
    let (lop, _) = applied("delete");
    let output = lop.run(["undo", "b/2"]);
    output.code(2);
    assert!(output.stderr_str().contains("not the number of a run"), "{}", output.stderr_str());
}

#[test]
fn history_lists_each_file_of_a_run() {
    let (lop, _) = applied("quarantine");
    lop.run(["undo", "1", "b/2"]).success();
    fs::write(lop.path("b/2"), "open for writing").expect("written");
    lop.remember(["."]);
    let work = lop.work().display().to_string();
    let shown = lop.run(["history", "1"]);
    let text = shown.success().stdout_str().replace(&work, "");
    let first = text.lines().next().expect("a line");
    assert!(first.ends_with("quarantine  4 files, 1 undone"), "{text}");
    assert!(text.contains("\n  restored      /b/2  (kept: /a/1)\n"), "{text}");
    assert!(text.contains("\n  quarantined   /b/3  (kept: /a/1)\n"), "{text}");
    let shown = document(&lop.run(["history", "1", "--json"]));
    assert_eq!(shown["summary"]["done"], 4);
    let files = shown["files"].as_array().expect("files");
    let path = lop.path("b/2").display().to_string();
    let file = files.iter().find(|file| file["path"] == path).expect("is listed");
    assert_eq!((files.len(), &file["state"]), (4, &"restored".into()));
    assert_eq!(file["kept"]["path"], lop.path("a/1").display().to_string());
    // The history lists commands that remove trees.
    lop.run(["purge", "--instant", "c"]).success();
    let text = lop.run(["history", "2"]).success().stdout_str().replace(&work, "");
    assert!(text.lines().nth(1) == Some("  /c"), "{text}");
    assert_eq!(lop.run(["history", "7"]).code(1).stderr_str(), "lop: there is no run 7\n");
}

#[test]
fn a_run_counts_already_done_files_apart_from_files_left_alone() {
    let Ok(mount) = Mount::new(FileSystem::Btrfs, 0).map_err(skipped) else { return };
    let tree = TreeBuilder::new().seeded("1", 1, 90_000).seeded("2", 1, 90_000);
    tree.make(mount.path().join("d"));
    let lop = Lop::new();
    let list = format!("{0}/d/1\n{0}/d/2\n", mount.path().display());
    let list_file = lop.state().join("list");
    fs::write(&list_file, list).expect("written");
    let list = list_file.to_str().expect("UTF-8");
    for _ in 0..2 {
        lop.run(["dedupe", "--by", "reflink", "--files-from", list, "--apply"]).success();
    }
    let runs = document(&lop.run(["history", "--json"]))["runs"].clone();
    assert_eq!((&runs[0]["done"], &runs[0]["already"]), (&1.into(), &0.into()), "{runs}");
    if let Some(second) = runs.get(1) {
        let counts = (&second["done"], &second["already"], &second["failed"]);
        assert_eq!(counts, (&0.into(), &1.into(), &0.into()), "{runs}");
        let text = lop.run(["history", "2"]).success().stdout_str().to_owned();
        assert!(text.contains("already done  "), "{text}");
    }
}

#[test]
fn files_and_bytes_of_a_run_that_was_killed_agree() {
    let strace = match testkit::Strace::find() {
        Ok(strace) => strace,
        Err(reason) => return skipped(reason),
    };
    let tree = (0..12u64).fold(TreeBuilder::new(), |tree, n| tree.seeded(format!("{n}"), 1, 8192));
    for nth in [1, 4, 8] {
        let lop = Lop::with(&tree);
        lop.remember(["."]);
        let apply = lop.command().args(["dedupe", "--by", "delete", "--apply", "--all"]);
        assert!(strace.kill(apply, &testkit::Calls::nth("unlinkat", nth)).fired());
        // Any command that changes files finishes the interrupted run.
        lop.run(["undo", "99"]).code(1);
        let run = document(&lop.run(["history", "--json"]))["runs"][0].clone();
        let deleted = 12 - fs::read_dir(lop.work()).expect("listed").count() as u64;
        assert_eq!(run["done"], deleted, "{run}");
        assert_eq!(run["freed_bytes"], deleted * 8192, "{run}");
        assert_eq!(run["failed"], 11 - deleted, "{run}");
    }
}

#[test]
fn an_undone_run_reports_that_nothing_is_left() {
    let lop = scanned();
    lop.run(["dedupe", "--by", "delete", "--apply", "--all"]).success();
    lop.run(["undo", "1"]).success();
    let journal = fs::read(lop.runs().join("1.jsonl")).expect("a journal");
    let expected = "Run 1: nothing is left to restore; it was undone at ";
    for options in [&[][..], &["--dry-run"]] {
        let output = lop.command().args(["undo", "1"]).args(options.iter().copied()).run();
        let said = output.success().stderr_str();
        let time = said.strip_prefix(expected).unwrap_or_else(|| panic!("{said}"));
        assert_eq!(time.len(), "2026-11-25 23:56\n".len(), "{said}");
    }
    assert_eq!(lop.json(["undo", "1"])["summary"]["restored"], 0);
    assert_eq!(fs::read(lop.runs().join("1.jsonl")).expect("a journal"), journal);
    // Undo does not claim to have restored a file that was removed permanently.
    lop.remember(["."]);
    lop.run(["dedupe", "--by", "quarantine", "--apply", "--all"]).success();
    lop.run(["quarantine", "purge", "--older-than", "0s"]).success();
    let said = "Run 2: nothing is left to restore; 3 files were removed from quarantine for good\n";
    assert_eq!(lop.run(["undo", "2"]).success().stderr_str(), said);
    // A path on the command line gets its own message.
    let output = lop.run(["undo", "2", "c"]);
    output.code(3);
    assert!(output.stderr_str().contains("c: run 2 has nothing to restore there"), "unmatched");
}
