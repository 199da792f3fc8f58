//! `lop dedupe --interactive`: the user types the files to keep, one line per group.

use std::fs;

use testkit::{Compare, Shown, Snapshot, TreeBuilder, assert_same};

use crate::lop::Lop;

const KEEP: &str = "Keep which files? [Enter: as shown, ?: help] ";

/// Returns a tree with a group of three files and a group of twelve. The group of three comes
/// first.
fn scanned() -> Lop {
    let mut tree = TreeBuilder::new();
    for (at, name) in ["a", "b", "c"].iter().enumerate() {
        let time = 1_000_000_000 + i64::try_from(at).expect("small");
        tree =
            tree.seeded(format!("three/{name}"), 1, 70_000).mtime(format!("three/{name}"), time, 0);
    }
    for n in 1..=12 {
        let name = format!("twelve/f{n:02}");
        tree = tree.seeded(&name, 2, 1000).mtime(&name, 1_000_000_000 + n, 0);
    }
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    lop
}

#[track_caller]
fn talk(lop: &Lop, args: &[&str], dialogue: &[(&str, &str)], code: i32) -> Shown {
    let plain = ["--color", "never", "--progress", "never"];
    let command = ["dedupe", "--by", "delete", "-i"].into_iter().chain(plain);
    let shown = lop.command().args(command).args(args).talk(80, dialogue);
    assert_eq!(shown.code, Some(code), "{args:?}:\n{}", shown.text);
    shown
}

fn names(lop: &Lop, dir: &str) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(lop.path(dir))
        .expect("listed")
        .map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"))
        .collect();
    names.sort();
    names
}

#[test]
fn several_files_can_be_kept_by_number() {
    let lop = scanned();
    let before = Snapshot::of(lop.work());
    let dialogue = [(KEEP, "3\n"), (KEEP, "1,12 4-5\n"), ("[y/N] ", "y\n")];
    let shown = talk(&lop, &["--apply"], &dialogue, 0);
    assert_eq!(names(&lop, "three"), ["c"], "{}", shown.text);
    assert_eq!(names(&lop, "twelve"), ["f01", "f04", "f05", "f12"], "{}", shown.text);
    assert!(shown.text.contains("[1/2] 3 files of 68.4 KiB\n1  keep    /"), "{}", shown.text);
    assert!(shown.text.contains("/three/b  (other mtime)\n"), "{}", shown.text);
    assert!(shown.text.contains("Delete 10 files, 176.0 KiB to free? "), "{}", shown.text);
    lop.run(["undo"]).success();
    assert_same(&before, &Snapshot::of(lop.work()), Compare::VISIBLE);
}

#[test]
fn nothing_is_changed_without_the_last_yes() {
    let lop = scanned();
    let before = Snapshot::of(lop.work());
    for dialogue in [
        &[(KEEP, "1\n"), (KEEP, "2\n"), ("[y/N/list all] ", "\n")][..],
        &[(KEEP, "1\n"), (KEEP, "2\n"), ("[y/N/list all] ", "n\n")],
        &[(KEEP, "1\n"), (KEEP, "2\n"), ("[y/N/list all] ", "\u{4}")],
        &[(KEEP, "1\n"), (KEEP, "\u{4}")],
        &[(KEEP, "\u{4}")],
        &[(KEEP, "1\n"), (KEEP, "quit\n")],
    ] {
        let shown = talk(&lop, &["--apply"], dialogue, 4);
        assert!(shown.text.contains("nothing was changed"), "{}", shown.text);
        assert_same(&before, &Snapshot::of(lop.work()), Compare::ALL);
    }
    let shown = talk(&lop, &["--apply"], &[(KEEP, "skip\n"), (KEEP, "all\n")], 0);
    assert!(shown.text.contains("Nothing to do"), "{}", shown.text);
    assert_same(&before, &Snapshot::of(lop.work()), Compare::ALL);
    lop.run(["dedupe", "--by", "delete", "--interactive"]).code(2);
}

#[test]
fn invalid_answers_are_explained_and_a_choice_can_be_revised() {
    let lop = scanned();
    let dialogue = [
        (KEEP, "4\n"),
        ("numbered from 1 to 3.", ""),
        (KEEP, "y\n"),
        ("type ? for help.", ""),
        (KEEP, "none\n"),
        ("One file of each group must be kept", ""),
        (KEEP, "?\n"),
        ("leave this group alone", ""),
        (KEEP, "3\n"),
        (KEEP, "back\n"),
        (KEEP, "2\n"),
        (KEEP, "done\n"),
        ("[y/N] ", "y\n"),
    ];
    let shown = talk(&lop, &["--apply"], &dialogue, 0);
    assert_eq!((names(&lop, "three"), names(&lop, "twelve").len()), (vec!["b".into()], 12));
    let is_path = |line: &&str| line.contains(lop.work().to_str().expect("UTF-8"));
    let widest = shown.text.lines().filter(|line| !is_path(line)).map(|line| line.chars().count());
    assert!(widest.max() <= Some(80), "{}", shown.text);
    // Accepts all other groups as shown.
    talk(
        &lop,
        &["--apply"],
        &[(KEEP, "rest\n"), ("[y/N/list all] ", "list\n"), ("all] ", "y\n")],
        0,
    );
    assert_eq!(names(&lop, "twelve"), ["f01"]);
}

#[test]
fn choices_are_saved_as_a_plan_and_not_lost() {
    let lop = scanned();
    fs::write(lop.path("precious"), "precious").expect("written");
    let dialogue = [
        (KEEP, "2\n"),
        (KEEP, "skip\n"),
        ("which file? [Enter: do not save] ", "precious\n"),
        ("File exists. Another file? [Enter: do not save] ", "chosen.jsonl\n"),
    ];
    let shown = talk(&lop, &[], &dialogue, 0);
    let said = "apply it with: lop dedupe --plan chosen.jsonl --apply";
    assert!(shown.text.contains(said), "{}", shown.text);
    assert_eq!(fs::read(lop.path("precious")).expect("there"), b"precious");
    assert_eq!(names(&lop, "three"), ["a", "b", "c"]);
    lop.run(["dedupe", "--plan", "chosen.jsonl", "--apply"]).success();
    assert_eq!(names(&lop, "three"), ["b"]);
    lop.remember(["."]);
    let dialogue = [(KEEP, "2\n"), ("do not save] ", "\n")];
    let shown = talk(&lop, &["twelve"], &dialogue, 0);
    assert!(
        shown.text.contains("nothing was changed, and the choices were not saved"),
        "{}",
        shown.text
    );
    talk(&lop, &["--save-plan", "named.jsonl", "twelve"], &[(KEEP, "12\n")], 0);
    assert_eq!(fs::read_to_string(lop.path("named.jsonl")).expect("there").lines().count(), 11);
    // A file that is not a plan is not overwritten.
    let save = |file: &str| lop.run(["dedupe", "--by", "delete", "--save-plan", file]);
    save("precious").code(4);
    assert_eq!(fs::read(lop.path("precious")).expect("there"), b"precious");
    save("named.jsonl").success();
}

#[test]
fn protected_files_are_kept_whatever_is_chosen() {
    let lop = scanned();
    let args = ["--apply", "--protect", "three/c", "three"];
    let shown = talk(&lop, &["--apply", "--protect", "three", "three"], &[], 0);
    assert!(shown.text.contains("Nothing to do"), "{}", shown.text);
    fs::create_dir(lop.path("safe")).expect("made");
    fs::rename(lop.path("three/c"), lop.path("safe/c")).expect("moved");
    crate::lop::settle();
    lop.remember(["."]);
    let args = [args[0], "--protect", "safe"];
    let dialogue = [("(protected)", ""), (KEEP, "3\n"), (KEEP, "skip\n"), ("[y/N] ", "y\n")];
    talk(&lop, &args, &dialogue, 0);
    assert_eq!((names(&lop, "three"), names(&lop, "safe")), (vec!["b".into()], vec!["c".into()]));
}

#[test]
fn the_reclaimable_space_is_the_disk_space_of_the_files() {
    let tree = TreeBuilder::new().sparse("a", 1 << 30, &[(1 << 20, b"island")]).sparse(
        "b",
        1 << 30,
        &[(1 << 20, b"island")],
    );
    let lop = Lop::with(&tree);
    lop.remember(["."]);
    let report = lop.run(["report"]).success().stdout_str().to_string();
    assert!(report.contains(", 4.0 KiB reclaimable"), "{report}");
    let shown = lop.run(["dedupe", "--by", "hardlink"]);
    let said = shown.success().stderr_str();
    assert!(said.starts_with("1 file to hardlink, 4.0 KiB to free;"), "{said}");
    let shown = talk(&lop, &["--apply"], &[(KEEP, "1\n"), ("[y/N] ", "n\n")], 4);
    assert!(shown.text.contains("Delete 1 file, 4.0 KiB to free? "), "{}", shown.text);
    let done = lop.run(["dedupe", "--by", "hardlink", "--apply"]);
    let said = done.success().stderr_str();
    assert!(said.starts_with("1 file hard linked, 4.0 KiB freed;"), "{said}");
}
