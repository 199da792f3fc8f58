//! `ls` and `report` on a large catalog: directories, the first of many groups, and queries about a part of the
//! catalog.

use std::fs;

use serde_json::json;
use testkit::{TreeBuilder, relative_to};

use crate::lop::Lop;

fn folders() -> Lop {
    let tree = TreeBuilder::new()
        .seeded("photos/2020/one", 1, 60_000)
        .seeded("photos/2021/two", 2, 20_000)
        .seeded("backup/one", 1, 60_000)
        .file("notes", "x")
        .dir("nothing");
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    lop
}

#[test]
fn directories_are_listed_with_size_share_and_files() {
    let lop = folders();
    let output = lop.run(["ls", "."]);
    output.success();
    let expected = "        1   58.6 KiB   42%  ./backup/  (1 file)
        0        1 B    0%  ./notes
        ?          ?     ?  ./nothing/  (not in the catalog)
        1   78.1 KiB   57%  ./photos/  (2 files)
";
    assert_eq!(output.stdout_str(), expected);
    let by_size = lop.run(["ls", "--sort", "size", "."]);
    let names: Vec<&str> =
        by_size.stdout_str().lines().filter_map(|line| line.split("./").nth(1)).collect();
    let expected =
        ["photos/  (2 files)", "backup/  (1 file)", "notes", "nothing/  (not in the catalog)"];
    assert_eq!(names, expected);
}

#[test]
fn directories_are_listed_in_json_too() {
    let lop = folders();
    let document = lop.json(["ls", "."]);
    assert_eq!(document["files"][0]["path"], "./notes");
    let expected = json!([
        { "path": "./backup", "files": 1, "bytes": 60_000, "duplicates": 1 },
        { "path": "./nothing" },
        { "path": "./photos", "files": 2, "bytes": 80_000, "duplicates": 1 },
    ]);
    assert_eq!(document["dirs"], expected);
}

fn many_groups() -> Lop {
    let tree = (0..25).fold(TreeBuilder::new(), |tree, n| {
        tree.seeded(format!("a/{n}"), n, 5000 + n * 5000).seeded(
            format!("b/{n}"),
            n,
            5000 + n * 5000,
        )
    });
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    lop
}

#[test]
fn people_get_the_best_groups_and_programs_get_all() {
    let lop = many_groups();
    let headings = |args: &[&str]| {
        let output = lop.command().arg("report").args(args).run();
        output.success();
        let lines = output.stdout_str().lines();
        (
            lines.filter(|line| line.contains(" reclaimable")).count(),
            output.stderr_str().to_string(),
        )
    };
    let (shown, said) = headings(&[]);
    assert_eq!(shown, 20);
    assert!(said.ends_with("5 more groups: show all with --limit 0\n"), "{said}");
    let (shown, said) = headings(&["--limit", "0"]);
    assert!(shown == 25 && !said.contains("--limit"), "{shown} {said}");
    let (shown, said) = headings(&["--limit", "3"]);
    assert!(shown == 3 && !said.contains("--limit"), "{shown} {said}");
    assert_eq!(lop.json(["report"])["groups"].as_array().map(Vec::len), Some(25));
}

#[test]
fn a_report_can_be_limited_to_a_directory() {
    let lop = folders();
    fs::create_dir(lop.path("other")).expect("made");
    let groups = |path: &str| {
        let output = lop.run(["report", "--format", "fdupes", path]);
        output.success();
        relative_to(lop.work(), &testkit::parse_fdupes(&output.stdout)).len()
    };
    assert_eq!(groups("."), 1);
    assert_eq!(groups("backup"), 1);
    assert_eq!(groups("photos/2020/one"), 1, "a file");
    assert_eq!(groups("photos/2021"), 0);
    let unscanned = Lop::with(&TreeBuilder::new().file("a/x", "1").file("b/x", "1"));
    unscanned.remember(["a"]);
    unscanned.run(["report", "a", "b"]).code(3);
    unscanned.run(["report", "."]).success();
}

#[test]
fn a_path_that_is_not_in_the_catalog_gets_no_answer() {
    let tree = TreeBuilder::new().file("a/x", "1").file("b/x", "1").file("c/x", "1").dir("d");
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    lop.run(["forget", "b"]).success();
    fs::create_dir(lop.path("new")).expect("made");
    for path in ["b", "new"] {
        for command in [&["report"][..], &["report", "--dirs"], &["dedupe", "--by", "delete"]] {
            let output = lop.run(command.iter().chain(&[path]));
            output.code(5);
            let said =
                format!("lop: {path}: not in the catalog\nhint: scan it first: lop scan {path}\n");
            assert_eq!((output.stderr_str(), output.stdout_str()), (&*said, ""), "{command:?}");
            let output = lop.run(command.iter().chain(&["--json", path]));
            let record = output.stderr_str().lines().last().map(str::to_owned);
            assert!(record.is_some_and(|last| last.contains("\"code\":5")), "{command:?}");
        }
        lop.run(["dedupe", "--by", "delete", "--apply", "a", path]).code(3);
        lop.run(["undo"]).success();
    }
    let empty = Lop::with(&TreeBuilder::new().dir("d"));
    empty.remember(["d"]);
    empty.run(["report", "d"]).success();
}

#[test]
fn directories_that_overlap_only_by_equal_ones_are_listed_once() {
    let tree = TreeBuilder::new()
        .seeded("proj/one", 1, 50_000)
        .seeded("proj/two", 2, 50_000)
        .seeded("src/nm/one", 1, 50_000)
        .seeded("src/nm/two", 2, 50_000)
        .seeded("src/main", 3, 1000);
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    let document = lop.json(["report", "--dirs"]);
    let relations: Vec<_> =
        document["related"].as_array().expect("some").iter().map(|r| &r["relation"]).collect();
    assert_eq!(relations, ["equal"], "{document}");
    assert_eq!(lop.json(["report", "--dirs", "proj"])["related"].as_array().map(Vec::len), Some(1));
}
