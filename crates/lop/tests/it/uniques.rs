//! `lop uniques DIR` lists exactly the files that would be lost if the directory were deleted, and has an exit code
//! for scripts.

use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::fs::symlink;

use testkit::{Mount, NOBODY, Sandbox, TreeBuilder, deep_path, is_root, skipped};

use crate::lop::{Lop, assert_exit_record, document, settle};

/// Checks the exit code, and returns the names below `dir` that are listed as unique.
#[track_caller]
fn uniques(lop: &Lop, dir: &str, code: i32) -> Vec<String> {
    lop.listed(["uniques", dir], code)
}

#[test]
fn only_copies_outside_count() {
    let tree = TreeBuilder::new()
        .file("dir/outside", "copied outside")
        .file("elsewhere/copy", "copied outside")
        .file("dir/inside 1", "copied inside")
        .file("dir/sub/inside 2", "copied inside")
        .file("dir/alone", "no copy")
        .file("dir/same size", "On copy");
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    let lost = ["dir/alone", "dir/inside 1", "dir/same size", "dir/sub/inside 2"];
    assert_eq!(uniques(&lop, "dir", 6), lost);
    assert_eq!(lop.listed(["uniques", "--anywhere", "dir"], 6), ["dir/alone", "dir/same size"]);
    assert_eq!(uniques(&lop, "elsewhere", 0), [""; 0]);
    // For the subdirectory, the rest of the directory counts as outside.
    assert_eq!(uniques(&lop, "dir/sub", 0), [""; 0]);
    assert_eq!(uniques(&lop, ".", 6).len(), 6);
    let output = lop.run(["uniques", "dir"]);
    let listing = "dir/alone\ndir/inside 1  (copies only in this directory)\ndir/same size\n\
                   dir/sub/inside 2  (copies only in this directory)\n";
    assert_eq!(output.stdout_str(), listing);
    let said = "4 of 5 files (40 B) have no copy outside\n  2 of these have copies inside only\n";
    assert_eq!(output.stderr_str(), said);
}

#[test]
fn a_directory_with_the_same_name_prefix_is_outside() {
    let tree = TreeBuilder::new().file("dir/a", "alike").file("dir2/a", "alike").file("di/b", "x");
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    for name in ["dir", "dir/", "./dir", "dir2", "dir/../dir2/."] {
        assert_eq!(uniques(&lop, name, 0), [""; 0], "{name}");
    }
}

#[test]
fn a_hard_link_outside_counts_and_one_inside_does_not() {
    let tree = TreeBuilder::new()
        .hard_links("linked outside", &["dir/a", "elsewhere/a"])
        .hard_links("linked inside", &["dir/b", "dir/b2"])
        .hard_links("linked and copied inside", &["dir/c", "elsewhere/c"])
        .file("dir/c2", "linked and copied inside");
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    assert_eq!(uniques(&lop, "dir", 6), ["dir/b", "dir/b2"]);
    fs::remove_file(lop.path("elsewhere/c")).expect("removed");
    lop.run(["scan", "dir"]).success();
    assert_eq!(uniques(&lop, "dir", 6), ["dir/b", "dir/b2", "dir/c", "dir/c2"]);
}

#[test]
fn a_copy_outside_that_changed_or_is_gone_does_not_count() {
    let mut tree = TreeBuilder::new();
    for name in ["changed", "gone", "kind", "replaced", "stays", "touched"] {
        let content = format!("content of {name}");
        tree = tree.file(format!("dir/{name}"), content.as_str());
        tree = tree.file(format!("elsewhere/{name}"), content.as_str());
    }
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    assert_eq!(uniques(&lop, "dir", 0), [""; 0]);
    let outside = |name: &str| lop.path(format!("elsewhere/{name}"));
    fs::write(outside("changed"), "CONTENT of changed").expect("written");
    fs::remove_file(outside("gone")).expect("removed");
    fs::remove_file(outside("kind")).expect("removed");
    fs::create_dir(outside("kind")).expect("made");
    fs::rename(outside("stays"), outside("replaced")).expect("renamed");
    fs::write(outside("stays"), "content of stays").expect("written");
    let file = fs::File::options().write(true).open(outside("touched")).expect("opens");
    file.set_modified(std::time::SystemTime::UNIX_EPOCH).expect("set");
    let lost = ["changed", "gone", "kind", "replaced", "stays", "touched"];
    assert_eq!(uniques(&lop, "dir", 6), lost.map(|name| format!("dir/{name}")));
    settle();
    lop.remember(["elsewhere"]);
    // After a scan, files that were only touched or rewritten are known again.
    assert_eq!(
        uniques(&lop, "dir", 6),
        ["changed", "gone", "kind", "replaced"].map(|n| format!("dir/{n}"))
    );
}

#[test]
fn unknown_files_are_listed_and_not_called_unique() {
    let tree = TreeBuilder::new()
        .file("dir/known", "known")
        .file("dir/changed", "change")
        .file("elsewhere/known", "known")
        .file("elsewhere/changed", "change")
        .file("elsewhere/new", "new and the same");
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    fs::write(lop.path("dir/changed"), "CHANGE").expect("written");
    fs::write(lop.path("dir/new"), "new and the same").expect("written");
    assert_eq!(uniques(&lop, "dir", 3), ["dir/changed", "dir/new"]);
    let summary = &document(&lop.run(["uniques", "--json", "dir"]))["summary"];
    assert_eq!((&summary["files"], &summary["uniques"]), (&3.into(), &0.into()));
    assert_eq!((&summary["unknown"], &summary["stale_files"]), (&2.into(), &1.into()));
    let said = lop.run(["uniques", "dir"]);
    let listed = "dir/changed  (changed since the scan)\ndir/new  (not in the catalog)\n";
    assert_eq!(said.stdout_str(), listed);
    let text = "1 of 3 files has a copy outside\n  \
                1 file is not in the catalog; run 'lop scan' there\n  \
                1 file changed since the scan; run 'lop scan' again\n";
    assert_eq!(said.stderr_str(), text);
    assert_eq!(lop.listed(["uniques", "--anywhere", "dir"], 3), ["dir/changed", "dir/new"]);
    settle();
    lop.remember(["dir"]);
    assert_eq!(uniques(&lop, "dir", 6), ["dir/changed"]);
}

#[test]
fn a_directory_that_was_never_scanned_is_listed_whole() {
    let lop = Lop::with(&TreeBuilder::new().file("dir/a", "alike").file("known/b", "alike"));
    lop.remember(["known"]);
    assert_eq!(uniques(&lop, "dir", 5), ["dir/a"], "nothing at all is known of it");
}

/// The new content of a changed copy is unknown.
#[test]
fn a_file_whose_copies_changed_is_unknown_and_not_unique() {
    let tree = TreeBuilder::new().file("dir/a", "alike").file("copy", "alike");
    let lop = Lop::with(&tree.file("dir/alone", "has no copy"));
    lop.remember(["."]);
    fs::File::options()
        .write(true)
        .open(lop.path("copy"))
        .and_then(|file| file.set_modified(std::time::SystemTime::UNIX_EPOCH))
        .expect("set");
    let output = lop.run(["uniques", "dir"]);
    output.code(6);
    let listed = "dir/a  (its copies changed since the scan)\ndir/alone\n";
    assert_eq!(output.stdout_str(), listed);
    fs::remove_file(lop.path("dir/alone")).expect("removed");
    for command in [["uniques", "dir"], ["dups", "dir"], ["ls", "dir"], ["file", "dir/a"]] {
        lop.run(command).code(3);
    }
    let output = lop.run(["file", "dir/a"]);
    assert!(output.stdout_str().starts_with("dir/a: no known duplicates, "));
    settle();
    lop.remember(["."]);
    lop.run(["uniques", "dir"]).success();
}

#[test]
fn empty_files_and_links_are_mentioned_and_not_counted() {
    let tree = TreeBuilder::new()
        .file("dir/a", "alike")
        .file("dir/empty", "")
        .symlink("dir/link", "a")
        .file("copy", "alike")
        .dir("nothing");
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    let output = lop.run(["uniques", "dir"]);
    output.success();
    let said = "1 file: each has a copy outside\n  1 empty file not counted\n  \
                1 symbolic link not counted\n";
    assert_eq!((output.stdout_str(), output.stderr_str()), ("", said));
    let output = lop.run(["uniques", "-q", "nothing"]);
    output.success();
    assert_eq!((output.stdout_str(), output.stderr_str()), ("", ""));
}

/// A second path to the directory itself is not a copy that would survive.
#[test]
fn another_path_to_the_directory_is_not_outside() {
    let tree = TreeBuilder::new()
        .file("dir/copied 1", "copied inside")
        .file("dir/copied 2", "copied inside")
        .hard_links("linked inside", &["dir/linked 1", "dir/sub/linked 2"])
        .file("dir/sub/alone", "alone")
        .dir("bound");
    let lop = Lop::with(&tree);
    let bound = match Mount::bind(lop.path("dir"), lop.path("bound")) {
        Ok(bound) => bound,
        Err(reason) => return skipped(reason),
    };
    let all = ["copied 1", "copied 2", "linked 1", "sub/alone", "sub/linked 2"];
    let below = |dir: &str| all.map(|name| format!("{dir}/{name}")).to_vec();
    lop.remember(["dir"]);
    lop.remember(["bound"]);
    assert_eq!(uniques(&lop, "dir", 6), below("dir"));
    assert_eq!(uniques(&lop, "bound", 6), below("bound"));
    // The same applies to a subdirectory.
    assert_eq!(uniques(&lop, "bound/sub", 6), ["bound/sub/alone"]);
    assert_eq!(uniques(&lop, "dir/sub", 6), ["dir/sub/alone"]);
    drop(bound);
    assert_eq!(uniques(&lop, "dir", 6), below("dir"));
}

#[test]
fn a_link_where_a_directory_was_leads_to_no_copy() {
    let tree = TreeBuilder::new()
        .file("old/a", "copied inside")
        .file("old/b", "copied inside")
        .hard_links("linked", &["old/c", "old/d"]);
    let lop = Lop::with(&tree);
    lop.remember(["old"]);
    fs::rename(lop.path("old"), lop.path("new")).expect("renamed");
    symlink("new", lop.path("old")).expect("linked");
    lop.remember(["new"]);
    assert_eq!(uniques(&lop, "new", 6), ["new/a", "new/b", "new/c", "new/d"]);
    // The same applies to a link that leads to the same directory.
    assert_eq!(uniques(&lop, "old", 6), ["old/a", "old/b", "old/c", "old/d"]);
}

#[test]
fn a_directory_given_by_a_link_is_that_directory() {
    let tree = TreeBuilder::new()
        .file("real/a", "inside")
        .file("real/b", "inside")
        .file("real/c", "outside")
        .file("copy", "outside")
        .symlink("link", "real");
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    assert_eq!(uniques(&lop, "link", 6), ["link/a", "link/b"]);
}

#[test]
fn a_copy_far_below_path_max_counts() {
    let tree = TreeBuilder::new().deep_chain(3000, "d", "deep down").file("near/copy", "deep down");
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    assert_eq!(uniques(&lop, "near", 0), [""; 0]);
    let answer = lop.run(["file", "near/copy"]);
    answer.success();
    assert!(answer.stdout_str().starts_with("near/copy: 1 duplicate, 9 B\n"));
    let chain = format!("/{}\n", String::from_utf8_lossy(&deep_path(3000, "d")));
    assert!(answer.stdout_str().ends_with(&chain));
    assert_eq!(uniques(&lop, "d", 0), [""; 0]);
    fs::remove_file(lop.path("near/copy")).expect("removed");
    let lost = uniques(&lop, "d", 6);
    assert_eq!(lost.len(), 1);
    assert_eq!(lost[0].len(), 6006);
}

#[test]
fn hard_links_far_below_path_max_count() {
    let tree = TreeBuilder::new().deep_chain(2500, "d", "deep down");
    let lop = Lop::with(&tree);
    let bottom = testkit::open_beneath(&lop.work(), deep_path(2500, "d")).expect("opens");
    let from = format!("/proc/self/fd/{}", bottom.as_raw_fd());
    let linked = rustix::fs::linkat(
        rustix::fs::CWD,
        from,
        rustix::fs::CWD,
        lop.path("link"),
        rustix::fs::AtFlags::SYMLINK_FOLLOW,
    );
    linked.expect("linked");
    settle();
    lop.remember(["."]);
    assert_eq!(uniques(&lop, "d", 0), [""; 0]);
}

#[test]
fn unexamined_entries_decide_only_if_all_others_have_a_copy() {
    if !is_root() {
        return skipped("only root can run the rest as a user without permissions");
    }
    let tree = TreeBuilder::new()
        .file("copied/a", "alike")
        .file("copied/locked/b", "who knows")
        .file("alone/a", "alone")
        .file("alone/locked/b", "who knows")
        .file("elsewhere", "alike")
        .mode("copied/locked", 0)
        .mode("alone/locked", 0);
    let lop = Lop::with(&tree);
    let nobody = |args: &[&str]| lop.command().args(args).as_user(NOBODY, NOBODY).run();
    nobody(&["scan", "."]).code(3);
    let output = nobody(&["uniques", "--json", "copied"]);
    assert_exit_record(&output, 3);
    assert!(
        output.stderr_str().starts_with("lop: copied/locked: cannot list: Permission denied\n")
    );
    let output = nobody(&["uniques", "--json", "alone"]);
    output.code(6);
    let said = output.stderr_str();
    assert_eq!(said, "lop: alone/locked: cannot list: Permission denied\n", "no record of a 3");
}

#[test]
fn limits_and_order_change_the_list_and_not_the_answer() {
    let tree = TreeBuilder::new().file("a", "1").file("b", "333").file("c", "22").file("d", "4444");
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    let listed = |args: &[&str]| lop.listed([&["uniques", "."], args].concat(), 6);
    assert_eq!(listed(&["--sort", "path"]), ["./a", "./b", "./c", "./d"]);
    assert_eq!(listed(&["--sort", "size"]), ["./d", "./b", "./c", "./a"]);
    assert_eq!(listed(&["--sort", "size", "--limit", "2"]), ["./d", "./b"]);
    assert_eq!(listed(&["--limit", "0"]), ["./a", "./b", "./c", "./d"]);
    let output = lop.run(["uniques", "--limit", "1"]);
    assert!(output.stderr_str().starts_with("4 of 4 files (10 B) have no copy"));
}

#[test]
fn every_file_below_mounts_is_examined_too() {
    let lop =
        Lop::with(&TreeBuilder::new().file("dir/a", "alike").file("copy", "alike").dir("dir/mnt"));
    let mount = match Mount::new(testkit::FileSystem::Tmpfs, 1 << 20) {
        Ok(mount) => mount,
        Err(reason) => return skipped(reason),
    };
    TreeBuilder::new().file("x", "on another file system").make(&mount);
    let bound = Mount::bind(mount.path(), lop.path("dir/mnt")).expect("bound");
    settle();
    lop.remember(["."]);
    assert_eq!(uniques(&lop, "dir", 6), ["dir/mnt/x"]);
    drop(bound);
    assert_eq!(uniques(&lop, "dir", 0), [""; 0]);
}

/// Verifies that deleting the directory would lose only the listed content.
#[test]
fn unlisted_contents_survive_the_directory() {
    let mut tree = TreeBuilder::new();
    for n in 0..200u64 {
        let place = ["dir", "dir/sub", "dir/sub/deeper", "other", "other/sub"][(n % 5) as usize];
        tree = tree.seeded(format!("{place}/{n}"), n * n % 89, 100 + n % 3);
        if n % 11 == 0 {
            let other = if n % 2 == 0 { "dir" } else { "other" };
            tree = tree.hard_link(format!("{place}/{n}"), format!("{other}/link {n}"));
        }
    }
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    let digest = |name: &str| blake3::hash(&fs::read(lop.path(name)).expect("readable"));
    let all = |sandbox: &Sandbox, below: &str| -> Vec<String> {
        let found = sandbox.run(["scan", "--no-catalog", "--hardlinks", "--format", "nul", below]);
        found.success();
        let ls = sandbox.run(["ls", "-R", "--json", below]);
        let files = document(&ls)["files"].as_array().expect("files").clone();
        files.iter().map(|f| f["path"].as_str().expect("a path").to_string()).collect()
    };
    let outside: Vec<_> = all(&lop, "other").iter().map(|name| digest(name)).collect();
    let expected: Vec<String> =
        all(&lop, "dir").into_iter().filter(|name| !outside.contains(&digest(name))).collect();
    assert!(expected.len() > 10, "too tame");
    let mut lost = uniques(&lop, "dir", 6);
    let mut expected = expected;
    lost.sort();
    expected.sort();
    assert_eq!(lost, expected);
}
