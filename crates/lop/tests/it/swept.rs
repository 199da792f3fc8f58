//! Entries that a sweep moved into quarantine, as `history`, `quarantine`, `undo` and `status` show and handle them.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

use action::run::Runs;
use action::sweep::{SweepEntry, SweepOptions};
use fsops::Stat;
use runtime::Progress;
use testkit::{Compare, Snapshot, TreeBuilder, assert_same};
use walk::OwnFiles;

use crate::lop::Lop;

/// Moves entries of the working directory into quarantine. Trees count as two files of 4 KiB in total.
pub(crate) fn sweep(lop: &Lop, names: &[&str]) {
    let entry = |name: &&str| {
        let path = lop.work().canonicalize().expect("exists").join(name);
        let was = Stat::of_path(&path).expect("exists");
        let path = path.as_os_str().as_bytes().to_vec();
        SweepEntry { path, was, rule: "test.rule".into(), files: 2, bytes: 4096 }
    };
    let runs = Runs::open(&lop.runs(), |_| {}).expect("opens");
    let own = OwnFiles::default();
    let options =
        SweepOptions { own: &own, open_dirs: 8, directory_times: false, verify_tree: None };
    let swept = runs.sweep(&options, names.iter().map(entry), &Progress::default());
    let (_, outcome, ended) = swept.expect("begins");
    ended.expect("ends");
    assert_eq!(outcome.done, names.len() as u64, "{outcome:?}");
}

fn swept() -> (Lop, Snapshot) {
    let tree = TreeBuilder::new()
        .file("t/cache/a", "one")
        .file("t/cache/deep/b", "two")
        .file("t/log", "three")
        .symlink("t/link", "log")
        .file("t/kept", "four");
    let lop = Lop::with(&tree);
    lop.remember(["t"]);
    let before = Snapshot::of(lop.path("t"));
    sweep(&lop, &["t/cache", "t/log", "t/link"]);
    (lop, before)
}

#[test]
fn history_names_the_rule_of_each_swept_entry() {
    let (lop, _) = swept();
    let output = lop.run(["history"]);
    output.success();
    assert!(output.stdout_str().contains("sweep       3 entries\n"), "{}", output.stdout_str());
    let output = lop.run(["history", "1"]);
    output.success();
    let lines: Vec<_> = output.stdout_str().lines().filter(|line| line.contains("swept")).collect();
    assert_eq!(lines.len(), 3);
    assert!(lines.iter().all(|line| line.ends_with("  (rule: test.rule)")), "{lines:?}");
    let files = lop.json(["history", "1"])["files"].clone();
    let all = files.as_array().expect("a list");
    let of = |key: &'static str| all.iter().map(move |file| file[key].clone());
    assert_eq!(of("rule").filter(|rule| rule == "test.rule").count(), 3);
    assert_eq!(of("files").filter_map(|files| files.as_u64()).collect::<Vec<_>>(), [2]);
    assert_eq!(of("size").next(), Some(4096.into()));
    assert!(of("kept").all(|kept| kept.is_null()));
}

#[test]
fn status_and_the_quarantine_count_the_files_of_swept_trees() {
    let (lop, _) = swept();
    let listed = lop.run(["quarantine", "list"]);
    listed.success();
    let is_tree = |line: &str| line.ends_with("t/cache  (2 files)");
    assert_eq!(listed.stdout_str().lines().filter(|line| is_tree(line)).count(), 1);
    assert!(listed.stderr_str().contains("4 files in quarantine"), "{}", listed.stderr_str());
    let status = lop.json(["status"]);
    assert_eq!((&status["quarantined"], &status["undoable"]), (&4.into(), &1.into()));
}

#[test]
fn undo_restores_swept_entries() {
    let (lop, before) = swept();
    lop.run(["undo", "--dry-run"]).success();
    let undone = lop.json(["undo"]);
    assert_eq!(undone["summary"]["restored"], 3);
    assert_same(&before, &Snapshot::of(lop.path("t")), Compare::ALL - Compare::DIR_MTIMES);
    // The next scan finds all files again.
    lop.remember(["t"]);
    assert_eq!(lop.json(["status"])["quarantined"], 0);
}

#[test]
fn a_restore_of_one_path_leaves_the_rest_in_quarantine() {
    let (lop, _) = swept();
    lop.run(["quarantine", "restore", "t/cache"]).success();
    assert!(lop.path("t/cache/deep/b").exists() && !lop.path("t/log").exists());
    assert_eq!(lop.json(["status"])["quarantined"], 2);
}

#[test]
fn a_purge_of_the_quarantine_removes_swept_trees_even_without_write_permission() {
    let (lop, _) = swept();
    let stores = testkit::stores(&lop.runs());
    let deep = stores[0].join("0/deep");
    fs::set_permissions(&deep, PermissionsExt::from_mode(0o555)).expect("set");
    let purged = lop.json(["quarantine", "purge", "--older-than", "0s"]);
    assert_eq!(
        (&purged["summary"]["purged"], &purged["summary"]["failed"]),
        (&3.into(), &0.into())
    );
    assert!(testkit::stores(&lop.runs()).is_empty());
    assert!(lop.path("t/kept").exists());
    assert_eq!(lop.json(["status"])["quarantined"], 0);
}

#[test]
fn a_purge_keeps_a_tree_with_a_quarantine_in_it_and_says_so() {
    let (lop, _) = swept();
    let store = testkit::stores(&lop.runs())[0].join("0/deep/.lop-quarantine-0");
    fs::create_dir(&store).expect("made");
    fs::write(store.join("1"), "precious").expect("written");
    let output = lop.run(["quarantine", "purge", "--older-than", "0s"]);
    output.code(3);
    let text = output.stderr_str();
    assert!(text.contains("t/cache: could not be removed completely"), "{text}");
    assert!(store.join("1").exists());
    lop.run(["undo"]).success();
    assert!(lop.path("t/cache/deep/.lop-quarantine-0/1").exists());
}
