//! `lop space`: directories with their disk space, what is reclaimable, and growth.

use serde_json::json;
use testkit::TreeBuilder;

use crate::lop::Lop;

const KIB: u64 = 1024;

/// Two copies of one file, and a directory chain.
fn photos() -> TreeBuilder {
    TreeBuilder::new()
        .seeded("t/photos/2020/one", 1, 60 * KIB)
        .seeded("t/photos/2021/two", 2, 20 * KIB)
        .seeded("t/backup/old/photos/one", 1, 60 * KIB)
        .file("t/notes", "x")
}

fn scanned() -> Lop {
    let lop = Lop::with(&photos());
    lop.remember(["t"]);
    lop
}

/// Returns what a command prints.
#[track_caller]
fn printed(lop: &Lop, args: &[&str]) -> (String, String) {
    let output = lop.command().arg("space").args(args).run();
    output.success();
    (output.stdout_str().to_string(), output.stderr_str().to_string())
}

#[test]
fn directories_are_shown_as_a_tree_with_bars() {
    let (out, summary) = printed(&scanned(), &["t"]);
    let expected = [
        "       size  reclaimable  share                 directory",
        "  144.0 KiB     60.0 KiB  ███████████████ 100%  t/",
        "   80.0 KiB     60.0 KiB  ████████▎        55%    photos/",
        "   60.0 KiB     60.0 KiB  ██████▎          41%      2020/",
        "   20.0 KiB               ██               13%      2021/",
        "   60.0 KiB     60.0 KiB  ██████▎          41%    backup/old/photos/",
    ];
    assert_eq!(out.lines().collect::<Vec<_>>(), expected);
    assert_eq!(summary, "4 files, 144.0 KiB on disk, 60.0 KiB reclaimable\n");
}

#[test]
fn the_first_directories_in_the_order_are_shown_and_the_others_counted() {
    let lop = scanned();
    let names = |args: &[&str]| -> Vec<String> {
        let (out, _) = printed(&lop, args);
        let names = out.lines().skip(1).filter_map(|line| line.split_once("%  "));
        names.map(|(_, name)| name.to_string()).collect()
    };
    assert_eq!(names(&["--limit", "2", "t"]), ["t/", "  photos/", "  … 1 more directory"]);
    assert_eq!(names(&["--depth", "0", "t"]), ["t/"]);
    let by_files = names(&["--by", "files", "--depth", "1", "t"]);
    assert_eq!(by_files, ["t/", "  photos/", "  backup/old/photos/"]);
}

#[test]
fn growth_appears_after_the_second_scan() {
    let lop = scanned();
    let (_, summary) = printed(&lop, &["--by", "grown", "t"]);
    assert!(summary.ends_with("No earlier scan to compare with\n"), "{summary}");
    lop.add(&TreeBuilder::new().seeded("t/photos/2022/three", 3, 100 * KIB));
    std::fs::remove_file(lop.path("t/photos/2021/two")).expect("removed");
    lop.remember(["t"]);
    let (out, summary) = printed(&lop, &["--by", "grown", "t"]);
    let shown: Vec<&str> = out.lines().skip(1).collect();
    assert!(shown[0].contains("+80.0 KiB") && shown[0].ends_with("t/"), "{out}");
    assert!(shown[2].contains("+100.0 KiB") && shown[2].ends_with("2022/"), "{out}");
    assert!(shown[3].contains("-20.0 KiB") && shown[3].ends_with("2021/"), "{out}");
    assert!(!out.contains("backup"), "has not grown: {out}");
    assert!(summary.contains(", grown by 80.0 KiB\nGrown since "), "{summary}");
    let document = lop.json(["space", "--depth", "1", "t"]);
    assert_eq!(document["dirs"][0]["grown_bytes"], json!(80 * KIB));
    assert_eq!(document["summary"]["compared"].as_array().map(Vec::len), Some(1));
    let (_, summary) = printed(&lop, &["--since", "1h", "t"]);
    assert!(summary.ends_with("No earlier scan that is at least 1h old\n"), "{summary}");
    let (out, _) = printed(&lop, &["--since", "0s", "t"]);
    assert!(out.contains("+80.0 KiB"), "a scan is not compared with itself: {out}");
}

#[test]
fn growth_is_unknown_after_a_run_until_the_next_scan() {
    let lop = scanned();
    lop.add(&TreeBuilder::new().seeded("t/photos/2022/three", 3, 100 * KIB));
    lop.remember(["t"]);
    assert!(printed(&lop, &["t"]).0.contains("+100.0 KiB"));
    lop.run(["dedupe", "--by", "delete", "--apply", "t"]).success();
    let (out, summary) = printed(&lop, &["t"]);
    assert!(!out.contains("grown"), "{out}");
    let note = "Growth unknown until the next scan, because a run has changed files: ";
    assert!(summary.contains(note), "{summary}");
    assert_eq!(lop.json(["space", "t"])["dirs"][0]["grown_bytes"], json!(null));
    lop.remember(["t"]);
    let (out, summary) = printed(&lop, &["t"]);
    assert!(out.contains("-60.0 KiB") && !summary.contains(note), "{out}{summary}");
}

#[test]
fn every_directory_is_in_the_document() {
    let document = scanned().json(["space", "--depth", "9", "t"]);
    let paths: Vec<&str> = document["dirs"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|dir| dir["path"].as_str())
        .collect();
    let expected = [
        "t",
        "t/photos",
        "t/photos/2020",
        "t/photos/2021",
        "t/backup",
        "t/backup/old",
        "t/backup/old/photos",
    ];
    assert_eq!(paths, expected);
    let top = &document["dirs"][0];
    let numbers = ["files", "names", "bytes", "allocated_bytes", "reclaimable_bytes"];
    let numbers = numbers.map(|key| top[key].as_u64().expect("a number"));
    assert_eq!(numbers, [4, 4, 140 * KIB + 1, 144 * KIB, 60 * KIB]);
    assert_eq!(top["grown_bytes"], json!(null));
}

#[test]
fn all_commands_count_a_file_with_several_names_once() {
    let tree = TreeBuilder::new()
        .hard_links(vec![1; 5000], &["t/a/1", "t/a/2", "t/b/3"])
        .hard_links(vec![2; 3000], &["t/b/4", "u/5"])
        .file("t/one name", "x");
    let lop = Lop::with(&tree);
    let scan = lop.json(["scan", "t", "u"]);
    let status = lop.json(["status"]);
    let space = lop.json(["space"])["dirs"][0].clone();
    let counts = |value: &serde_json::Value| {
        ["files", "bytes"].map(|key| value[key].as_u64().expect("a number"))
    };
    assert_eq!(counts(&scan["summary"]), [3, 8001]);
    assert_eq!(counts(&status["remembered"]), [3, 8001]);
    assert_eq!(counts(&space), [3, 8001]);
    // The second file has a name outside of each of the two roots.
    let of_root = |root: &str| {
        let path = lop.path(root);
        let shown = |rows: &serde_json::Value| {
            let rows = rows.as_array().expect("a list");
            let row = rows.iter().find(|row| row["path"].as_str() == path.to_str());
            counts(row.expect("is listed"))
        };
        let space = lop.json(["space", root]);
        assert_eq!(shown(&status["roots"]), counts(&space["dirs"][0]), "{root}");
        counts(&space["dirs"][0])
    };
    assert_eq!((of_root("t"), of_root("u")), ([2, 5001], [0, 0]));
}

#[test]
fn a_directory_that_is_not_in_the_catalog_is_reported() {
    let lop = scanned();
    lop.add(&TreeBuilder::new().file("other/x", "x"));
    let output = lop.run(["space", "other"]);
    output.code(5);
    assert!(output.stderr_str().contains("other: not in the catalog"), "{}", output.stderr_str());
    let output = lop.run(["space", "t", "other"]);
    output.code(3);
    assert!(output.stdout_str().contains("  t/\n"), "{}", output.stdout_str());
    lop.add(&TreeBuilder::new().fifo("fifo"));
    for other in ["t/notes", "fifo"] {
        let output = lop.run(["space", other]);
        output.code(5);
        assert_eq!(output.stderr_str(), format!("lop: {other}: not a directory\n"));
    }
}

#[test]
fn the_hint_to_scan_can_be_pasted_into_a_shell() {
    let lop = scanned();
    lop.add(&TreeBuilder::new().dir("a b").dir("x/*").dir("plain"));
    let said = |dir: &str| lop.run(["space", dir]).code(5).stderr_str().to_owned();
    for (dir, word) in [("plain", "plain"), ("a b", "'a b'"), ("x/*", "'x/*'")] {
        let expected =
            format!("lop: {dir}: not in the catalog\nhint: scan it first: lop scan {word}\n");
        assert_eq!(said(dir), expected);
    }
    assert_eq!(said("gone"), "lop: gone: not in the catalog\n");
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    let long = "t/a directory with a long name/写真写真写真写真写真写真写真写真写真写真/file";
    let lop = Lop::with(&photos().seeded(long, 9, 30 * KIB));
    lop.remember(["t"]);
    lop.add(&TreeBuilder::new().seeded("t/photos/2022/three", 3, 100 * KIB));
    lop.remember(["t"]);
    for columns in [1, 10, 20, 30, 40, 50, 60, 80] {
        for by in ["size", "grown", "reclaimable", "files"] {
            let shown = lop.command().args(["space", "--by", by, "t"]).talk(columns, &[]);
            let text = shown.text.replace("\u{1b}[1m", "").replace("\u{1b}[0m", "");
            let table = text.lines().take_while(|line| !line.contains(" on disk"));
            for line in table {
                let wide = line.chars().filter(|c| ('写'..='真').contains(c)).count();
                let width = line.trim_end().chars().count() + wide;
                assert!(width <= usize::from(columns), "{columns} {by}: {line}");
            }
        }
    }
    let shown = lop.command().args(["space", "t"]).talk(60, &[]).text;
    assert!(shown.contains("  a dir…写真/\n"), "names lose their middle: {shown}");
}

#[test]
fn without_a_directory_the_whole_catalog_is_shown() {
    let lop = scanned();
    let (out, _) = printed(&lop, &["--depth", "0"]);
    let top = lop.work().canonicalize().expect("exists").join("t");
    assert!(out.ends_with(&format!("  {}/\n", top.display())), "{out}");
}

#[test]
fn a_directory_that_is_gone_is_still_answered_from_the_catalog() {
    let lop = scanned();
    std::fs::remove_dir_all(lop.path("t")).expect("removed");
    let (out, _) = printed(&lop, &["--depth", "0", "t"]);
    assert!(out.ends_with("  t/\n"), "{out}");
}

#[test]
fn a_scan_of_a_list_of_files_leaves_no_record() {
    let lop = scanned();
    lop.add(&TreeBuilder::new().seeded("t/more", 9, 50 * KIB));
    std::fs::write(lop.path("list"), "t/more\n").expect("written");
    lop.remember(["--files-from", "list"]);
    let (out, _) = printed(&lop, &["t"]);
    assert!(!out.contains("grown"), "{out}");
}
