//! The catalog in use and its journals are never touched, even if they are among the files to act on.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use testkit::{Compare, Mount, Snapshot, TreeBuilder, assert_same, skipped};

use crate::lop::{Lop, document, settle};

/// Returns a sandbox with a run that can be undone and a copy of the home directory in `backup`.
fn backed_up() -> Lop {
    let lop = Lop::with(&TreeBuilder::new().file("d/a", "alike").file("d/b", "alike"));
    lop.remember(["d"]);
    lop.run(["dedupe", "--by", "delete", "--apply", "d"]).success();
    copy(&lop.home(), &lop.path("backup"));
    settle();
    lop
}

fn copy(from: &Path, to: &Path) {
    let copied = Command::new("cp").arg("-a").args([from, to]).status();
    assert!(copied.expect("cp starts").success());
}

fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8")
}

/// Asserts that the run can be undone.
#[track_caller]
fn assert_undoes(lop: &Lop) {
    assert!(lop.runs().join("1.jsonl").exists(), "the journal of the run");
    lop.run(["undo", "1"]).success();
    assert!(lop.path("d/b").exists());
}

#[test]
fn journals_that_a_backup_contains_are_not_duplicates() {
    let lop = backed_up();
    let home = lop.home();
    lop.remember([&home, &lop.path("backup")]);
    let report = lop.run(["report", "--format", "nul"]);
    assert!(!report.stdout_str().contains("1.jsonl"), "{}", report.stdout_str());
    lop.run(["dedupe", "--by", "delete", "--apply", text(&home)]).success();
    assert_undoes(&lop);
}

#[test]
fn journals_are_known_by_any_path_to_them() {
    let lop = backed_up();
    let state = lop.state().join("lop");
    fs::create_dir(lop.path("view")).expect("made");
    let bound = match Mount::bind(&state, lop.path("view")) {
        Ok(bound) => bound,
        Err(reason) => return skipped(format!("a second mount: {reason}")),
    };
    lop.remember(["view", "backup"]);
    lop.run(["dedupe", "--by", "delete", "--apply", "view"]).success();
    drop(bound);
    assert_undoes(&lop);
    // The path of the catalog contains a symbolic link.
    fs::rename(&state, lop.path("moved")).expect("renamed");
    symlink(lop.path("moved"), &state).expect("linked");
    lop.remember(["moved", "backup"]);
    lop.run(["dedupe", "--by", "delete", "--apply", "moved"]).success();
    assert!(lop.path("moved/catalog.db.runs/1.jsonl").exists());
}

/// Scans with another catalog. lop then does not recognise the files of the default catalog as its
/// own.
fn scan_otherwise(lop: &Lop) -> String {
    let other = lop.path("other.db");
    lop.run(["--catalog", text(&other), "scan", text(&lop.home()), "backup"]).success();
    text(&other).to_string()
}

#[test]
fn plans_reports_and_lists_cannot_name_own_files() {
    let lop = backed_up();
    let (home, other) = (lop.home(), scan_otherwise(&lop));
    let (plan, report) = (lop.path("plan"), lop.path("report"));
    let save = ["dedupe", "--by", "delete", "--save-plan", text(&plan), text(&home)];
    lop.run(["--catalog", &other].into_iter().chain(save)).success();
    let said = lop.run(["--catalog", &other, "report", "--format", "json"]);
    fs::write(&report, &said.stdout).expect("written");
    let journal = lop.runs().join("1.jsonl");
    let copy = lop.path("backup/state/lop/catalog.db.runs/1.jsonl");
    let list = format!("{}\n{}\n", copy.display(), journal.display());
    let keep = format!("path:{}/**", lop.path("backup").display());
    let plan = ["--plan", text(&plan)];
    let report = ["--by", "delete", "--keep", &keep, "--report", text(&report)];
    let listed = ["--by", "delete", "--keep", &keep, "--files-from", "-"];
    for given in [&plan[..], &report, &listed] {
        for apply in [false, true] {
            let output = lop.command().arg("dedupe").args(given);
            let output = output.args(apply.then_some("--apply")).stdin(&list[..]).run();
            output.code(3);
            let said = output.stderr_str();
            let line = format!("{}: belongs to lop's catalog", journal.display());
            assert!(said.contains(&line), "{given:?}: {said}");
            assert!(journal.exists(), "{given:?}");
        }
    }
    // A script skips these files too.
    let script = ["dedupe", "--by", "script", "--keep", &keep, "--files-from", "-"];
    let script = lop.command().args(script).stdin(&list[..]).run();
    assert!(!script.code(3).stdout_str().contains("1.jsonl"), "{}", script.stdout_str());
    assert_undoes(&lop);
}

#[test]
fn files_in_quarantine_are_not_acted_on() {
    let lop = backed_up();
    lop.run(["undo", "1"]).success();
    lop.remember(["d"]);
    lop.run(["dedupe", "--by", "quarantine", "--apply", "d"]).success();
    let listed = lop.json(["quarantine", "list"]);
    let stored = listed["files"][0]["at"]["path"].as_str().expect("where it is").to_string();
    let list = format!("{stored}\n{}\n", lop.path("d/a").display());
    let keep = format!("path:{}", lop.path("d/a").display());
    let output = lop.command().args(["dedupe", "--by", "delete", "--apply", "--keep", &keep]);
    let output = output.args(["--files-from", "-"]).stdin(&list[..]).run();
    output.code(3);
    assert!(output.stderr_str().contains("is in quarantine"), "{}", output.stderr_str());
    lop.run(["undo"]).success();
    assert!(lop.path("d/b").exists());
}

#[test]
fn a_mirror_keeps_own_files() {
    let lop = backed_up();
    let home = lop.home();
    let before = Snapshot::of(lop.state());
    fs::write(home.join("extraneous"), "").expect("written");
    // The source has the directory, but the directory contains none of lop's files.
    lop.lay(&TreeBuilder::new().file("src/state/lop/x", "x"));
    let output = lop.run(["mirror", "--delete", "src", text(&home)]);
    let said = output.success().stderr_str().to_string();
    assert!(said.contains("lop's catalog (state/lop/catalog.db"), "{said}");
    assert!(!home.join("extraneous").exists() && lop.state().join("lop/x").exists());
    // The source does not have the directory.
    lop.lay(&TreeBuilder::new().file("src2/y", "y"));
    let output = lop.run(["mirror", "--delete", "src2", text(&home)]);
    output.code(3);
    let said = output.stderr_str();
    assert!(said.contains("state: is or holds lop's catalog"), "{said}");
    // The source has a file at the path of the directory.
    lop.lay(&TreeBuilder::new().file("src3/state", "y"));
    lop.run(["mirror", "--delete", "src3", text(&home)]).code(3);
    fs::remove_file(lop.state().join("lop/x")).expect("removed");
    assert_same(&before, &Snapshot::of(lop.state()), Compare::VISIBLE);
    assert_undoes(&lop);
}

#[test]
fn a_mirror_does_not_replace_own_files_with_those_of_a_backup() {
    let lop = backed_up();
    let (home, back) = (lop.home(), lop.path("backup"));
    // The backup has an old catalog, a database journal that belongs to another catalog, and
    // another run.
    fs::write(back.join("state/lop/catalog.db"), "old").expect("written");
    fs::write(back.join("state/lop/catalog.db-journal"), "old").expect("written");
    fs::write(back.join("state/lop/catalog.db.runs/1.jsonl"), "old").expect("written");
    fs::write(back.join("state/lop/catalog.db.runs/2.jsonl"), "old").expect("written");
    let before = Snapshot::of(lop.state());
    for options in [&["--dry-run"][..], &[], &["--delete"]] {
        let output = lop.command().arg("mirror").args(options).arg("--json");
        let output = output.args([&back, &home]).run();
        output.success();
        let left = document(&output)["summary"]["left_out"].to_string();
        assert!(left.contains("catalog.db.runs") && left.contains("catalog.db-journal"), "{left}");
        assert_same(&before, &Snapshot::of(lop.state()), Compare::VISIBLE);
    }
    assert_undoes(&lop);
}

#[test]
fn a_mirror_keeps_the_link_that_leads_to_own_files() {
    let lop = backed_up();
    let (home, state) = (lop.home(), lop.state());
    fs::rename(&state, lop.path("moved")).expect("renamed");
    symlink(lop.path("moved"), &state).expect("linked");
    lop.lay(
        &TreeBuilder::new().file("src/y", "y").file("src3/y", "y").file("src3/state/lop/x", "y"),
    );
    for source in ["src", "src3"] {
        lop.run(["mirror", "--delete", source, text(&home)]).success();
        assert!(state.is_symlink(), "{source}");
    }
    assert_undoes(&lop);
}

/// The first scan creates the catalog, and its directory, in the scanned tree.
#[test]
fn the_first_scan_of_a_home_does_not_count_the_catalog() {
    let lop = Lop::with(&TreeBuilder::new().file("a", "alike").file("b", "alike"));
    let home = lop.path("").display().to_string();
    for _ in 0..2 {
        let scan = lop.command();
        let state = Path::new(&home).join("new/state");
        let scanned = scan.env("XDG_STATE_HOME", state).args(["scan", &home]).run();
        let printed = scanned.success().stdout_str();
        assert!(printed.starts_with("Scanned   2 files"), "{printed}");
    }
}
