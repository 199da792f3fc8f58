//! The catalog is up to date after a run or an undo, without a new scan.

use std::fs;
use std::os::unix::fs::MetadataExt;

use testkit::{Content, TreeBuilder};

use crate::lop::{Lop, settle};
use crate::random_histories::assert_contents_are_true;

const KINDS: [&str; 4] = ["delete", "hardlink", "symlink", "quarantine"];

/// Returns a tree with two groups. The files of one group have several names.
fn tree() -> TreeBuilder {
    TreeBuilder::new()
        .seeded("a/1", 1, 9000)
        .seeded("b/2", 1, 9000)
        .seeded("b/3", 1, 9000)
        .hard_links(Content::Seeded { seed: 2, len: 70_000 }, &["c/x", "e/link"])
        .hard_links(Content::Seeded { seed: 2, len: 70_000 }, &["c/y", "d/z"])
        .seeded("lone", 3, 500)
}

fn scanned() -> Lop {
    let lop = Lop::with(&tree());
    lop.remember(["."]);
    lop
}

/// Returns the full report, and asserts that no entry in it is stale.
#[track_caller]
fn reported(lop: &Lop) -> String {
    let output = lop.run(["report"]);
    let text = output.success().stdout_str().to_owned();
    assert!(!text.contains("changed since"), "{text}");
    text
}

/// Returns the arguments for runs that take their groups from each source. The last source is the catalog.
fn sources(lop: &Lop, kind: &str) -> Vec<Vec<String>> {
    let path = |name: &str| lop.state().join(name).display().to_string();
    let report = lop.run(["report", "--format", "json"]).success().stdout.clone();
    fs::write(path("report"), report).expect("written");
    let names = ["a/1", "b/2", "b/3", "c/x", "c/y", "d/z", "e/link"];
    fs::write(path("list"), names.join("\n")).expect("written");
    lop.run(["dedupe", "--by", kind, "--save-plan", &path("plan")]).success();
    [
        vec!["--plan", &path("plan")],
        vec!["--by", kind, "--report", &path("report")],
        vec!["--by", kind, "--files-from", &path("list")],
        vec!["--by", kind, "--all"],
    ]
    .map(|args| args.into_iter().map(String::from).collect())
    .into()
}

#[test]
fn after_an_undo_the_catalog_says_what_it_said_before_the_run() {
    for kind in KINDS {
        for source in 0..4 {
            let lop = scanned();
            let before = reported(&lop);
            let args = sources(&lop, kind).swap_remove(source);
            let command = ["dedupe", "--apply"].into_iter().chain(args.iter().map(String::as_str));
            lop.run(command).success();
            // The catalog records the run. No group is left, unless the report lacks a name of one of its files.
            let text = reported(&lop);
            assert_eq!(text.matches("reclaimable").count(), usize::from(source == 1), "{text}");
            assert_contents_are_true(&lop);
            lop.run(["undo"]).success();
            let after = reported(&lop);
            // A link to a name that the report lacks cannot be restored.
            assert!(after == before || source == 1, "{args:?}: {after}");
            assert_contents_are_true(&lop);
            settle();
            lop.scan_figures(["."]).assert_nothing_read();
            assert_eq!(reported(&lop), after, "{args:?}");
        }
    }
}

#[test]
fn partly_restored_files_are_partly_known() {
    let lop = scanned();
    lop.run(["dedupe", "--by", "delete", "--apply", "--all"]).success();
    lop.run(["undo", "1", "b/2"]).success();
    let text = reported(&lop);
    assert!(text.contains("/b/2\n") && !text.contains("/b/3") && !text.contains("/c/y"), "{text}");
    assert_contents_are_true(&lop);
    // The undo must not record a file as unchanged if it has changed since the run.
    fs::write(lop.path("a/1"), vec![7; 9000]).expect("written");
    lop.run(["undo"]).code(3);
    assert_contents_are_true(&lop);
    settle();
    lop.remember(["."]);
    assert_contents_are_true(&lop);
}

#[test]
fn files_restored_from_quarantine_are_known_again() {
    let lop = scanned();
    let before = reported(&lop);
    lop.run(["dedupe", "--by", "quarantine", "--apply", "b"]).success();
    lop.run(["dedupe", "--by", "quarantine", "--apply", "--all"]).success();
    lop.run(["quarantine", "restore"]).success();
    assert_eq!(reported(&lop), before);
    assert_contents_are_true(&lop);
    settle();
    lop.scan_figures(["."]).assert_nothing_read();
}

#[test]
fn separated_names_are_known_as_independent_files() {
    let lop = scanned();
    let before = reported(&lop);
    lop.run(["separate", "--apply", "."]).success();
    let text = reported(&lop);
    assert!(text.contains("4 files of 68.4 KiB"), "{text}");
    assert_contents_are_true(&lop);
    lop.run(["undo"]).success();
    assert_eq!(reported(&lop), before);
    assert_contents_are_true(&lop);
    settle();
    lop.scan_figures(["."]).assert_nothing_read();
}

#[test]
fn an_undo_neither_needs_nor_creates_a_catalog() {
    let lop = scanned();
    lop.run(["dedupe", "--by", "delete", "--apply", "--all"]).success();
    fs::remove_file(lop.catalog()).expect("removed");
    lop.run(["undo"]).success();
    assert!(!lop.catalog().exists());
    // If a catalog cannot be used, a message after the summary says that it was not updated.
    let lop = scanned();
    lop.run(["dedupe", "--by", "delete", "--apply", "--all"]).success();
    fs::write(lop.catalog(), vec![7; 5000]).expect("written");
    let output = lop.run(["undo"]);
    output.code(3);
    let said = output.stderr_str();
    let done = said.find("Run 1 undone: 4 files restored").expect("is said");
    assert!(said[done..].contains("the catalog was not updated: "), "{said}");
    assert!(said.contains("hint: the files stay as they are now"), "{said}");
}

/// A file in quarantine is changed through another of its names. The file still has the changed content after it is
/// restored.
#[test]
fn a_file_changed_in_quarantine_is_no_copy_once_restored() {
    for back in [&["undo"][..], &["quarantine", "restore"]] {
        let tree = TreeBuilder::new().file("t/a/x", "alike").hard_links("alike", &["t/b/y", "out"]);
        let lop = Lop::with(&tree);
        lop.remember(["t"]);
        let quarantine = ["dedupe", "--by", "quarantine", "--keep", "path:a", "--apply", "t/b"];
        lop.run(quarantine).success();
        fs::write(lop.path("out"), "a line more").expect("written");
        lop.run(back).success();
        for scan in [false, true] {
            if scan {
                lop.remember(["t"]);
            }
            assert!(!lop.run(["report"]).stdout_str().contains("reclaimable"), "{back:?} {scan}");
            let said = lop.run(["uniques", "t/b"]).stderr_str().to_owned();
            assert!(!said.contains("each has a copy"), "{back:?} {scan}: {said}");
            assert_contents_are_true(&lop);
        }
    }
}

/// A user saves a file again while the run continues with other files. The run must not record the saved file as its
/// own result.
#[test]
fn a_file_saved_during_a_run_is_not_taken_for_its_result() {
    let save = |lop: &Lop| {
        fs::write(lop.path("saved"), vec![7; 9000]).expect("written");
        fs::rename(lop.path("saved"), lop.path("b/2")).expect("renamed");
    };
    change_during_a_run(save, |lop| {
        lop.remember(["."]);
        assert_contents_are_true(lop);
    });
}

/// Starts a run that links `b/2` to `a/1` and then many other files. Calls `change` after the first link, and `check`
/// after the run. Tries again if the run ended before the change.
#[track_caller]
pub(crate) fn change_during_a_run(change: impl Fn(&Lop), check: impl Fn(&Lop)) {
    const PAIRS: u64 = 3000;
    const TRIES: u64 = 20;
    let is_hit = (0..TRIES).any(|_| {
        let pairs = (2..PAIRS).fold(TreeBuilder::new(), |tree, n| {
            tree.seeded(format!("z/{n}"), n, 3000).seeded(format!("z/{n} again"), n, 3000)
        });
        let lop = Lop::with(&pairs.seeded("a/1", 1, 9000).seeded("b/2", 1, 9000));
        lop.remember(["."]);
        let inode = |name: &str| fs::metadata(lop.path(name)).expect("there").ino();
        let mut run = lop.command().args(["dedupe", "--by", "hardlink", "--apply"]).spawn();
        while inode("a/1") != inode("b/2") && run.is_running() {
            std::thread::yield_now();
        }
        change(&lop);
        let is_hit = run.is_running();
        run.wait().success();
        check(&lop);
        is_hit
    });
    assert!(is_hit, "the run was always over before");
}
