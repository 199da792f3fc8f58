//! Ways in which other duplicate finders lost users' data. A naive program would fail each of these tests.
//!
//! The numbers in the comments refer to this project's list of these ways. Replayed reports (3) and scripts (15) are
//! tested in `dedupe.rs`.

mod choice;
mod content;
mod identity;
mod permissions;
mod steps;
mod undo_later;

use std::path::Path;

use testkit::{
    Compare, FileSystem, Mount, Output, PathBytes, Snapshot, TreeBuilder, skipped, stores,
};

use crate::lop::{Lop, document, settle};

/// The properties that an undo restores.
const BACK: Compare = Compare::ALL;
/// The kinds of actions that change names.
const CHANGING: [&str; 4] = ["delete", "hardlink", "symlink", "quarantine"];
const KINDS: [&str; 5] = ["delete", "hardlink", "symlink", "quarantine", "reflink"];

/// Returns the properties that an undo must restore. They exclude the times of directories.
fn back() -> Compare {
    BACK - Compare::DIR_MTIMES
}

/// Creates a tree in the working directory and scans it.
fn scanned(tree: &TreeBuilder) -> Lop {
    let lop = Lop::with(tree);
    lop.remember(["."]);
    lop
}

/// Creates a tree below `root` and scans it there.
fn scanned_at(root: impl AsRef<Path>, tree: &TreeBuilder) -> Lop {
    tree.make(&root);
    settle();
    let lop = Lop::new();
    lop.remember([root.as_ref()]);
    lop
}

/// Runs `lop dedupe --apply` with additional arguments.
fn apply<A: PathBytes>(lop: &Lop, by: &str, args: impl IntoIterator<Item = A>) -> Output {
    lop.command().args(["dedupe", "--json", "--apply", "--by", by]).args(args).run()
}

/// Acts on all groups. The run must act on exactly `files` files and skip none.
#[track_caller]
fn apply_all(lop: &Lop, by: &str, files: u64) {
    let output = apply(lop, by, ["--all"]);
    output.success();
    assert_eq!(done(&output), files, "{by}: {}", document(&output));
}

/// Returns the number of files that a run reports as done.
#[track_caller]
fn done(output: &Output) -> u64 {
    document(output)["summary"]["done"].as_u64().expect("a number")
}

/// Undoes the last run, which must succeed.
#[track_caller]
fn undo(lop: &Lop) {
    lop.run(["undo"]).success();
}

/// Asserts that all content of `before` is in one of the trees or in quarantine.
#[track_caller]
fn assert_kept(lop: &Lop, before: &Snapshot, roots: &[&Path]) {
    let mut places: Vec<Snapshot> = roots.iter().map(Snapshot::of).collect();
    places.extend(stores(&lop.runs()).iter().map(Snapshot::of));
    testkit::assert_contents_kept(before, &places.iter().collect::<Vec<_>>());
}

/// Mounts a file system, or prints why that is not possible.
fn mounted(kind: FileSystem, bytes: u64) -> Option<Mount> {
    Mount::new(kind, bytes)
        .map_err(|reason| skipped(format!("no {} to test on: {reason}", kind.name())))
        .ok()
}

fn bound(source: impl AsRef<Path>, target: impl AsRef<Path>) -> Option<Mount> {
    Mount::bind(source, target).map_err(|reason| skipped(format!("no bind mount: {reason}"))).ok()
}

/// Runs a system tool. Returns the output of the tool if it succeeded, and otherwise prints why the test is skipped.
fn tool(name: &str, args: &[&str], path: impl AsRef<Path>) -> Option<String> {
    let output = std::process::Command::new(name).args(args).arg(path.as_ref()).output();
    match output {
        Ok(output) if output.status.success() => {
            Some(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Ok(output) => {
            skipped(format!("{name}: {}", String::from_utf8_lossy(&output.stderr)));
            None
        }
        Err(e) => {
            skipped(format!("{name}: {e}"));
            None
        }
    }
}
