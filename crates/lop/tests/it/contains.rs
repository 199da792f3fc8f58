//! `lop contains A B` lists the files of A that are not in B, and has an exit code for scripts.

use std::fs;

use testkit::{Mount, NOBODY, TreeBuilder, is_root, skipped};

use crate::lop::{Lop, assert_exit_record, document, settle};

/// Returns the names that are listed as missing, after checking the exit code.
#[track_caller]
fn missing(lop: &Lop, one: &str, other: &str, code: i32) -> Vec<String> {
    lop.listed(["contains", one, other], code)
}

#[test]
fn missing_files_are_listed() {
    let tree = TreeBuilder::new()
        .file("a/copied", "copied")
        .file("a/sub/renamed", "renamed")
        .file("a/inside 1", "only inside")
        .file("a/inside 2", "only inside")
        .file("a/elsewhere", "somewhere else")
        .file("a/alone", "no copy at all")
        .file("b/copied", "copied")
        .file("b/deep/er/other name", "renamed")
        .file("b/more", "more than that")
        .file("c/elsewhere", "somewhere else");
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    let lost = ["a/alone", "a/elsewhere", "a/inside 1", "a/inside 2"];
    assert_eq!(missing(&lop, "a", "b", 6), lost);
    assert_eq!(missing(&lop, "a/sub", "b", 0), [""; 0]);
    assert_eq!(missing(&lop, "c", "a", 0), [""; 0]);
    let output = lop.run(["contains", "a", "b"]);
    assert_eq!(output.stdout_str(), lost.join("\n") + "\n");
    assert_eq!(output.stderr_str(), "4 of 6 files (50 B) are not in the second directory\n");
    let limited = lop.run(["contains", "a", "b", "--sort", "size", "--limit", "1"]);
    limited.code(6);
    assert_eq!(limited.stdout_str(), "a/alone\n");
}

#[test]
fn a_hard_link_counts_and_is_reported_to_free_nothing() {
    let tree = TreeBuilder::new()
        .hard_links("linked", &["a/x", "b/x"])
        .hard_links("linked and copied", &["a/y", "b/y"])
        .file("b/z", "linked and copied")
        .hard_links("linked inside", &["a/p", "a/q"]);
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    assert_eq!(missing(&lop, "a", "b", 6), ["a/p", "a/q"]);
    let summary = &document(&lop.run(["contains", "a", "b", "--json"]))["summary"];
    assert_eq!((&summary["hard_links"], &summary["missing"]), (&2.into(), &2.into()));
    // A hard link is recognised even if the catalog does not have the file.
    let new = TreeBuilder::new().hard_links("never scanned", &["new/a", "new too/b"]);
    lop.add(&new);
    assert_eq!(missing(&lop, "new", "new too", 0), [""; 0]);
    let said = "1 file: each is also in the second directory\n  1 is a hard link to a file there and would \
                free nothing\n  1 file there is not in the catalog or changed since the scan\n";
    assert_eq!(lop.run(["contains", "new", "new too"]).stderr_str(), said);
}

#[test]
fn files_not_in_the_catalog_prove_nothing() {
    let tree = TreeBuilder::new()
        .file("a/known", "known")
        .file("a/changed", "change")
        .file("b/known", "known")
        .file("b/changed", "change")
        .file("b/stale", "new and the same");
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    fs::write(lop.path("a/changed"), "CHANGE").expect("written");
    fs::write(lop.path("a/new"), "new and the same").expect("written");
    fs::write(lop.path("b/new"), "new").expect("written");
    assert_eq!(missing(&lop, "a", "b", 3), ["a/changed", "a/new"]);
    let output = lop.run(["contains", "a", "b"]);
    let listed = "a/changed  (changed since the scan)\na/new  (not in the catalog)\n";
    assert_eq!(output.stdout_str(), listed);
    let said = "1 of 3 files is also in the second directory\n  \
                1 file is not in the catalog; run 'lop scan' there\n  \
                1 file changed since the scan; run 'lop scan' again\n  \
                1 file there is not in the catalog or changed since the scan\n";
    assert_eq!(output.stderr_str(), said);
    // A changed file in B does not count as a copy, although it may still be one.
    fs::write(lop.path("b/known"), "KNOWN").expect("written");
    assert_eq!(missing(&lop, "a", "b", 3), ["a/changed", "a/known", "a/new"]);
    let output = lop.run(["contains", "a", "b", "--json"]);
    let summary = &document(&output)["summary"];
    assert_eq!((&summary["unsettled"], &summary["missing"]), (&1.into(), &0.into()));
    settle();
    lop.remember(["."]);
    assert_eq!(missing(&lop, "a", "b", 6), ["a/changed", "a/known"]);
}

/// Neither directory has a known file. A file whose size does not occur in the second directory is
/// certainly missing there.
#[test]
fn unscanned_files_are_unknown_or_decided_by_their_size() {
    let lop = Lop::with(&TreeBuilder::new().file("scanned", "x"));
    lop.remember(["scanned"]);
    lop.add(&TreeBuilder::new().file("a/1", "alike").file("b/1", "alike"));
    assert_eq!(missing(&lop, "a", "b", 5), ["a/1"]);
    lop.add(&TreeBuilder::new().file("a/2", "as no other"));
    assert_eq!(missing(&lop, "a", "b", 6), ["a/1", "a/2"]);
    let summary = &document(&lop.run(["contains", "a", "b", "--json"]))["summary"];
    assert_eq!((&summary["missing"], &summary["unknown"]), (&1.into(), &1.into()));
}

#[test]
fn empty_files_links_and_special_files_are_mentioned() {
    let tree = TreeBuilder::new()
        .file("a/x", "alike")
        .file("a/empty", "")
        .symlink("a/link 1", "x")
        .symlink("a/link 2", "x")
        .fifo("a/fifo")
        .file("b/x", "alike");
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    let output = lop.run(["contains", "a", "b"]);
    output.success();
    let said = "1 file: each is also in the second directory\n  1 empty file not compared\n  \
                2 symbolic links not compared\n  1 special file not compared\n";
    assert_eq!((output.stdout_str(), output.stderr_str()), ("", said));
    lop.run(["contains", "-q", "a", "b"]).success();
}

#[test]
fn a_directory_within_the_other() {
    let tree = TreeBuilder::new()
        .file("all/part/1", "outside too")
        .file("all/1", "outside too")
        .file("all/part/2", "twice in the part")
        .file("all/part/3", "twice in the part")
        .symlink("link", "all");
    let lop = Lop::with(&tree);
    lop.remember(["all"]);
    // Copies in the same part do not count, because they are removed with it.
    assert_eq!(missing(&lop, "all/part", "all", 6), ["all/part/2", "all/part/3"]);
    assert_eq!(missing(&lop, "all/part", "link", 6), ["all/part/2", "all/part/3"]);
    for (one, other) in [("all", "all/part"), ("all", "all"), ("all", "link"), ("link", "all/part")]
    {
        let output = lop.run(["contains", one, other]);
        output.code(2);
        assert!(output.stderr_str().contains("compare with a directory outside"), "{one} {other}");
    }
}

#[test]
fn a_second_path_to_the_directory_is_not_another() {
    let tree = TreeBuilder::new().file("a/x", "x1").file("a/sub/y", "y2").file("b/x", "x1");
    let lop = Lop::with(&tree.dir("b/bound"));
    let bound = match Mount::bind(lop.path("a"), lop.path("b/bound")) {
        Ok(bound) => bound,
        Err(reason) => return skipped(reason),
    };
    for dir in ["a", "b", "b/bound"] {
        lop.remember([dir]);
    }
    assert_eq!(missing(&lop, "a", "b", 6), ["a/sub/y"]);
    assert_eq!(missing(&lop, "b/bound", "b", 6), ["b/bound/sub/y"]);
    lop.run(["contains", "a", "b/bound"]).code(2);
    lop.run(["contains", "a/sub", "b/bound/sub"]).code(2);
    drop(bound);
}

#[test]
fn unexamined_entries_make_the_code_3() {
    if !is_root() {
        return skipped("needs root to become another user");
    }
    let tree = TreeBuilder::new().file("a/x", "x1").file("b/x", "x1").file("a/closed/y", "y");
    let lop = Lop::with(&tree.mode("a/closed", 0));
    let ask = |args: &[&str]| lop.command().args(args).as_user(NOBODY, NOBODY).run();
    ask(&["scan", "."]).code(3);
    let output = ask(&["contains", "--json", "a", "b"]);
    assert_exit_record(&output, 3);
    assert!(output.stderr_str().contains("a/closed: cannot list"), "{}", output.stderr_str());
    // One file that is certainly missing decides the answer.
    fs::remove_file(lop.path("b/x")).expect("removed");
    ask(&["contains", "a", "b"]).code(6);
}

#[test]
fn the_document_and_the_rows() {
    let name: &[u8] = b"a/\xff\n";
    let lop = Lop::with(&TreeBuilder::new().file(name, "x").file("b/y", "yy"));
    lop.remember(["."]);
    let output = lop.run(["contains", "a", "b", "--json"]);
    output.code(6);
    let document = document(&output);
    let file = &document["files"][0];
    assert_eq!((&file["size"], &file["path_base64"]), (&1.into(), &"YS//Cg==".into()));
    let summary = &document["summary"];
    for key in
        ["unknown", "hard_links", "unknown_there", "empty", "symlinks", "special_files", "problems"]
    {
        assert_eq!(summary[key], 0, "{key}");
    }
    assert_eq!(
        (&summary["files"], &summary["missing"], &summary["bytes"]),
        (&1.into(), &1.into(), &1.into())
    );
    let csv = lop.run(["contains", "a", "b", "--format", "csv"]);
    assert_eq!(csv.stdout, b"size,duplicates,digest,state,path\n1,,,,\"a/\xff\n\"\n");
    let nul = lop.run(["contains", "a", "b", "--format", "nul"]);
    assert_eq!(nul.stdout, [name, b"\0"].concat());
}

/// Verifies that deleting the directory would lose only the listed content.
#[test]
fn every_unlisted_content_is_in_the_other_directory() {
    let mut tree = TreeBuilder::new();
    for n in 0..200u64 {
        let place = ["a", "a/sub", "b/a", "b", "b/sub"][(n % 5) as usize];
        tree = tree.seeded(format!("{place}/{n}"), n * n % 89, 100 + n % 3);
        if n % 11 == 0 {
            let other = if n % 2 == 0 { "a" } else { "b" };
            tree = tree.hard_link(format!("{place}/{n}"), format!("{other}/link {n}"));
        }
    }
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    let listed = |dir: &str| -> Vec<String> {
        let document = document(&lop.run(["ls", "-R", "--json", dir]));
        let files = document["files"].as_array().expect("files").iter();
        files.map(|f| f["path"].as_str().expect("a path").to_string()).collect()
    };
    let digest = |name: &String| blake3::hash(&fs::read(lop.path(name)).expect("readable"));
    let there: Vec<_> = listed("b").iter().map(digest).collect();
    let mut expected = listed("a");
    expected.retain(|name| !there.contains(&digest(name)));
    expected.sort();
    assert!((5..60).contains(&expected.len()), "too tame: {}", expected.len());
    assert_eq!(missing(&lop, "a", "b", 6), expected);
}
