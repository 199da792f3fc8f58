//! `lop dedupe`, `undo`, `history`, `quarantine` and `separate`, as users run them.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;

use testkit::{Compare, Snapshot, TreeBuilder, assert_same, parse_nul, skipped};

use crate::lop::{Figures, Lop, document, settle};

/// The properties that an undo restores. A directory's times change when the names in it change.
pub(super) const BACK: Compare = Compare::VISIBLE;

pub(super) fn tree() -> TreeBuilder {
    TreeBuilder::new()
        .seeded("a/1", 1, 9000)
        .seeded("b/2", 1, 9000)
        .seeded(&b"b/\xff\n3"[..], 1, 9000)
        .seeded("c/x", 2, 70_000)
        .seeded("c/y", 2, 70_000)
        .file("lone", "like no other")
        .mtime("a/1", 999_999_999, 0)
        .mtime("b/2", 1_000_000_000, 0)
        .mtime("c/x", 1_000_000_000, 0)
        .mtime("c/y", 1_000_000_000, 5)
}

pub(super) fn scanned() -> Lop {
    let lop = Lop::with(&tree());
    lop.remember(["."]);
    lop
}

pub(super) fn snapshot(lop: &Lop) -> Snapshot {
    Snapshot::of(lop.work())
}

pub(super) fn inode(lop: &Lop, path: &str) -> u64 {
    fs::symlink_metadata(lop.path(path)).expect("is there").ino()
}

#[test]
fn without_apply_nothing_changes_and_the_plan_is_shown() {
    let lop = scanned();
    let before = snapshot(&lop);
    let output = lop.run(["dedupe", "--by", "delete", "--keep", "oldest"]);
    output.success();
    let work = lop.work().display().to_string();
    let stdout = String::from_utf8_lossy(&output.stdout).replace(&work, "");
    assert!(stdout.contains("2 files of 8.8 KiB to delete"), "{stdout}");
    assert!(stdout.contains("  keep        /a/1  (oldest)\n"), "{stdout}");
    assert!(stdout.contains("  delete      /b/2  (other mtime)\n"), "{stdout}");
    assert!(stdout.contains("  keep        /c/x  (oldest)\n"), "{stdout}");
    let said = "3 files to delete, 96.0 KiB to free; \
                nothing was changed, use --apply with a PATH or --all to do it\n";
    assert_eq!(output.stderr_str(), said);
    assert_same(&before, &snapshot(&lop), Compare::ALL);
    assert!(!lop.runs().exists(), "a plan leaves no trace");
}

#[test]
fn losses_with_a_file_are_shown_before() {
    let tree = TreeBuilder::new()
        .hard_links("alike".as_bytes(), &["1/a", "1/b"])
        .file("2/c", "alike")
        .xattr("2/c", "user.note", b"mine")
        .mode("2/c", 0o600)
        .mode("1/a", 0o644)
        .mtime("1/a", 1_000_000_000, 0);
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    let said = |args: &[&str]| {
        let output = lop.run(["dedupe", "--by", "delete"].iter().chain(args).copied());
        output.success().stdout_str().to_owned()
    };
    let text = said(&[]);
    assert!(text.contains("2/c  (other mode, other mtime, other attributes)"), "{text}");
    // Only one of the two names of the file is in the scope, so acting on it would free nothing.
    assert!(said(&["1/a"]).is_empty());
    fs::hard_link(lop.path("2/c"), lop.path("unknown")).expect("linked");
    lop.remember(["2"]);
    let text = said(&[]);
    assert!(
        text.contains("1 file of 5 B to delete\n") && text.contains("has further names"),
        "{text}"
    );
}

#[test]
fn the_catalog_follows_all_names_of_an_inode() {
    let names = ["d/1", "d/2", "d/3", "e/4"];
    for (kind, left) in [("delete", 1), ("hardlink", 5), ("quarantine", 1), ("symlink", 1)] {
        let tree = TreeBuilder::new().file("kept", "alike").hard_links("alike".as_bytes(), &names);
        let lop = Lop::with(&tree);
        lop.remember(["."]);
        let keep = format!("path:{}", lop.path("kept").display());
        lop.run(["dedupe", "--by", kind, "--keep", &keep, "--apply", "--all"]).success();
        let sql = "SELECT count(*), count(DISTINCT inode), max(inodes) FROM file \
                   JOIN content ON content.id = file.content";
        let row = lop.database().query_row(sql, [], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?, row.get::<_, i64>(2)?))
        });
        assert_eq!(row, Ok((left, 1, 1)), "{kind}");
        settle();
        lop.scan_figures(["."]).assert_nothing_read();
    }
}

#[test]
fn each_kind_does_what_it_says_and_is_undone() {
    for kind in ["delete", "hardlink", "symlink", "quarantine"] {
        let lop = scanned();
        let before = snapshot(&lop);
        let output = lop.run(["dedupe", "--by", kind, "--apply", "--all"]);
        output.success();
        assert!(output.stderr_str().starts_with("3 files "), "{}", output.stderr_str());
        let there = |path: &str| fs::symlink_metadata(lop.path(path)).is_ok();
        match kind {
            "hardlink" => assert_eq!(inode(&lop, "a/1"), inode(&lop, "b/2")),
            "symlink" => {
                let target = fs::read_link(lop.path("b/2")).expect("a link");
                assert_eq!(target, Path::new("../a/1"));
            }
            _ => assert!(there("a/1") && !there("b/2") && !there("c/y")),
        }
        let left = snapshot(&lop).contents();
        assert!(before.contents().iter().all(|content| left.contains(content)));
        // The catalog is up to date: nothing is left to do, and no file is reported as changed.
        let again = lop.run(["dedupe", "--by", kind]);
        assert_eq!(again.success().stderr_str(), "Nothing to do\n");
        let report = lop.run(["report"]);
        assert!(!report.success().stdout_str().contains("changed"), "{}", report.stdout_str());
        let undone = lop.run(["undo"]);
        assert_eq!(undone.success().stderr_str(), "Run 1 undone: 3 files restored\n");
        assert_same(&before, &snapshot(&lop), BACK);
        let nothing = lop.run(["undo"]);
        assert_eq!(nothing.code(1).stderr_str(), "lop: there is nothing to undo\n");
    }
}

#[test]
fn a_scan_after_a_run_reads_little() {
    let lop = scanned();
    lop.run(["dedupe", "--by", "hardlink", "--apply"]).success();
    settle();
    let output = lop.scan(["--stats", "."]);
    let figures = Figures::of(&output);
    assert_eq!(figures.get("candidates"), 0, "each content is one inode: {figures:?}");
}

#[test]
fn paths_limit_the_action_and_protected_files_are_kept() {
    let lop = scanned();
    lop.run(["dedupe", "--by", "delete", "--apply", "b"]).success();
    assert!(!lop.path("b/2").exists() && lop.path("a/1").exists());
    assert!(lop.path("c/x").exists() && lop.path("c/y").exists(), "not below b");

    let lop = scanned();
    let protect =
        ["dedupe", "--by", "delete", "--keep", "newest", "--protect", "b", "--apply", "--all"];
    lop.run(protect).success();
    assert!(lop.path("b/2").exists() && lop.path(&b"b/\xff\n3"[..]).exists());
    assert!(!lop.path("a/1").exists(), "its equals are protected");
    let shown = lop.run(["dedupe", "--by", "delete", "--protect", "b"]);
    assert_eq!(shown.success().stderr_str(), "Nothing to do\n");
}

#[test]
fn files_changed_since_the_scan_are_left_alone() {
    let lop = scanned();
    fs::write(lop.path("c/x"), vec![7; 70_000]).expect("written");
    let output = lop.run(["dedupe", "--by", "delete", "--apply", "c"]);
    output.code(3);
    let said = "1 file changed since the scan; run 'lop scan' again\n";
    assert!(output.stderr_str().ends_with(said), "{}", output.stderr_str());
    assert!(lop.path("c/x").exists() && lop.path("c/y").exists());
    let output = lop.run(["dedupe", "--by", "delete", "c", "--json"]);
    output.code(3);
    assert_eq!(document(&output)["summary"]["stale_files"], 1);
    // Changed files outside the scope do not matter.
    lop.run(["dedupe", "--by", "delete", "a"]).success();
}

#[test]
fn undo_overwrites_nothing_and_reports_what_it_cannot_restore() {
    let lop = scanned();
    lop.run(["dedupe", "--by", "quarantine", "--apply", "--all"]).success();
    fs::write(lop.path("b/2"), "new").expect("written");
    let output = lop.run(["undo"]);
    output.code(3);
    let said = output.stderr_str();
    assert!(said.contains("b/2: something else has its name now"), "{said}");
    assert_eq!(fs::read(lop.path("b/2")).expect("read"), b"new");
    assert!(lop.path("c/y").exists());
    let listed = lop.run(["quarantine", "list"]);
    assert!(listed.success().stdout_str().contains("b/2"), "it is still there");
    fs::remove_file(lop.path("b/2")).expect("removed");
    lop.run(["undo"]).success();
    assert_eq!(fs::metadata(lop.path("b/2")).expect("is back").len(), 9000);

    let lop = scanned();
    lop.run(["dedupe", "--by", "delete", "--apply", "--all"]).success();
    fs::write(lop.path("c/x"), "changed").expect("written");
    let output = lop.run(["undo"]);
    output.code(3);
    let said = output.stderr_str();
    assert!(said.contains("c/y: cannot be restored: "), "{said}");
    assert!(said.contains("c/x, the copy that was kept, has changed"), "{said}");
    assert!(said.contains("Run 1: 2 files restored, 1 could not be"), "{said}");
    assert!(lop.path("b/2").exists() && !lop.path("c/y").exists());
}

#[test]
fn files_of_other_users_are_restored_and_their_owner_reported() {
    if !testkit::is_root() {
        return skipped("only root can create files of other users");
    }
    let user = testkit::NOBODY;
    let tree = TreeBuilder::new()
        .dir("d")
        .owner("d", user, user)
        .file("d/kept", "alike")
        .file("d/other", "alike")
        .mode("d/kept", 0o644)
        .mode("d/other", 0o4644);
    let lop = Lop::with(&tree);
    let run = |args: &[&str]| lop.command().args(args.iter().copied()).as_user(user, user).run();
    run(&["scan", "d"]).success();
    run(&["dedupe", "--by", "delete", "--apply", "--all"]).success();
    assert!(!lop.path("d/other").exists());
    let output = run(&["undo"]);
    output.code(3);
    let said = output.stderr_str();
    assert!(said.contains("d/other: is restored, but without its former owner or group"), "{said}");
    let summary = "Run 1 undone: 1 file restored, 1 with another owner or group than before";
    assert!(said.contains(summary), "{said}");
    let back = fs::metadata(lop.path("d/other")).expect("is back");
    assert_eq!((back.uid(), back.mode() & 0o7777), (user, 0o644), "no rights of another owner");
    assert_eq!(fs::read(lop.path("d/other")).expect("read"), b"alike");
}

#[test]
fn directories_that_are_gone_are_made_again() {
    for kind in ["quarantine", "delete"] {
        let tree = TreeBuilder::new().file("a", "alike").file("d/e/f/b", "alike");
        let lop = Lop::with(&tree);
        lop.remember(["."]);
        lop.run(["dedupe", "--by", kind, "--apply", "--all"]).success();
        fs::remove_dir_all(lop.path("d")).expect("removed");
        lop.run(["undo"]).success();
        assert_eq!(fs::read(lop.path("d/e/f/b")).expect("is back"), b"alike");
    }
    // A link that replaced a directory is not followed.
    let tree = TreeBuilder::new().file("a", "alike").file("d/b", "alike").dir("elsewhere");
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    lop.run(["dedupe", "--by", "quarantine", "--apply", "--all"]).success();
    fs::remove_dir_all(lop.path("d")).expect("removed");
    std::os::unix::fs::symlink("elsewhere", lop.path("d")).expect("linked");
    lop.run(["undo"]).code(3);
    assert!(!lop.path("elsewhere/b").exists());
}

#[test]
fn history_lists_what_was_done() {
    let lop = scanned();
    assert_eq!(lop.run(["history"]).success().stdout_str(), "");
    lop.run(["dedupe", "--by", "quarantine", "--apply", "c"]).success();
    lop.run(["dedupe", "--by", "hardlink", "--apply"]).success();
    lop.run(["undo", "1"]).success();
    let output = lop.run(["history"]);
    let lines: Vec<&str> = output.success().stdout_str().lines().collect();
    assert!(lines[0].starts_with("   1  20") && lines[0].ends_with("quarantine  1 file, 1 undone"));
    assert!(lines[1].contains("hardlink    2 files, 24.0 KiB freed"), "{}", lines[1]);
    let runs = document(&lop.run(["history", "--json"]))["runs"].clone();
    assert_eq!((&runs[0]["action"], &runs[1]["done"]), (&"quarantine".into(), &2.into()));
    lop.run(["undo", "7"]).code(1);
}

#[test]
fn purging_needs_the_kept_file_to_exist_and_be_equal() {
    let lop = scanned();
    lop.run(["dedupe", "--by", "quarantine", "--apply", "--all"]).success();
    let young = lop.run(["quarantine", "purge", "--older-than", "1h"]);
    assert!(young.success().stderr_str().starts_with("0 files removed"));
    fs::write(lop.path("c/x"), "changed").expect("written");
    let output = lop.run(["quarantine", "purge", "--older-than", "0s"]);
    output.code(3);
    let said = output.stderr_str();
    assert!(said.contains("c/y: stays: the file kept for it has changed or is gone"), "{said}");
    assert!(said.contains("2 files removed from quarantine"), "{said}");
    let undone = lop.run(["undo"]);
    assert_eq!(undone.success().stderr_str(), "Run 1 undone: 1 file restored\n");
    assert_eq!(fs::metadata(lop.path("c/y")).expect("is back").len(), 70_000);
    assert_eq!(lop.run(["quarantine", "list"]).success().stdout_str(), "");
}

#[test]
fn files_in_quarantine_are_not_found_by_a_scan() {
    let lop = scanned();
    lop.run(["dedupe", "--by", "quarantine", "--apply", "--all"]).success();
    let listed = document(&lop.run(["quarantine", "list", "--json"]));
    let at = listed["files"][0]["at"]["path"].as_str().expect("a path").to_owned();
    let store = Path::new(&at).ancestors().nth(2).and_then(Path::file_name).expect("a store");
    // Uses a directory of the same name in another place. The real quarantine is at the top of the file system, and
    // other tests use it.
    let like = Path::new("like").join(store);
    lop.add(&TreeBuilder::new().seeded(like.join("1"), 5, 900).seeded("like/2", 5, 900));
    let found = lop.run(["scan", "--no-catalog", "--format", "nul", "like"]);
    assert!(parse_nul(&found.success().stdout).is_empty(), "a store is not entered");
    let found =
        lop.run(["scan", "--no-catalog", "--format", "nul", "like", like.to_str().expect("UTF-8")]);
    assert_eq!(parse_nul(&found.success().stdout).len(), 1, "unless it is named");
    lop.run(["undo"]).success();
}

#[test]
fn a_script_compares_again_and_takes_any_name() {
    let lop = scanned();
    let script = lop.run(["dedupe", "--by", "script"]);
    fs::write(lop.state().join("act.sh"), &script.success().stdout).expect("written");
    // The script is stale, because one of the files was replaced.
    fs::write(lop.path("c/y"), vec![1; 70_000]).expect("written");
    let before = snapshot(&lop);
    let sh = |action: &str| {
        let file = lop.state().join("act.sh");
        Command::new("/bin/sh").arg(file).arg(action).output().expect("runs")
    };
    assert_eq!(sh("nonsense").status.code(), Some(2));
    assert_eq!(sh("show").status.code(), Some(3));
    assert_same(&before, &snapshot(&lop), Compare::ALL);
    assert_eq!(sh("hardlink").status.code(), Some(3));
    assert_eq!(inode(&lop, "a/1"), inode(&lop, "b/2"));
    assert_eq!(fs::metadata(lop.path(&b"b/\xff\n3"[..])).expect("is there").nlink(), 3);
    assert_eq!(before.contents(), snapshot(&lop).contents());
    lop.run(["dedupe", "--by", "script", "--apply"]).code(2);
}

#[test]
fn hard_links_are_separated_and_linked_again() {
    let tree = TreeBuilder::new()
        .hard_links(testkit::Content::Seeded { seed: 1, len: 5000 }, &["d/1", "d/2", "e/3"])
        .xattr("d/1", "user.note", b"mine")
        .mode("d/1", 0o640)
        .file("lone", "x");
    let lop = Lop::with(&tree);
    let before = snapshot(&lop);
    let shown = lop.run(["separate", "."]);
    assert!(shown.success().stderr_str().starts_with("2 files to separate, up to 16.0 KiB more"));
    assert_same(&before, &snapshot(&lop), Compare::ALL);
    lop.run(["separate", "--apply", "."]).success();
    let after = snapshot(&lop);
    assert_same(&before, &after, BACK - Compare::LINKS);
    assert!(after.link_groups().is_empty(), "no two names are one file");
    lop.run(["undo"]).success();
    assert_same(&before, &snapshot(&lop), BACK);
    // The name outside the scope keeps the original file.
    lop.run(["separate", "--apply", "d"]).success();
    assert!(snapshot(&lop).link_groups().is_empty());
}

#[test]
fn results_come_as_json() {
    let lop = scanned();
    let shown = document(&lop.run(["dedupe", "--by", "delete", "--json"]));
    assert_eq!(shown["groups"][1]["kept"][0]["why"], "oldest");
    assert_eq!(shown["groups"][1]["files"][0]["action"], "delete");
    assert_eq!(shown["summary"]["files"], 3);
    let done = document(&lop.run(["dedupe", "--by", "delete", "--apply", "--all", "--json"]));
    assert_eq!((&done["summary"]["done"], &done["summary"]["run"]), (&3.into(), &1.into()));
    let undone = document(&lop.run(["undo", "--json"]));
    assert_eq!(undone["summary"]["restored"], 3);
}

#[test]
fn impossible_arguments_are_wrong_usage() {
    let lop = scanned();
    for args in [
        &["dedupe"][..],
        &["dedupe", "--by", "burn"],
        &["dedupe", "--by", "delete", "--keep", "best"],
        &["dedupe", "--by", "delete", "--keep", "first-root"],
        &["dedupe", "--by", "delete", "--plan", "x"],
        &["quarantine", "purge"],
        &["quarantine", "purge", "--older-than", "yesterday"],
        &["separate"],
    ] {
        lop.run(args.iter().copied()).code(2);
    }
    lop.run(["dedupe", "--by", "delete", "--protect", "missing"]).code(1);
}
