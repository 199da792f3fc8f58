//! `lop report --dirs`: directories that are equal, contained in another directory, or overlapping.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;

use base64::Engine;
use serde_json::Value;
use testkit::{Mount, NOBODY, TreeBuilder, disk_space, is_root, parse_nul, relative_to, skipped};

use crate::lop::{Lop, assert_exit_record, document, settle};

/// Returns the relations from the JSON output, with paths relative to the working directory.
#[track_caller]
fn related(lop: &Lop) -> Vec<Value> {
    let output = lop.run(["report", "--dirs", "--json"]);
    let document = document(&output);
    output.code(if document["summary"]["unknown"] == 0 { 0 } else { 3 });
    let related = document["related"].as_array().expect("an array").clone();
    let mut answer = related;
    for directory in answer.iter_mut().flat_map(|r| r["dirs"].as_array_mut().expect("some")) {
        let path = directory["path"].as_str().expect("a path");
        let work = lop.work();
        let work = work.to_str().expect("UTF-8");
        directory["path"] = path.strip_prefix(work).expect("below").trim_start_matches('/').into();
    }
    answer
}

/// Returns the relations as text, such as `equal a b`.
#[track_caller]
fn reported(lop: &Lop) -> Vec<String> {
    let line = |r: &Value| {
        let paths = r["dirs"].as_array().expect("some").iter();
        let paths = paths.map(|d| format!(" {}", d["path"].as_str().expect("a path")));
        format!("{}{}", r["relation"].as_str().expect("a word"), paths.collect::<String>())
    };
    related(lop).iter().map(line).collect()
}

fn copies(names: &[&str]) -> TreeBuilder {
    names.iter().fold(TreeBuilder::new(), |tree, name| {
        tree.seeded(format!("{name}/one"), 1, 5000)
            .seeded(format!("{name}/sub/two"), 2, 3000)
            .seeded(format!("{name}/sub/deeper/three"), 3, 2000)
    })
}

#[test]
fn equal_directories_are_a_set_without_what_is_below_them() {
    let lop =
        Lop::with(&copies(&["a", "b", "c"]).file("d/else", "x").seeded("c2/sub/two", 2, 3000));
    lop.remember(["."]);
    assert_eq!(reported(&lop), ["equal a b c", "contained c2/sub a/sub"]);
    let answer = &related(&lop)[0];
    // Whole blocks, although the files are smaller.
    let freed: u64 = ["one", "sub/two", "sub/deeper/three"]
        .iter()
        .map(|name| disk_space(lop.path("a").join(name)))
        .sum();
    assert!(freed > 10_000, "{freed}");
    for (key, value) in
        [("percent", 100), ("files", 3), ("bytes", 10_000), ("reclaimable_bytes", 2 * freed)]
    {
        assert_eq!(answer[key], value, "{key}");
    }
    let output = lop.run(["report", "--dirs", "--limit", "1"]);
    output.success();
    let work = lop.work();
    let work = work.display();
    let text = format!(
        "3 equal directories of 3 files, 9.8 KiB, 32.0 KiB reclaimable\n  {work}/a\n  {work}/b\n  {work}/c\n"
    );
    assert_eq!(output.stdout_str(), text);
    let said = "1 set of equal directories, 1 contained, 0 overlapping\n\
                36.0 KiB reclaimable without those that overlap\n";
    assert_eq!(output.stderr_str(), said);
}

#[test]
fn a_directory_is_contained_whatever_the_names() {
    let tree = copies(&["all"]).seeded("part/x", 3, 2000).seeded("part/y/z", 1, 5000);
    let lop = Lop::with(&tree.file("part/empty", "").dir("part/nothing").symlink("part/l", "x"));
    lop.remember(["."]);
    assert_eq!(reported(&lop), ["contained part all"]);
    let answer = &related(&lop)[0];
    assert_eq!((&answer["percent"], &answer["reclaimable_bytes"]), (&100.into(), &12_288.into()));
    let all = &answer["dirs"][1];
    assert_eq!(
        (&all["percent"], &all["files"], &all["shared_files"]),
        (&70.into(), &3.into(), &2.into())
    );
    let text = lop.run(["report", "--dirs"]);
    let lines: Vec<&str> = text.stdout_str().lines().collect();
    assert_eq!(lines[0], "Contained in the second: 2 files, 6.8 KiB, 12.0 KiB reclaimable");
    assert!(lines[1].starts_with("  100 %  /") && lines[2].starts_with("   70 %  /"), "{lines:?}");
}

#[test]
fn directories_that_have_half_in_common_overlap() {
    let tree = copies(&["a", "b"]).seeded("a/own", 8, 4000).seeded("b/own", 9, 2000);
    let tree = tree.seeded("c/one", 1, 5000).seeded("c/rest", 10, 6000);
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    // Equal directories below the overlapping ones are listed as well. Less than half of the bytes of c are in any
    // other directory.
    assert_eq!(reported(&lop), ["overlapping b a", "equal a/sub b/sub"]);
    let answer = &related(&lop)[0];
    assert_eq!((&answer["percent"], &answer["bytes"]), (&83.into(), &10_000.into()));
    assert_eq!(answer["dirs"][1]["percent"], 71);
    let text = lop.run(["report", "--dirs", "--sort", "path", "--min-size", "6k"]);
    assert!(
        text.stdout_str().starts_with("In common: 3 files, 9.8 KiB, 16.0 KiB reclaimable\n   83 %")
    );
    assert!(!text.stdout_str().contains("equal"), "{}", text.stdout_str());
}

#[test]
fn hard_links_are_shared_and_free_nothing() {
    let mut tree = TreeBuilder::new().seeded("a/copied", 4, 1000).seeded("b/copied", 4, 1000);
    for name in ["x", "y/z"] {
        tree = tree.hard_links(vec![7; 5000], &[format!("a/{name}"), format!("b/{name}")]);
        tree = tree.hard_link(format!("a/{name}"), format!("linked/{name}"));
    }
    // All files with this content are hard links to one file, so the content has no copy.
    let lop = Lop::with(&tree.hard_links("alone", &["p/1", "q/1"]));
    lop.remember(["."]);
    assert_eq!(reported(&lop), ["equal a b", "contained linked a/y", "equal p q"]);
    let answer = related(&lop);
    let figures: Vec<_> =
        answer.iter().map(|r| (r["bytes"].clone(), r["reclaimable_bytes"].clone())).collect();
    let expected = [(11_000, 4096), (10_000, 0), (5, 0)];
    assert_eq!(figures, expected.map(|(a, b)| (Value::from(a), Value::from(b))));
}

#[test]
fn new_or_changed_files_prevent_directories_from_being_equal() {
    let lop = Lop::with(&copies(&["a", "b"]).file("a/empty", "").symlink("b/link", "one"));
    lop.remember(["."]);
    assert_eq!(reported(&lop), ["equal a b"]);
    lop.add(&TreeBuilder::new().file("b/sub/fresh/new", "new").dir("a/nothing/in here"));
    assert_eq!(reported(&lop), ["contained a b"]);
    let directories = &related(&lop)[0]["dirs"];
    assert_eq!((&directories[0]["unknown"], &directories[1]["unknown"]), (&0.into(), &1.into()));
    let summary = document(&lop.run(["report", "--dirs", "--json"]))["summary"].clone();
    assert_eq!((&summary["unknown"], &summary["stale_files"]), (&1.into(), &0.into()));
    let text = lop.run(["report", "--dirs"]);
    assert!(text.stdout_str().ends_with("/b  (1 not in the catalog)\n"), "{}", text.stdout_str());
    let said = "\n  1 entry of these directories is not in the catalog; run 'lop scan' there\n";
    assert!(text.stderr_str().ends_with(said), "{}", text.stderr_str());
    fs::write(lop.path("a/one"), "changed").expect("written");
    assert_eq!(reported(&lop), ["equal a/sub/deeper b/sub/deeper", "contained a/sub b/sub"][1..]);
    settle();
    lop.remember(["."]);
    fs::remove_dir_all(lop.path("b/sub/fresh")).expect("removed");
    fs::remove_file(lop.path("a/one")).expect("removed");
    // A deleted file is ignored.
    assert_eq!(reported(&lop), ["equal a/sub b/sub"]);
    fs::remove_file(lop.path("b/one")).expect("removed");
    assert_eq!(reported(&lop), ["equal a b"]);
}

#[test]
fn skipped_files_prevent_directories_from_being_equal() {
    let lop = Lop::with(&copies(&["a", "b"]).file("a/small", "x").file("b/.hidden/file", "x"));
    lop.remember([".", "--min-size", "10", "--no-hidden"]);
    assert_eq!(reported(&lop), ["overlapping a b", "equal a/sub b/sub"]);
    // Only one file of the directory was scanned.
    let lop = Lop::with(&copies(&["a", "b"]).file("c/more", "x"));
    lop.remember(["a", "b/one", "b/sub/two", "b/sub/deeper"]);
    assert_eq!(reported(&lop), ["contained a b"]);
}

#[test]
fn a_directory_is_not_a_duplicate_of_itself() {
    let lop = Lop::with(&copies(&["a", "z"]).dir("mounted"));
    let bound = match Mount::bind(lop.path("a"), lop.path("mounted")) {
        Ok(bound) => bound,
        Err(reason) => return skipped(reason),
    };
    for dir in ["a", "mounted", "z"] {
        lop.remember([dir]);
    }
    assert_eq!(reported(&lop), ["equal a z"]);
    drop(bound);
    assert_eq!(reported(&lop), ["equal a z"]);
}

#[test]
fn names_that_are_not_utf_8_come_through() {
    let (one, other) = (&b"d\xff\n1"[..], &b"d\xfe 2"[..]);
    let name = |dir: &[u8]| [dir, b"/f\xfd"].concat();
    let lop = Lop::with(&TreeBuilder::new().file(name(one), "alike").file(name(other), "alike"));
    lop.remember(["."]);
    let full = |dir: &[u8]| [lop.work().as_os_str().as_bytes(), b"/", dir].concat();
    let output = lop.run(["report", "--dirs", "--format", "nul"]);
    assert_eq!(output.stdout, [full(other), full(one), vec![0]].join(&0));
    let directories = &lop.json(["report", "--dirs"])["related"][0]["dirs"];
    let code = directories[1]["path_base64"].as_str().expect("in base64");
    let decoded = base64::engine::general_purpose::STANDARD.decode(code).expect("base64");
    assert_eq!(decoded, full(one));
    let csv = lop.run(["report", "--dirs", "--format", "csv"]);
    let mut rows = csv::Reader::from_reader(&csv.stdout[..]);
    let rows: Vec<csv::ByteRecord> = rows.byte_records().map(|r| r.expect("a row")).collect();
    assert_eq!((&rows[1][0], &rows[1][1], &rows[1][10]), (&b"1"[..], &b"equal"[..], &*full(one)));
}

#[test]
fn formats_for_groups_have_the_equal_ones_only() {
    let lop = Lop::with(&copies(&["a", "b"]).seeded("part/x", 3, 2000));
    lop.remember(["."]);
    assert_eq!(reported(&lop), ["equal a b", "contained part a/sub/deeper"]);
    let nul = lop.run(["report", "--dirs", "--format", "nul"]);
    let groups = relative_to(lop.work(), &parse_nul(&nul.stdout));
    assert_eq!(groups, testkit::groups_of([["a", "b"]]));
    let work = lop.work();
    let work = work.display();
    let fdupes = lop.run(["report", "--dirs", "--format", "fdupes"]);
    assert_eq!(fdupes.stdout_str(), format!("{work}/a\n{work}/b\n"));
}

/// If files in thousands of directories have the same content, there are too many pairs of
/// directories to examine.
#[test]
fn content_shared_by_many_directories_is_handled() {
    let mut tree = TreeBuilder::new();
    for n in 0..2000u64 {
        tree = tree.file(format!("d/{n}/LICENSE"), "the same everywhere");
        if n % 2 == 0 {
            tree = tree.seeded(format!("d/{n}/own"), n, 100 + n);
        }
    }
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    let mut sets: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for r in related(&lop) {
        let count = r["dirs"].as_array().expect("some").len();
        sets.entry(r["relation"].as_str().expect("a word").into()).or_default().push(count);
    }
    // A thousand directories are equal, and the first of them is contained in another of them.
    assert_eq!(sets, BTreeMap::from([("equal".into(), vec![1000]), ("contained".into(), vec![2])]));
}

#[test]
fn a_directory_that_cannot_be_listed_is_named_and_the_code_is_3() {
    if !is_root() {
        return skipped("needs root to become another user");
    }
    let lop = Lop::with(&copies(&["a", "b"]));
    let nobody = |args: &[&str]| lop.command().args(args).as_user(NOBODY, NOBODY).run();
    nobody(&["scan", "."]).success();
    fs::set_permissions(lop.path("b/sub"), PermissionsExt::from_mode(0o711)).expect("set");
    let output = nobody(&["report", "--dirs", "--json"]);
    assert_exit_record(&output, 3);
    assert_eq!(document(&output)["summary"]["problems"], 1);
    let name = format!("lop: {}/b/sub: cannot list", lop.work().display());
    assert!(output.stderr_str().contains(&name), "{}", output.stderr_str());
}

#[test]
fn nothing_in_common_is_an_empty_answer() {
    let lop = Lop::with(&TreeBuilder::new().file("a/x", "one").file("b/x", "two"));
    lop.remember(["."]);
    let output = lop.run(["report", "--dirs"]);
    output.success();
    assert_eq!(output.stdout_str(), "");
    assert_eq!(output.stderr_str(), "No equal, contained or overlapping directories\n");
    assert_eq!(reported(&lop), [""; 0]);
}
