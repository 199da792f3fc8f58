//! Damage that is known: answers do not rely on catalog entries that are known to be wrong.

use std::fs;

use serde_json::Value;
use testkit::{FileSystem, Mount, TreeBuilder, skipped};

use crate::lop::{Lop, assert_exit_record, document, settle};

/// Returns a tree with a directory `old` and an archive that has a copy of every file in `old`.
fn archive() -> TreeBuilder {
    let mut tree = TreeBuilder::new().seeded("archive/more", 9, 5000);
    for dir in ["old", "archive"] {
        tree = tree.seeded(format!("{dir}/a"), 1, 70_000).seeded(format!("{dir}/b"), 2, 90_000);
    }
    tree
}

fn archived() -> Lop {
    let lop = Lop::with(&archive());
    lop.remember(["."]);
    lop
}

fn damaged_bytes() -> Vec<u8> {
    vec![7; 70_000]
}

/// Returns the program with a catalog in which a file of [`archived`] is recorded as damaged.
fn found(path: &str) -> Lop {
    let lop = archived();
    lop.damage(path, damaged_bytes());
    assert_eq!(lop.listed(["uniques", "old"], 0), [""; 0], "nobody knows it yet");
    let output = lop.run(["validate"]);
    output.code(3);
    let said = ": differs from what was scanned, though its size and times are the same\n";
    assert_eq!(output.stdout_str(), format!("{}{said}", lop.path(path).display()));
    lop
}

fn summary(lop: &Lop, args: &[&str], code: i32) -> Value {
    let output = lop.command().args(args).arg("--json").run();
    output.code(code);
    document(&output)["summary"].clone()
}

#[test]
fn a_damaged_copy_is_no_reason_to_delete_anything() {
    let lop = found("archive/a");
    assert_eq!(lop.listed(["uniques", "old"], 6), ["old/a"]);
    assert_eq!(lop.listed(["contains", "old", "archive"], 6), ["old/a"]);
    assert_eq!(lop.listed(["dups", "old"], 0), ["old/b"]);
    let answer = lop.json(["file", "old/a"]);
    assert_eq!(answer["files"][0]["duplicates"], 0);
    assert_eq!(answer["files"][0]["others"][0]["state"], "damaged");
    let ls = lop.json(["ls", "old"]);
    assert_eq!(
        (&ls["files"][0]["duplicates"], &ls["files"][1]["duplicates"]),
        (&0.into(), &1.into())
    );
    assert_eq!(summary(&lop, &["report"], 3)["groups"], 1);
    assert_eq!(summary(&lop, &["report", "--dirs"], 3)["equal"], 0);
    let plan = summary(&lop, &["dedupe", "--by", "delete"], 3);
    assert_eq!((&plan["groups"], &plan["damaged"]), (&1.into(), &1.into()));
}

#[test]
fn a_damaged_file_itself_is_unknown() {
    let lop = found("old/a");
    let output = lop.run(["uniques", "old"]);
    output.code(3);
    assert_eq!(output.stdout_str(), "old/a  (damaged)\n");
    let said = "1 of 2 files has a copy outside\n  \
                1 file is damaged or unreadable; 'lop validate' lists them\n";
    assert_eq!(output.stderr_str(), said);
    assert_eq!(lop.listed(["contains", "old", "archive"], 3), ["old/a"]);
    assert_eq!(summary(&lop, &["dups", "old"], 3)["damaged"], 1);
    assert_eq!(summary(&lop, &["uniques", "old"], 3)["damaged"], 1);
    let output = lop.run(["ls", "old"]);
    output.code(3);
    let line = output.stdout_str().lines().find(|line| line.ends_with("%  old/a  (damaged)"));
    let line = line.unwrap_or_else(|| panic!("{}", output.stdout_str()));
    assert!(line.starts_with("        ?   68.4 KiB "), "{line}");
    let output = lop.run(["file", "old/a"]);
    output.code(3);
    let said = "lop: old/a: damaged: it differs from what was scanned; scan it again\n";
    assert_eq!(output.stderr_str(), said);
    // The only copy of the undamaged file is damaged and does not count.
    assert_eq!(lop.listed(["uniques", "archive"], 6), ["archive/a", "archive/more"]);
}

#[test]
fn views_do_not_count_damaged_files_as_duplicates() {
    let lop = found("archive/a");
    let paths: i64 = lop
        .database()
        .query_row("SELECT count(*) FROM duplicates WHERE path LIKE '%/a'", [], |row| row.get(0))
        .expect("a count");
    assert_eq!(paths, 0);
    let state: String = lop
        .database()
        .query_row("SELECT state FROM files WHERE path LIKE '%/archive/a'", [], |row| row.get(0))
        .expect("is there");
    assert_eq!(state, "damaged");
}

#[test]
fn repaired_files_count_again() {
    let lop = archived();
    let good = fs::read(lop.path("archive/a")).expect("readable");
    lop.damage("archive/a", damaged_bytes());
    lop.run(["validate"]).code(3);
    lop.run(["validate"]).code(3);
    lop.damage("archive/a", good);
    lop.run(["validate"]).success();
    assert_eq!(lop.listed(["uniques", "old"], 0), [""; 0]);
    lop.run(["report"]).success();
}

#[test]
fn parts_can_be_validated() {
    let lop = archived();
    lop.damage("archive/a", damaged_bytes());
    for paths in [&["old"][..], &["archive/b"], &["archive/b", "old/a"]] {
        let output = lop.command().arg("validate").args(paths).run();
        output.success();
    }
    let output = lop.run(["validate", "old", "--json"]);
    assert_eq!(document(&output)["summary"]["matching"], 2);
    for paths in
        [&["archive"][..], &["archive/a"], &["old", "archive/a"], &["archive/../archive/a"]]
    {
        let output = lop.command().arg("validate").args(paths).run();
        output.code(3);
    }
    let output = lop.run(["validate", "old", "nowhere"]);
    output.code(5);
    assert!(output.stderr_str().starts_with("lop: nowhere: not in the catalog\n"));
    fs::remove_file(lop.path("old/b")).expect("removed");
    let output = lop.run(["validate", "old/b", "--json"]);
    output.success();
    assert_eq!(document(&output)["summary"]["gone"], 1);
}

/// The catalog then has no mark of the damage for other commands, so lop must report that.
#[test]
fn a_catalog_that_cannot_be_written_does_not_hide_damage() {
    let lop = archived();
    lop.damage("archive/a", damaged_bytes());
    lop.database()
        .execute_batch(
            "CREATE TRIGGER no BEFORE UPDATE ON file BEGIN SELECT RAISE(FAIL, 'no'); END",
        )
        .expect("made");
    let output = lop.run(["validate", "--json"]);
    assert_exit_record(&output, 3);
    let said = "lop: the damage could not be recorded in the catalog, so other commands do not know about it: ";
    assert!(output.stderr_str().contains(said), "{}", output.stderr_str());
    assert_eq!(document(&output)["summary"]["differing"], 1);
}

/// If two files were identical and now differ, it is unknown which one is damaged.
#[test]
fn files_that_a_run_finds_unequal_are_compared_again_before_they_count() {
    for kind in ["delete", "hardlink", "reflink"] {
        let mut mount = None;
        let lop = archived();
        if kind == "reflink" {
            let Ok(btrfs) = Mount::new(FileSystem::Btrfs, 128 << 20) else {
                return skipped("no btrfs to test on");
            };
            mount = Some(btrfs);
        }
        let place = mount.as_ref().map_or(lop.path(""), |mount| mount.path().to_path_buf());
        if mount.is_some() {
            archive().make(&place);
            settle();
            lop.remember([&place]);
        }
        let [old, archive] = ["old", "archive"].map(|dir| place.join(dir));
        lop.damage(old.join("a").to_str().expect("UTF-8"), damaged_bytes());
        let uniques = |code| summary(&lop, &["uniques", old.to_str().expect("UTF-8")], code);
        uniques(0);
        let run = ["dedupe", "--all", "--by", kind, "--apply"];
        assert!(lop.run(run).code(3).stderr_str().contains("a: is not equal to the kept file"));
        for dir in [&old, &archive] {
            let known = lop.run(["dups".as_ref(), dir.as_os_str(), "--json".as_ref()]);
            assert_eq!(document(known.code(3))["summary"]["pending"], 1, "{kind} {dir:?}");
        }
        lop.remember([&place]);
        assert_eq!(uniques(6)["uniques"], 1, "{kind}");
    }
}

#[test]
fn a_file_unlike_two_equal_ones_is_damaged() {
    let tree = ["a", "b", "c"].into_iter();
    let tree =
        tree.fold(TreeBuilder::new(), |tree, name| tree.seeded(format!("d/{name}"), 1, 70_000));
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    lop.damage("d/c", damaged_bytes());
    lop.run(["dedupe", "--all", "--by", "hardlink", "--keep", "path:**/a", "--apply"]).code(3);
    let answer = lop.json(["file", "d/a"]);
    let others = &answer["files"][0]["others"];
    assert_eq!(
        (&others[0]["state"], &others[1]["state"]),
        (&"hard link".into(), &"damaged".into()),
        "{answer}"
    );
}
