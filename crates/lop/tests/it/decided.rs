//! `lop dedupe --decided`: the decisions in the catalog choose the files that stay.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use catalog::{Catalog, Choice, Decider, Scope};
use content::Digest;
use review::Index;
use serde_json::Value;
use testkit::{Compare, Snapshot, TreeBuilder, assert_same, skipped};

use crate::dedupe::BACK;
use crate::lop::{Lop, document, settle};

/// Two groups in two folders, and one in three folders.
fn tree() -> TreeBuilder {
    TreeBuilder::new()
        .file("photos/x", "content of x")
        .file("backup/x", "content of x")
        .file("down/x", "content of x")
        .file("photos/y", "content of y")
        .file("backup/y", "content of y")
        .file("photos/z", "content of z")
        .file("backup/z", "content of z")
}

fn scanned(tree: &TreeBuilder) -> Lop {
    let lop = Lop::with(tree);
    lop.remember(["."]);
    lop
}

/// Returns the absolute paths in the working directory.
fn paths(lop: &Lop, names: &[&str]) -> Vec<Vec<u8>> {
    names.iter().map(|name| lop.path(name).into_os_string().into_encoded_bytes()).collect()
}

fn decide(lop: &Lop, scope: &Scope, choice: &Choice) {
    let decider = Decider::open(&lop.catalog()).expect("a catalog");
    decider.decide(scope.clone(), choice.clone(), 1).expect("decided");
}

/// Decides that these files of a group with this content stay, and that no other file does.
fn keep_files(lop: &Lop, content: &str, names: &[&str]) {
    let scope = Scope::Group(Digest::of(content.as_bytes()));
    let catalog = Catalog::open(&lop.catalog()).expect("a catalog");
    let index = Index::load(&catalog, 0).expect("loads");
    let all = (0..index.len()).flat_map(|at| index.members(at)).map(|member| member.path);
    let keep = paths(lop, names);
    let others = all.filter(|path| !keep.contains(path)).collect();
    decide(lop, &scope, &Choice::Files { keep, others });
}

/// Decides that the files in `photos` stay in all groups of two files.
fn keep_photos(lop: &Lop) {
    let scope = Scope::Folders(paths(lop, &["backup", "photos"]));
    decide(lop, &scope, &Choice::Folder(paths(lop, &["photos"])));
}

fn keep_by(lop: &Lop, filter: &str, rule: &str) {
    decide(lop, &Scope::Filter(filter.into()), &Choice::Rules(vec![rule.into()]));
}

#[track_caller]
fn apply(lop: &Lop, more: &[&str]) {
    lop.command()
        .args(["dedupe", "--decided", "--by", "delete", "--apply"])
        .args(more)
        .run()
        .success();
}

/// Returns which of the files exist.
fn there<'n>(lop: &Lop, names: &[&'n str]) -> Vec<&'n str> {
    names.iter().copied().filter(|name| lop.path(name).exists()).collect()
}

const ALL: [&str; 7] =
    ["photos/x", "backup/x", "down/x", "photos/y", "backup/y", "photos/z", "backup/z"];

/// Returns the kept files of a plan and the reasons, relative to the working directory.
fn kept(lop: &Lop, plan: &Value) -> Vec<(String, String)> {
    let work = format!("{}/", lop.work().display());
    let text = |value: &Value| value.as_str().expect("a text").replace(&work, "");
    let groups = plan["groups"].as_array().expect("groups").iter();
    let kept = groups.flat_map(|group| group["kept"].as_array().expect("files"));
    let mut kept: Vec<_> = kept.map(|file| (text(&file["path"]), text(&file["why"]))).collect();
    kept.sort();
    kept
}

#[test]
fn groups_without_a_decision_are_skipped() {
    let lop = scanned(&tree());
    let before = Snapshot::of(lop.work());
    let output = lop.run(["dedupe", "--decided", "--by", "delete", "--apply"]);
    let said = output.success().stderr_str();
    assert!(said.contains("skipped 3 groups: 3 undecided\n"), "{said}");
    decide(&lop, &Scope::Filter(String::new()), &Choice::Leave);
    let output = lop.run(["dedupe", "--decided", "--by", "delete", "--apply"]);
    let said = output.success().stderr_str();
    assert!(said.contains("skipped 3 groups: 3 to be left alone\n"), "{said}");
    assert_same(&before, &Snapshot::of(lop.work()), Compare::ALL);
}

#[test]
fn a_decision_about_folders_settles_their_groups_and_no_others() {
    let lop = scanned(&tree());
    let before = Snapshot::of(lop.work());
    keep_photos(&lop);
    let plan = lop.json(["dedupe", "--decided", "--by", "delete"]);
    let expected = ["photos/y", "photos/z"].map(|path| (path.into(), "in photos".into()));
    let shown: Vec<(String, String)> = kept(&lop, &plan)
        .into_iter()
        .map(|(path, why)| (path, why.replace(&format!("{}/", lop.work().display()), "")))
        .collect();
    assert_eq!(shown, expected);
    let output = lop.run(["dedupe", "--decided", "--by", "quarantine", "--apply"]);
    assert!(output.success().stderr_str().contains("skipped 1 group: 1 undecided\n"));
    assert_eq!(there(&lop, &ALL), ["photos/x", "backup/x", "down/x", "photos/y", "photos/z"]);
    lop.run(["undo"]).success();
    assert_same(&before, &Snapshot::of(lop.work()), BACK);
}

#[test]
fn the_reason_names_the_folders_below_the_kept_one_whose_files_go() {
    let tree = TreeBuilder::new().file("data/photos/y", "y").file("data/backup/photos/y", "y");
    let lop = scanned(&tree);
    let scope = Scope::Folders(paths(&lop, &["data", "data/backup"]));
    decide(&lop, &scope, &Choice::Folder(paths(&lop, &["data"])));
    let plan = lop.json(["dedupe", "--decided", "--by", "delete"]);
    let expected = ("data/photos/y".into(), "in data, outside data/backup".into());
    let shown = kept(&lop, &plan);
    let work = format!("{}/", lop.work().display());
    let shown: Vec<_> =
        shown.into_iter().map(|(path, why)| (path, why.replace(&work, ""))).collect();
    assert_eq!(shown, [expected]);
}

#[test]
fn a_plan_of_decisions_can_be_saved_and_applied() {
    let lop = scanned(&tree());
    let before = Snapshot::of(lop.work());
    keep_photos(&lop);
    keep_files(&lop, "content of x", &["down/x"]);
    let plan = lop.state().join("plan.jsonl").display().to_string();
    lop.run(["dedupe", "--decided", "--by", "delete", "--save-plan", &plan]).success();
    assert_eq!(fs::read_to_string(&plan).expect("a plan").lines().count(), 4);
    lop.run(["dedupe", "--plan", &plan, "--apply"]).success();
    assert_eq!(there(&lop, &ALL), ["down/x", "photos/y", "photos/z"]);
    lop.run(["undo"]).success();
    assert_same(&before, &Snapshot::of(lop.work()), BACK);
}

#[test]
fn rules_of_a_filter_choose_and_a_decision_about_one_group_comes_first() {
    let lop = scanned(&tree().mtime("backup/x", 3, 0).mtime("backup/y", 2_000_000_000, 0));
    keep_by(&lop, "", "newest");
    keep_files(&lop, "content of x", &["down/x", "photos/x"]);
    decide(&lop, &Scope::Group(Digest::of(b"content of z")), &Choice::Leave);
    let plan = lop.json(["dedupe", "--decided", "--by", "delete"]);
    let expected = [("backup/y", "newest"), ("down/x", "chosen"), ("photos/x", "chosen")];
    let expected = expected.map(|(path, why)| (path.into(), why.into()));
    assert_eq!(kept(&lop, &plan), expected);
    apply(&lop, &[]);
    assert_eq!(there(&lop, &ALL), ["photos/x", "down/x", "backup/y", "photos/z", "backup/z"]);
}

#[test]
fn a_group_whose_kept_file_has_changed_is_skipped() {
    let lop = scanned(&tree());
    keep_photos(&lop);
    keep_files(&lop, "content of x", &["photos/x"]);
    fs::write(lop.path("photos/x"), "something new").expect("written");
    fs::remove_file(lop.path("photos/y")).expect("removed");
    settle();
    let plan = lop.run(["dedupe", "--decided", "--by", "delete", "--apply"]);
    plan.code(3);
    assert_eq!(
        there(&lop, &ALL),
        ["photos/x", "backup/x", "down/x", "backup/y", "photos/z"],
        "only z has its kept file"
    );
    // After a scan, the decisions cannot be followed any more.
    lop.remember(["."]);
    apply(&lop, &[]);
    assert_eq!(there(&lop, &ALL).len(), 5);
}

#[test]
fn a_copy_that_was_found_after_files_were_chosen_stays() {
    let lop = scanned(&tree());
    keep_files(&lop, "content of x", &["photos/x"]);
    keep_files(&lop, "content of y", &["photos/y"]);
    fs::create_dir(lop.path("new")).expect("made");
    fs::write(lop.path("new/x"), "content of x").expect("written");
    settle();
    lop.remember(["."]);
    let output = lop.run(["dedupe", "--decided", "--by", "delete", "--apply"]);
    let said = output.success().stderr_str();
    let expected = "skipped 2 groups: 1 undecided, 1 with a decision that cannot be followed\n";
    assert!(said.contains(expected), "{said}");
    assert_eq!(there(&lop, &["photos/x", "backup/x", "down/x", "new/x", "backup/y"]).len(), 4);
}

#[test]
fn all_names_of_a_kept_file_stay() {
    let tree = TreeBuilder::new()
        .hard_links("the content", &["photos/one", "down/two"])
        .file("backup/three", "the content");
    let lop = scanned(&tree);
    keep_files(&lop, "the content", &["photos/one"]);
    apply(&lop, &[]);
    let names = ["photos/one", "down/two", "backup/three"];
    assert_eq!(there(&lop, &names), ["photos/one", "down/two"]);
}

#[test]
fn all_names_of_a_file_that_goes_are_removed() {
    let tree = TreeBuilder::new()
        .hard_links("the content", &["photos/one", "down/two"])
        .file("backup/three", "the content");
    let lop = scanned(&tree);
    keep_files(&lop, "the content", &["backup/three"]);
    apply(&lop, &[]);
    assert_eq!(there(&lop, &["photos/one", "down/two", "backup/three"]), ["backup/three"]);
}

#[test]
fn protected_files_and_files_outside_of_the_paths_stay() {
    let lop = scanned(&tree());
    keep_by(&lop, "", "path:down");
    keep_files(&lop, "content of x", &["down/x"]);
    keep_photos(&lop);
    let (backup, photos) = (lop.path("backup"), lop.path("photos"));
    apply(&lop, &["--protect", backup.to_str().expect("UTF-8")]);
    assert_eq!(there(&lop, &ALL).len(), 6, "only photos/x goes");
    assert!(!lop.path("photos/x").exists());
    apply(&lop, &[photos.to_str().expect("UTF-8")]);
    assert_eq!(there(&lop, &ALL).len(), 6, "the files in photos are the kept ones");
    apply(&lop, &["--min-size", "1k"]);
    assert_eq!(there(&lop, &ALL).len(), 6, "all files are smaller");
    apply(&lop, &[]);
    assert_eq!(there(&lop, &ALL), ["down/x", "photos/y", "photos/z"]);
}

#[test]
fn one_copy_of_each_content_always_stays() {
    let lop = scanned(&tree());
    keep_files(&lop, "content of x", &["nowhere"]);
    keep_files(&lop, "content of y", &[]);
    keep_by(&lop, "name:z", "newest");
    apply(&lop, &[]);
    let left = there(&lop, &ALL);
    assert_eq!(left[..5], ["photos/x", "backup/x", "down/x", "photos/y", "backup/y"]);
    assert_eq!(left.len(), 6, "one z is left");
}

#[test]
fn rules_never_choose_the_file_that_copies_on_another_file_system_are_linked_to() {
    let there = TreeBuilder::new().file("1", "content of x").file("2", "content of x");
    let there = there.make_in_memory();
    let lop = scanned(&tree());
    let inode = |path: &Path| fs::metadata(path).expect("is there").ino();
    let device = |path: &Path| fs::metadata(path).expect("is there").dev();
    let copies = [there.path().join("1"), there.path().join("2")];
    if device(&copies[0]) == device(&lop.path("photos/x")) {
        return skipped("the working directory is in memory too");
    }
    settle();
    lop.remember([there.path()]);
    keep_files(&lop, "content of x", &["photos/x"]);
    lop.run(["dedupe", "--decided", "--by", "hardlink", "--apply"]).success();
    assert_eq!(inode(&lop.path("photos/x")), inode(&lop.path("backup/x")));
    assert_ne!(inode(&copies[0]), inode(&copies[1]));
}

#[test]
fn decisions_and_other_choices_exclude_each_other() {
    let lop = scanned(&tree());
    for more in [&["--keep", "newest"][..], &["-i"], &["--files-from", "list"], &["--report", "r"]]
    {
        lop.command().args(["dedupe", "--decided", "--by", "delete"]).args(more).run().code(2);
    }
    lop.run(["dedupe", "--decided"]).code(2);
    let output = lop.command().args(["dedupe", "--decided", "--by", "delete", "--json"]).run();
    assert!(document(output.success())["groups"].as_array().is_some_and(Vec::is_empty));
}
