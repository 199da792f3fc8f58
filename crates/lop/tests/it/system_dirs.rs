//! Entries that a scan skips: system folders and pseudo file systems.

use std::fs;
use std::io::PipeReader;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use testkit::{Mount, TreeBuilder, assert_groups, groups_of, skipped};

use crate::lop::{Lop, document};

const FOLDERS: [&str; 8] = [
    ".snapshots",
    "@eaDir",
    "#snapshot",
    "$Recycle.Bin",
    ".Trash-1000",
    "System Volume Information",
    "lost+found",
    "home/me/.local/share/Trash",
];

/// Returns a tree with a pair of files, and with a copy in each system folder.
fn tree() -> TreeBuilder {
    let mut tree = TreeBuilder::new().file("a", "alike").file("1", "pair").file("sub/2", "pair");
    for folder in FOLDERS {
        tree = tree.file(format!("{folder}/deep/copy"), "alike");
    }
    tree
}

#[test]
fn system_folders_are_skipped_and_counted() {
    let lop = Lop::with(&tree());
    let summary = lop.scan_summary(["."]);
    assert_eq!(summary["files"], 3);
    assert_eq!(summary["skipped"], json!({ "system_dirs": 8 }));
    assert_groups(&groups_of([["1", "sub/2"]]), &lop.report());
    let output = lop.scan(["."]);
    assert!(
        output.stdout_str().contains("Skipped   8 system folders\n"),
        "{}",
        output.stdout_str()
    );
}

#[test]
fn system_folders_are_scanned_on_request_or_if_named() {
    let lop = Lop::with(&tree());
    let summary = lop.scan_summary(["--system-dirs", "."]);
    assert_eq!((&summary["files"], &summary["skipped"]), (&11.into(), &json!({})));
    // A scan does not forget the results of other scans.
    lop.remember(["."]);
    assert_eq!(lop.report().iter().map(std::collections::BTreeSet::len).max(), Some(9));
    let lop = Lop::with(&tree());
    let summary = lop.scan_summary([".snapshots", "@eaDir/deep"]);
    assert_eq!((&summary["files"], &summary["skipped"]), (&2.into(), &json!({})));
}

/// Snapshots are rotated and the trash is emptied, so a copy there does not justify deleting another copy.
#[test]
fn a_copy_in_a_system_folder_does_not_count_as_a_copy_elsewhere() {
    for options in [&["."][..], &["--system-dirs", "."]] {
        let lop = Lop::with(&tree().file("sub/a", "alike").file("trash/.Trash-7/a", "alike"));
        lop.remember(options);
        fs::remove_file(lop.path("a")).expect("removed");
        lop.run(["refresh"]).success();
        let paths = |args: &[&str], code| lop.listed(args.iter().copied(), code);
        assert_eq!(paths(&["uniques", "sub"], 6), ["sub/a"], "{options:?}");
        assert_eq!(paths(&["contains", "sub", "trash"], 6), ["sub/2", "sub/a"], "{options:?}");
    }
}

/// The trash in a directory is lost when the directory is deleted.
#[test]
fn system_folders_in_the_directory_in_question_are_examined() {
    let lop = Lop::with(&TreeBuilder::new().file("d/a", "alike").file("b", "alike"));
    lop.remember(["."]);
    lop.run(["uniques", "d"]).success();
    lop.add(&TreeBuilder::new().file("d/.Trash-1000/files/last", "the last copy"));
    lop.remember(["."]);
    let output = lop.run(["uniques", "d"]);
    output.code(3);
    assert!(output.stdout_str().contains("d/.Trash-1000/files/last"), "{}", output.stdout_str());
    assert_eq!(lop.listed(["dups", "d"], 0), ["d/a"]);
}

#[test]
fn system_folders_do_not_prevent_directories_from_being_equal() {
    let tree = TreeBuilder::new()
        .file("x/photo", "alike, and large enough")
        .file("y/photo", "alike, and large enough")
        .file("x/@eaDir/photo/thumb", "a thumbnail");
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    assert_eq!(lop.json(["report", "--dirs"])["summary"]["equal"], 1);
}

#[test]
fn dedupe_leaves_repositories_and_system_folders_alone() {
    let mut tree = TreeBuilder::new().file("a", "alike").file("b", "alike").file("lone", "once");
    for file in ["one/.git/objects/x", "two/.git/objects/x", ".hg/x", "z/.Trash-1000/x"] {
        tree = tree.file(file, "alike");
    }
    let lop = Lop::with(&tree.file("one/.git/lone", "once"));
    lop.remember(["--system-dirs", "."]);
    let planned = |args: &[&str]| {
        let output = lop.run(["dedupe", "--by", "delete"].iter().chain(args).copied());
        let out = output.success().stdout_str().to_owned();
        (out.matches("  delete  ").count(), output.stderr_str().to_owned())
    };
    let (files, said) = planned(&[]);
    let line = "skipped 5 files in repositories, snapshots, trash or system folders; \
                use --system-dirs to include them\n";
    assert!(files == 1 && said.starts_with(line), "{files} {said}");
    let (files, said) = planned(&["--system-dirs"]);
    assert!(files == 6 && !said.contains("skipped"), "{files} {said}");
    // lop acts on a folder that the user names.
    assert_eq!(planned(&["one/.git"]).0, 2);
    lop.run(["dedupe", "--by", "delete", "--apply", "--all"]).success();
    assert!(lop.path("one/.git/objects/x").exists() && lop.path("z/.Trash-1000/x").exists());
    assert!(lop.path("lone").exists() && lop.path("one/.git/lone").exists());
}

#[test]
fn pseudo_file_systems_are_skipped() {
    let lop = Lop::with(&TreeBuilder::new().file("a", "alike").file("b", "alike").dir("proc"));
    let Ok(mount) = Mount::bind("/proc", lop.path("proc")).map_err(skipped) else { return };
    let output = lop.run(["scan", "--json", "."]);
    output.success();
    let summary = &document(&output)["summary"];
    assert_eq!(summary["skipped"], json!({ "pseudo_file_systems": 1 }));
    let output = lop.scan(["."]);
    assert!(output.stdout_str().contains("Skipped   1 pseudo file system\n"));
    lop.run(["uniques", "."]).code(6);
    drop(mount);
}

#[test]
fn a_pseudo_file_system_is_not_scanned_even_if_it_is_named() {
    let lop = Lop::with(&TreeBuilder::new().file("a", "alike").file("b", "alike"));
    let output = lop.run(["scan", "/proc", "/sys"]);
    output.success();
    let said = output.stdout_str();
    assert!(said.starts_with("Scanned   0 files"), "{said}");
    assert!(said.ends_with("Skipped   2 pseudo file systems\n"), "{said}");
    assert!(!lop.catalog().exists(), "there is nothing to remember");
    let summary = lop.scan_summary(["/proc", "."]);
    assert_eq!(summary["files"], 2);
}

/// Opening a mount point of this kind blocks until its file system is mounted.
#[test]
fn an_automount_point_is_not_triggered() {
    let lop = Lop::with(&TreeBuilder::new().file("a", "alike").file("b", "alike").dir("nas"));
    let Some(_automount) = Automount::on(&lop.path("nas")) else { return };
    let output = lop.command().args(["scan", "--json", "."]).run();
    let summary = &document(output.success())["summary"];
    assert_eq!((&summary["files"], &summary["groups"]), (&2.into(), &1.into()));
    assert_eq!(summary["skipped"], json!({ "pseudo_file_systems": 1 }));
}

/// A mount point for which mount requests are never answered.
struct Automount {
    point: PathBuf,
    /// The pipe through which the kernel sends its requests.
    _requests: PipeReader,
}

impl Automount {
    fn on(point: &Path) -> Option<Automount> {
        let (requests, kernel) = std::io::pipe().expect("a pipe");
        // Processes in this group are not blocked. The group does not contain any process of the test.
        let mut group = Command::new("sleep").arg("60").process_group(0).spawn().expect("sleeps");
        let options = format!("fd=0,pgrp={},minproto=5,maxproto=5,direct", group.id());
        let mut mount = Command::new("mount");
        mount.args(["-i", "-t", "autofs", "-o", &options, "lop-test"]).arg(point).stdin(kernel);
        let mounted = mount.output();
        group.kill().and_then(|()| group.wait()).expect("ended");
        match mounted {
            Ok(output) if output.status.success() => {}
            other => {
                skipped(format!("no automount: {other:?}"));
                return None;
            }
        }
        Some(Automount { point: point.to_path_buf(), _requests: requests })
    }
}

impl Drop for Automount {
    fn drop(&mut self) {
        let unmounted = Command::new("umount").arg("-i").arg("-l").arg(&self.point).status();
        assert!(unmounted.is_ok_and(|status| status.success()));
    }
}

#[test]
fn a_copy_in_the_trash_is_not_reported_as_inside() {
    let lop = Lop::with(
        &TreeBuilder::new()
            .file("d/a", "thrown away")
            .file("trash/.Trash-7/files/a", "thrown away")
            .file("d/b", "twice in there")
            .file("d/b2", "twice in there")
            .hard_links("linked", &["d/c", "elsewhere/c"])
            .file("trash/.Trash-7/files/c", "linked"),
    );
    lop.remember(["--system-dirs", "."]);
    let dups = lop.run(["dups", "d"]);
    let said = "4 of 4 files (45 B) have duplicates, 2 only inside d\n  \
                1 of these has copies outside d only in trash or system folders\n";
    assert_eq!(dups.success().stderr_str(), said);
    let uniques = lop.run(["uniques", "d"]);
    uniques.code(6);
    let said = "\n  2 of these have copies inside only\n  \
                1 of these has copies outside only in trash or system folders, which do not count\n";
    assert!(uniques.stderr_str().ends_with(said), "{}", uniques.stderr_str());
    let mark = "d/a  (copies elsewhere only in trash or system folders)\n";
    assert!(uniques.stdout_str().contains(mark), "{}", uniques.stdout_str());
    for command in ["dups", "uniques"] {
        let output = lop.command().args([command, "--json", "d"]).run();
        let summary = document(&output)["summary"].clone();
        assert_eq!((&summary["only_inside"], &summary["only_system_dirs"]), (&2.into(), &1.into()));
    }
}
