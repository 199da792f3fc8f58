//! `uniques --verify` and `contains --verify`: only files that were read and compared count as
//! copies.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::Value;
use testkit::{NOBODY, Output, TreeBuilder, is_root, skipped};

use crate::lop::{Lop, document};

/// Creates a directory `old` and copies of its files in other directories, and scans all of them.
fn copied(to: &[&str]) -> Lop {
    let mut tree = TreeBuilder::new();
    for dir in [&["old"], to].concat() {
        tree = tree.seeded(format!("{dir}/a"), 1, 700_000).seeded(format!("{dir}/b"), 2, 900);
    }
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    lop
}

fn other_bytes() -> Vec<u8> {
    vec![7; 700_000]
}

#[track_caller]
fn run(lop: &Lop, args: &[&str], code: i32) -> Output {
    let output = lop.command().args(args).run();
    output.code(code);
    output
}

#[track_caller]
fn summary(lop: &Lop, args: &[&str], code: i32) -> Value {
    document(&run(lop, &[args, &["--json"]].concat(), code))["summary"].clone()
}

/// Returns the number of files and bytes that were compared with a copy, and the number of bad
/// copies.
#[track_caller]
fn tally(lop: &Lop, args: &[&str], code: i32) -> [u64; 3] {
    let summary = summary(lop, args, code);
    ["verified", "verified_bytes", "bad_copies"].map(|key| summary[key].as_u64().expect("a number"))
}

/// Both queries about `old` in the case that the only other directory is the archive.
const QUESTIONS: [&[&str]; 2] =
    [&["uniques", "--verify", "old"], &["contains", "--verify", "old", "archive"]];

#[test]
fn unchanged_files_have_a_copy() {
    for question in QUESTIONS {
        let lop = copied(&["archive"]);
        let output = run(&lop, question, 0);
        assert_eq!(output.stdout_str(), "");
        let said = "\n  2 files (684.5 KiB) compared with a copy\n";
        assert!(output.stderr_str().ends_with(said), "{}", output.stderr_str());
        assert_eq!(tally(&lop, question, 0), [2, 700_900, 0]);
        let requested = [&question[..1], &question[2..]].concat();
        assert!(summary(&lop, &requested, 0).get("verified").is_none(), "nothing was read");
    }
}

#[test]
fn damage_that_nobody_knows_yet_is_found_and_marked() {
    for question in QUESTIONS {
        let lop = copied(&["archive"]);
        lop.damage("archive/a", other_bytes());
        let requested = [&question[..1], &question[2..]].concat();
        assert_eq!(run(&lop, &requested, 0).stdout_str(), "");
        let output = run(&lop, question, 6);
        let listed = "old/a  (its copies elsewhere are damaged or unreadable)\n";
        assert_eq!(output.stdout_str(), listed);
        let named = format!(
            "lop: {}: differs from what was scanned before, though its size and times are the same\n",
            lop.path("archive/a").display()
        );
        let said = output.stderr_str();
        assert!(said.starts_with(&named), "{said}");
        let read = "\n  1 file (900 B) compared with a copy\n  \
                    1 copy is damaged or unreadable and does not count\n";
        assert!(said.ends_with(read), "{said}");
        // All later commands take the damage into account.
        assert_eq!(run(&lop, &requested, 6).stdout_str(), listed);
        assert_eq!(tally(&lop, question, 6), [1, 900, 0], "it is no copy any more");
        assert_eq!(summary(&lop, &["report"], 3)["damaged"], 1);
    }
}

#[test]
fn the_next_copy_is_tried() {
    let lop = copied(&["archive", "backup"]);
    lop.damage("archive/a", other_bytes());
    assert_eq!(tally(&lop, &["uniques", "--verify", "old"], 0), [2, 700_900, 1]);
    assert_eq!(summary(&lop, &["report"], 3)["damaged"], 1);
    assert_eq!(lop.listed(["contains", "old", "archive"], 6), ["old/a"]);
    assert_eq!(tally(&lop, &["contains", "--verify", "old", "backup"], 0), [2, 700_900, 0]);
    lop.damage("backup/a", other_bytes());
    assert_eq!(tally(&lop, &["uniques", "--verify", "old"], 6), [1, 900, 1]);
}

#[test]
fn a_file_that_is_damaged_itself_is_not_unique_but_damaged() {
    for question in QUESTIONS {
        let lop = copied(&["archive"]);
        lop.damage("old/a", other_bytes());
        assert_eq!(run(&lop, question, 3).stdout_str(), "old/a  (damaged)\n");
        assert_eq!(summary(&lop, question, 3)["damaged"], 1);
        assert_eq!(tally(&lop, question, 3), [1, 900, 0]);
        // Both copies are damaged, so no copy of the scanned content is left.
        lop.damage("archive/b", vec![7; 900]);
        let listed = "old/a  (damaged)\nold/b  (its copies elsewhere are damaged or unreadable)\n";
        assert_eq!(run(&lop, question, 6).stdout_str(), listed);
    }
}

/// The files are still identical to each other, but differ from the scanned content.
#[test]
fn files_that_are_damaged_alike_are_damaged() {
    for question in QUESTIONS {
        let lop = copied(&["archive"]);
        for name in ["old/a", "archive/a"] {
            lop.damage(name, other_bytes());
        }
        assert_eq!(run(&lop, question, 3).stdout_str(), "old/a  (damaged)\n");
    }
}

#[test]
fn a_copy_that_cannot_be_read_does_not_count() {
    if !is_root() {
        return skipped("only root can make a file of another user unreadable");
    }
    for question in QUESTIONS {
        let mut tree = TreeBuilder::new();
        for dir in ["old", "archive"] {
            tree = tree.seeded(format!("{dir}/a"), 1, 700_000).seeded(format!("{dir}/b"), 2, 900);
        }
        let lop = Lop::with(&tree);
        let nobody = |args: &[&str]| lop.command().args(args).as_user(NOBODY, NOBODY).run();
        nobody(&["scan", "."]).success();
        // Makes a copy unreadable, and updates its times in the catalog, so that it does not look changed.
        let bytes = fs::read(lop.path("archive/a")).expect("readable");
        let closed = fs::Permissions::from_mode(0o600);
        fs::set_permissions(lop.path("archive/a"), closed).expect("changed");
        lop.damage("archive/a", bytes);
        let output = nobody(question);
        output.code(6);
        let listed = "old/a  (its copies elsewhere are damaged or unreadable)\n";
        assert_eq!(output.stdout_str(), listed);
        let named =
            format!("lop: {}: cannot open: Permission denied\n", lop.path("archive/a").display());
        assert!(output.stderr_str().starts_with(&named), "{}", output.stderr_str());
        let state: String = lop
            .database()
            .query_row("SELECT state FROM files WHERE path LIKE '%/archive/a'", [], |row| {
                row.get(0)
            })
            .expect("is there");
        assert_eq!(state, "unreadable");
    }
}

/// A hard link is the same file, so its content does not matter.
#[test]
fn a_hard_link_is_not_read() {
    let tree = TreeBuilder::new()
        .seeded("old/a", 1, 900)
        .hard_link("old/a", "kept/a")
        .seeded("kept/copy", 1, 900)
        .seeded("old/b", 2, 900)
        .hard_link("old/b", "kept/b")
        .seeded("old/c", 1, 900);
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    for question in [&["uniques", "--verify", "old"][..], &["contains", "--verify", "old", "kept"]]
    {
        assert_eq!(tally(&lop, question, 0), [1, 900, 0], "of old/c");
    }
    lop.damage("kept/copy", vec![7; 900]);
    // A file with a hard link outside can also be a copy of other files.
    for question in [&["uniques", "--verify", "old"][..], &["contains", "--verify", "old", "kept"]]
    {
        assert_eq!(run(&lop, question, 0).stdout_str(), "");
    }
}

#[test]
fn all_equal_files_of_a_directory_are_compared_with_the_one_copy() {
    let mut tree = TreeBuilder::new().seeded("copy", 1, 700_000);
    for n in 0..40 {
        tree = tree
            .seeded(format!("old/{n}"), 1, 700_000)
            .hard_link(format!("old/{n}"), format!("old/link {n}"));
    }
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    assert_eq!(tally(&lop, &["uniques", "--verify", "old"], 0), [80, 80 * 700_000, 0]);
    lop.damage("copy", other_bytes());
    assert_eq!(tally(&lop, &["uniques", "--verify", "old"], 6), [0, 0, 1]);
    lop.damage("old/7", other_bytes());
    let output = run(&lop, &["uniques", "--verify", "--anywhere", "old"], 3);
    assert_eq!(output.stdout_str(), "old/7  (damaged)\nold/link 7  (damaged)\n");
}

#[test]
fn copies_inside_are_compared_where_they_count() {
    let tree = TreeBuilder::new().seeded("dir/a", 1, 700_000).seeded("dir/b", 1, 700_000);
    let lop = Lop::with(&tree.seeded("dir/alone", 2, 900));
    lop.remember(["."]);
    let question = ["uniques", "--verify", "--anywhere", "dir"];
    assert_eq!(tally(&lop, &question, 6), [2, 1_400_000, 0]);
    assert_eq!(tally(&lop, &["uniques", "--verify", "dir"], 6), [0, 0, 0], "none is claimed");
    lop.damage("dir/b", other_bytes());
    let output = run(&lop, &question, 6);
    let listed =
        "dir/a  (its copies elsewhere are damaged or unreadable)\ndir/alone\ndir/b  (damaged)\n";
    assert_eq!(output.stdout_str(), listed);
}

#[test]
fn copies_far_below_path_max_are_read() {
    let tree = TreeBuilder::new().deep_chain(3000, "d", "deep down").file("near/copy", "deep down");
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    for question in [
        &["uniques", "--verify", "near"][..],
        &["uniques", "--verify", "d"],
        &["contains", "--verify", "near", "d"],
        &["contains", "--verify", "d", "near"],
    ] {
        assert_eq!(tally(&lop, question, 0), [1, 9, 0]);
    }
    lop.damage("near/copy", "DEEP DOWN");
    assert_eq!(tally(&lop, &["uniques", "--verify", "d"], 6), [0, 0, 1]);
}

/// An unknown file may be a copy, so the answer is "unknown" and not "no".
#[test]
fn a_bad_copy_is_not_the_last_one_if_others_are_unknown() {
    let lop = copied(&["archive"]);
    fs::write(lop.path("archive/new"), other_bytes()).expect("written");
    lop.damage("archive/a", other_bytes());
    let output = run(&lop, &["contains", "--verify", "old", "archive"], 3);
    assert_eq!(
        output.stdout_str(),
        "old/a  (the second directory has an unknown file of its size)\n"
    );
    let lop = copied(&["archive", "backup"]);
    lop.damage("archive/a", other_bytes());
    fs::write(lop.path("backup/a"), other_bytes()).expect("written");
    let output = run(&lop, &["uniques", "--verify", "old"], 3);
    assert_eq!(output.stdout_str(), "old/a  (its copies changed since the scan)\n");
    let lop = copied(&["archive"]);
    lop.damage("archive/a", other_bytes());
    lop.lay(&TreeBuilder::new().seeded("elsewhere", 1, 700_000));
    lop.remember(["elsewhere"]);
    lop.database()
        .execute(
            "UPDATE file SET state = 1, content = NULL WHERE name = CAST('elsewhere' AS BLOB)",
            (),
        )
        .expect("written");
    let output = run(&lop, &["uniques", "--verify", "old"], 3);
    assert_eq!(output.stdout_str(), "old/a  (not compared yet)\n");
}

/// Other commands then do not learn about the damage, so lop must say so.
#[test]
fn damage_that_cannot_be_recorded_makes_the_answer_partial() {
    let lop = copied(&["archive", "backup"]);
    lop.damage("archive/a", other_bytes());
    lop.database()
        .execute_batch(
            "CREATE TRIGGER no BEFORE UPDATE ON file BEGIN SELECT RAISE(FAIL, 'no'); END",
        )
        .expect("made");
    let output = run(&lop, &["uniques", "--verify", "old"], 3);
    let said = "lop: the damage could not be recorded in the catalog, so other commands do not know about it: ";
    assert!(output.stderr_str().contains(said), "{}", output.stderr_str());
}
