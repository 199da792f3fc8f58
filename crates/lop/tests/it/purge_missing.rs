//! `lop purge --resume` when trees in the journal are no longer in the trash, as after a power
//! failure.

use std::fs;
use std::path::Path;

use serde_json::Value;
use testkit::{FileSystem, Mount, PathBytes, TreeBuilder, skipped};

use crate::lop::{Lop, document};
use crate::purge_background::{history, process, send, wait_for_process};

fn builder() -> TreeBuilder {
    (0..300).fold(TreeBuilder::new(), |tree, i| tree.file(format!("tree/{}/{i}", i % 10), "x"))
}

/// Moves a tree to the trash, and kills the background process before it begins to remove the tree.
fn moved<P: PathBytes>(lop: &Lop, tree: P) {
    let args = [b"--json", &b"purge"[..], b"--instant", b"--rate", b"1"];
    let output = lop.command().args(args).arg(tree).run();
    send("-KILL", &process(&document(output.success())["summary"]));
    wait_for_process(lop);
}

fn files(tree: &Path) -> usize {
    (0..10).map(|i| fs::read_dir(tree.join(i.to_string())).map_or(0, Iterator::count)).sum()
}

fn assert_nothing_to_resume(lop: &Lop) {
    let output = lop.run(["purge", "--resume"]);
    assert!(output.success().stderr_str().starts_with("nothing to resume\n"), "{output:?}");
}

fn assert_where_it_was(lop: &Lop, tree: &Path) {
    let output = lop.run(["purge", "--resume"]);
    let said = output.code(3).stderr_str();
    let known =
        format!("lop: {}: was not moved and is still there; purge it again\n", tree.display());
    assert!(said.contains(&known), "{said}");
    assert!(tree.join("1").exists());
    assert_nothing_to_resume(lop);
    assert!(history(lop).is_empty(), "nothing was moved");
}

#[test]
fn a_tree_back_at_its_name_after_a_power_failure_is_reported_and_the_run_ends() {
    let Ok(mount) = Mount::new(FileSystem::Ext4, 0) else {
        return skipped("no ext4 can be mounted");
    };
    builder().make(mount.path());
    fsops::Dir::open(mount.path()).and_then(|dir| dir.sync_file_system()).expect("synced");
    let (lop, tree) = (Lop::new(), mount.path().canonicalize().expect("a path").join("tree"));
    moved(&lop, &tree);
    mount.fail_power().expect("it is mounted again");
    assert_eq!(files(&tree), 300, "the disk does not know that it was moved");
    assert_where_it_was(&lop, &tree);
    assert_eq!(files(&tree), 300);
}

#[test]
fn a_tree_at_its_name_and_not_in_quarantine_was_not_moved() {
    for store_stays in [false, true] {
        let lop = Lop::with(&builder());
        moved(&lop, "tree");
        let store = testkit::stores(&lop.runs()).pop().expect("a store");
        fs::rename(store.join("0"), lop.path("tree")).expect("is back");
        if !store_stays {
            fs::remove_dir(&store).expect("is empty");
        }
        assert_where_it_was(&lop, &lop.path("tree"));
        assert!(!store.exists());
    }
}

#[test]
fn nothing_is_left_of_a_tree_whose_quarantine_is_gone() {
    let lop = Lop::with(&builder());
    moved(&lop, "tree");
    let store = testkit::stores(&lop.runs()).pop().expect("a store");
    testkit::remove_tree(&store).expect("is removed");
    // Another file has taken the name.
    lop.lay(&TreeBuilder::new().file("tree/another", "x"));
    let output = lop.run(["purge", "--resume"]);
    let known = format!(
        "lop: {}: nothing is left of it; {} is gone\n",
        lop.path("tree").display(),
        store.display()
    );
    assert!(output.success().stderr_str().contains(&known), "{output:?}");
    assert!(lop.path("tree/another").exists());
    let run: Value = history(&lop).pop().expect("a run");
    assert!(!run["ended_ms"].is_null(), "{run}");
    assert_nothing_to_resume(&lop);
}

#[test]
fn a_run_waits_for_a_quarantine_on_a_file_system_that_is_not_mounted() {
    let Ok(mount) = Mount::new(FileSystem::Ext4, 0) else {
        return skipped("no ext4 can be mounted");
    };
    builder().make(mount.path());
    let (lop, point) = (Lop::new(), mount.path().canonicalize().expect("a path"));
    moved(&lop, point.join("tree"));
    let away = mount.away().expect("it is unmounted");
    let output = lop.run(["purge", "--resume"]);
    let said = output.code(3).stderr_str();
    for part in ["/tree: was moved to ", "mount its file system", "/1.purge.jsonl if "] {
        assert!(said.contains(part), "{said}");
    }
    assert!(history(&lop).pop().expect("a run")["ended_ms"].is_null());
    drop(away);
    lop.run(["purge", "--resume"]).success();
    assert!(!point.join("tree").exists() && testkit::stores(&lop.runs()).is_empty());
    assert_nothing_to_resume(&lop);
}
