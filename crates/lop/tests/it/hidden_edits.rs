//! Edits that preserve size and modification time. Only the status change time reveals these edits, but lop also
//! changes that time when it changes names.

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;

use testkit::{Content, TreeBuilder};

use crate::catalog_updates::change_during_a_run;
use crate::concurrency::{Holder, said_to_wait};
use crate::lop::{Lop, settle};
use crate::random_histories::assert_contents_are_true;

const KINDS: [&str; 4] = ["delete", "hardlink", "symlink", "quarantine"];

/// Returns a scanned tree with two groups. The files of one group have several names.
fn scanned() -> Lop {
    let tree = TreeBuilder::new()
        .seeded("a/1", 1, 9000)
        .seeded("b/2", 1, 9000)
        .seeded("b/3", 1, 9000)
        .hard_links(Content::Seeded { seed: 2, len: 70_000 }, &["c/x", "e/link"])
        .hard_links(Content::Seeded { seed: 2, len: 70_000 }, &["c/y", "d/z", "out"])
        .fifo("list");
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    lop
}

const NAMES: [&str; 8] = ["a/1", "b/2", "b/3", "c/x", "c/y", "d/z", "e/link", "out"];

/// Number of names that are in the list.
const LISTED: usize = 7;

/// Writes other bytes into a file as `rsync --inplace --times` does, preserving size and
/// modification time.
fn edit(path: &Path) {
    let file = File::options().read(true).write(true).open(path).expect("opens");
    let modified = file.metadata().expect("there").modified().expect("has one");
    let mut byte = [0];
    file.read_exact_at(&mut byte, 0).expect("read");
    file.write_all_at(&[byte[0] ^ 0x55], 0).expect("written");
    file.set_modified(modified).expect("set");
}

/// Edits each regular file that has one of the given names in the tree, once for each inode.
fn edit_all(lop: &Lop, names: &[&str]) {
    let mut inodes = Vec::new();
    for name in names {
        let path = lop.path(name);
        let Some(meta) = fs::symlink_metadata(&path).ok().filter(fs::Metadata::is_file) else {
            continue;
        };
        if !inodes.contains(&meta.ino()) {
            inodes.push(meta.ino());
            edit(&path);
        }
    }
    assert!(!inodes.is_empty(), "nothing was edited");
}

/// Asserts that the catalog has the true content of each file, both before and after a scan.
#[track_caller]
fn assert_seen(lop: &Lop) {
    assert_contents_are_true(lop);
    settle();
    lop.remember(["."]);
    assert_contents_are_true(lop);
}

/// Runs a command that changes files and then waits for the lock on the catalog. Edits some of the files during the
/// wait.
#[track_caller]
fn edit_before_the_catalog_is_updated(lop: &Lop, args: &[&str], names: &[&str]) {
    let holder = Holder::start(lop);
    let mut running = lop.command().args(args).spawn();
    assert!(running.wait_for(&said_to_wait(&holder)), "{args:?}");
    edit_all(lop, names);
    holder.finish(b"");
    running.wait().success();
}

/// Saves a list of some files and a plan for all files.
fn list_and_plan(lop: &Lop, kind: &str) -> [String; 2] {
    let [list, plan] = ["names", "plan"].map(|name| lop.state().join(name).display().to_string());
    fs::write(&list, NAMES[..LISTED].join("\n")).expect("written");
    lop.run(["dedupe", "--by", kind, "--save-plan", &plan]).success();
    [list, plan]
}

#[test]
fn edits_after_a_run_and_before_the_catalog_update_are_noticed() {
    for kind in KINDS {
        for edited in [&NAMES[..], &["a/1", "c/x"], &["b/2", "e/link"]] {
            let lop = scanned();
            let [list, _] = list_and_plan(&lop, kind);
            let args = ["dedupe", "--by", kind, "--apply", "--files-from", &list];
            edit_before_the_catalog_is_updated(&lop, &args, edited);
            assert_seen(&lop);
            let lop = scanned();
            let [_, plan] = list_and_plan(&lop, kind);
            let args = ["dedupe", "--apply", "--plan", &plan];
            edit_before_the_catalog_is_updated(&lop, &args, edited);
            assert_seen(&lop);
        }
    }
}

#[test]
fn edits_after_an_undo_and_before_the_catalog_update_are_noticed() {
    for kind in KINDS {
        for edited in [&NAMES[..], &["b/2", "c/y"], &["a/1", "c/x"]] {
            let lop = scanned();
            lop.run(["dedupe", "--by", kind, "--apply", "--all"]).success();
            edit_before_the_catalog_is_updated(&lop, &["undo"], edited);
            assert_seen(&lop);
        }
    }
}

#[test]
fn after_files_were_separated_and_after_that_was_undone() {
    for edited in [&NAMES[..], &["c/x", "c/y"], &["e/link", "d/z"]] {
        let lop = scanned();
        edit_before_the_catalog_is_updated(&lop, &["separate", "--apply", "."], edited);
        assert_seen(&lop);
        let lop = scanned();
        lop.run(["separate", "--apply", "."]).success();
        edit_before_the_catalog_is_updated(&lop, &["undo"], edited);
        assert_seen(&lop);
    }
}

/// The run compares the edited files, but the catalog has the old content.
#[test]
fn edits_between_the_scan_and_a_run_on_a_list_are_noticed() {
    for kind in KINDS {
        let lop = scanned();
        let [list, _] = list_and_plan(&lop, kind);
        edit_all(&lop, &NAMES);
        lop.run(["dedupe", "--by", kind, "--apply", "--files-from", &list]).success();
        assert_contents_are_true(&lop);
        lop.run(["undo"]).success();
        assert_seen(&lop);
    }
}

/// Edits files under a name that remains, or edits the file that took the place of the original.
#[test]
fn edits_between_a_run_and_its_undo_are_noticed() {
    for kind in KINDS {
        for edited in [&NAMES[..], &["out"], &["a/1", "c/x"]] {
            let lop = scanned();
            // One name of the kept file is not part of the run.
            let run = ["dedupe", "--by", kind, "--apply", "--keep", "path:c/x", "a", "b", "c", "d"];
            lop.run(run).success();
            edit_all(&lop, edited);
            drop(lop.run(["undo"]));
            assert_seen(&lop);
        }
    }
}

#[test]
fn edits_of_files_in_quarantine_are_noticed() {
    for back in [&["undo"][..], &["quarantine", "restore"]] {
        let lop = scanned();
        lop.run(["dedupe", "--by", "quarantine", "--apply", "--all"]).success();
        let listed = lop.json(["quarantine", "list"]);
        let files = listed["files"].as_array().expect("files");
        assert_eq!(files.len(), 5);
        for file in &files[..3] {
            edit(Path::new(file["at"]["path"].as_str().expect("a path")));
        }
        lop.run(back).success();
        assert_seen(&lop);
    }
}

/// The run makes its plan from the catalog, locks the catalog, and acts on other files after the edit.
#[test]
fn an_edit_during_a_run_is_noticed() {
    let edit_linked = |lop: &Lop| {
        // An edit in the same tick of the kernel clock as the link would get the same status change time.
        settle();
        edit(&lop.path("b/2"));
    };
    change_during_a_run(edit_linked, assert_seen);
}
