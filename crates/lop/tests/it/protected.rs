//! Protected folders of the configuration: no command removes or replaces anything in them, and each says why.

use std::fs;
use std::os::unix::fs::symlink;

use testkit::{
    Compare, Mount, Output, Snapshot, TempTree, TreeBuilder, assert_same, is_root, skipped,
};

use crate::configured::{command, configure};
use crate::lop::Lop;
use crate::sweep::RULES;

/// The line that protects the folder in [`lop_with`].
const PLACE: &str = "~/.config/lop/config.toml:1";

/// Returns a tree in which `t/safe` is protected.
fn lop_with(tree: &TreeBuilder) -> Lop {
    let lop = Lop::with(tree);
    configure(&lop, format!("protect = ['{}']\n", lop.path("t/safe").display()));
    lop
}

fn tree() -> TreeBuilder {
    TreeBuilder::new()
        .file("t/safe/x", "alike")
        .file("t/safe/sub/y", "alike")
        .file("t/other/x", "alike")
        .file("t/other/y", "alike")
}

fn run<'a>(lop: &Lop, args: impl IntoIterator<Item = &'a str>) -> Output {
    command(lop).args(args).run()
}

/// Checks that a command is refused with a message that contains `why`, and changes nothing.
#[track_caller]
fn is_refused(lop: &Lop, args: &[&str], why: &str) {
    let before = Snapshot::of(lop.work());
    let output = run(lop, args.iter().copied());
    let said = output.code(4).stderr_str();
    assert!(said.contains(why), "{args:?}: {said}");
    assert_same(&before, &Snapshot::of(lop.work()), Compare::ALL);
}

#[test]
fn dedupe_keeps_what_is_protected_and_acts_on_the_rest() {
    let lop = lop_with(&tree().file("more/x", "alike"));
    // The protection of the arguments adds to that of the configuration.
    run(&lop, ["scan", "."]).success();
    let before = Snapshot::of(lop.path("t/safe"));
    let args = ["dedupe", "--by", "delete", "--protect", "more", "--keep", "path:t/other/**"];
    let output = run(&lop, args);
    let shown = output.success().stdout_str();
    assert_eq!(shown.matches("(protected)").count(), 3, "{shown}");
    let apply = args.into_iter().chain(["--apply", "--all"]);
    run(&lop, apply).success();
    assert_same(&before, &Snapshot::of(lop.path("t/safe")), Compare::ALL);
    assert!(!lop.path("t/other/x").exists() && lop.path("more/x").exists());
}

#[test]
fn a_saved_plan_that_acts_on_a_protected_file_is_refused() {
    let lop = lop_with(&tree());
    lop.run(["scan", "t"]).success();
    let plan =
        ["dedupe", "--by", "delete", "--keep", "path:t/other/**", "--save-plan", "plan", "t"];
    lop.run(plan).success();
    let why = format!("t/safe/sub/y is protected by {PLACE}; nothing was changed");
    is_refused(&lop, &["dedupe", "--plan", "plan", "--apply"], &why);
    is_refused(&lop, &["dedupe", "--plan", "plan"], &why);
    run(&lop, plan).success();
    run(&lop, ["dedupe", "--plan", "plan", "--apply"]).success();
    assert!(lop.path("t/safe/x").exists() && !lop.path("t/other/x").exists());
}

#[test]
fn separate_leaves_protected_names_alone() {
    let tree = TreeBuilder::new()
        .hard_links("both", &["t/a", "t/safe/a", "t/z"])
        .hard_links("inside", &["t/safe/b", "t/safe/c"]);
    let lop = lop_with(&tree);
    let before = Snapshot::of(lop.path("t/safe"));
    let output = run(&lop, ["separate", "--apply", "t"]);
    let said = output.success().stderr_str();
    let safe = lop.path("t/safe").display().to_string();
    assert!(
        said.contains(&format!("left alone {safe}, which is protected by {PLACE}\n")),
        "{said}"
    );
    let inodes = |path: &str| fsops::Stat::of_path(&lop.path(path)).expect("exists");
    assert_eq!(inodes("t/safe/b").key(), inodes("t/safe/c").key());
    assert_eq!((inodes("t/safe/a").links, inodes("t/a").links, inodes("t/z").links), (1, 1, 1));
    let after = Snapshot::of(lop.path("t/safe"));
    assert_eq!(before.entries.len(), after.entries.len());
    let output = run(&lop, ["separate", "--apply", "t/safe"]);
    assert!(output.success().stderr_str().contains("left alone"), "{}", output.stderr_str());
    assert_eq!(inodes("t/safe/b").links, 2);
}

#[test]
fn purge_refuses_what_is_protected_and_what_contains_it() {
    let lop = lop_with(&tree());
    let safe = lop.path("t/safe").display().to_string();
    symlink("t/safe", lop.path("link")).expect("made");
    let is = format!("is protected by {PLACE}\n");
    for path in ["t/safe", "t/safe/", "t/safe/sub", "t/safe/x", "t/other/../safe/x", "link/x"] {
        is_refused(&lop, &["purge", path], &format!("lop: {path}: {is}"));
    }
    let contains = format!("lop: t: contains {safe}, which is protected by {PLACE}\n");
    for args in [&["purge", "t"][..], &["purge", "--instant", "t"], &["purge", "-n", "t"]] {
        is_refused(&lop, args, &contains);
    }
    is_refused(&lop, &["purge", "t/other", "t/safe/x"], "1 path refused; nothing was removed");
    // The link is not in the folder, and removing it leaves the folder alone.
    run(&lop, ["purge", "link", "t/other"]).success();
    assert!(lop.path("t/safe/x").exists() && !lop.path("t/other").exists());
}

#[test]
fn mirror_refuses_a_destination_in_or_around_a_protected_folder() {
    let lop = lop_with(&tree().file("src/x", "new").dir("dst"));
    let is = format!("is protected by {PLACE}; nothing was changed");
    for destination in ["t/safe", "t/safe/sub", "t/safe/new"] {
        is_refused(&lop, &["mirror", "src", destination], &format!("lop: {destination} {is}"));
    }
    for args in [&["mirror", "--delete", "src", "t"][..], &["mirror", "-n", "src", "t"]] {
        let safe = lop.path("t/safe").display().to_string();
        is_refused(&lop, args, &format!("lop: t contains {safe}, which is protected by {PLACE}"));
    }
    // A protected folder can be copied.
    run(&lop, ["mirror", "t/safe", "dst"]).success();
    assert!(lop.path("dst/sub/y").exists());
}

/// The receiver obeys the configuration of its own host, which the user on the other host cannot see.
#[test]
fn mirror_obeys_the_protection_of_the_other_host() {
    let lop = lop_with(&tree().file("src/x", "new"));
    let scripts = TempTree::new();
    let script = scripts.join("rsh");
    let mirror = |config: &std::path::Path, from: &str, to: &str| {
        let lines = format!("export LOP_CONFIG={}\nshift\nexec sh -c \"$*\"\n", config.display());
        fs::write(&script, lines).expect("written");
        let rsh = format!("sh {}", script.display());
        let args = ["mirror", "--rsh", &rsh, "--remote-lop", env!("CARGO_BIN_EXE_lop"), from, to];
        lop.command().args(args).run()
    };
    let there = |path: &str| format!("far.invalid:{}", lop.path(path).display());
    let config = lop.home().join(".config/lop/config.toml");
    let before = Snapshot::of(lop.work());
    let output = mirror(&config, "src", &there("t/safe"));
    let said = output.code(4).stderr_str();
    assert!(said.contains(&format!("is protected by {PLACE}; nothing was changed")), "{said}");
    let broken = lop.home().join("broken.toml");
    crate::configured::write(&broken, "protekt = []\n");
    let output = mirror(&broken, "src", &there("t/other"));
    let said = output.code(4).stderr_str();
    assert!(said.contains("~/broken.toml:1:1: protekt: unknown key"), "{said}");
    assert_same(&before, &Snapshot::of(lop.work()), Compare::ALL);
    // The sender changes nothing, so its configuration does not matter.
    mirror(&broken, &there("src"), "pulled").success();
    mirror(&config, "src", &there("t/other")).success();
    assert!(lop.path("pulled/x").exists() && lop.path("t/other/y").exists());
}

#[test]
fn sweep_takes_nothing_that_is_protected() {
    let tree = TreeBuilder::new()
        .file("t/a.tmp", "junk")
        .file("t/safe/b.tmp", "kept")
        .file("t/project/Cargo.toml", "")
        .file("t/project/target/debug/x", "built")
        .file("t/project/target/safe/x", "kept");
    let lop = Lop::with(&tree);
    let target = lop.path("t/project/target/safe");
    let place = format!("protect = ['{}', '{}']\n", lop.path("t/safe").display(), target.display());
    configure(&lop, place);
    crate::configured::write(&lop.path("rules.toml"), RULES);
    let sweep = |args: &[&str]| run(&lop, [&["sweep", "--rules", "rules.toml"], args].concat());
    let output = sweep(&["--apply", "t"]);
    let said = output.success().stderr_str();
    for folder in [lop.path("t/safe"), target.clone()] {
        let note = format!("left alone {}, which is protected by {PLACE}\n", folder.display());
        assert!(said.contains(&note), "{said}");
    }
    assert!(!lop.path("t/a.tmp").exists() && lop.path("t/safe/b.tmp").exists());
    assert!(target.join("x").exists());
    run(&lop, ["undo"]).success();
    let rules = ["sweep", "--rules", "rules.toml"];
    for (path, apply) in [("t/safe", "--apply"), ("t/project/target/safe", "--delete")] {
        let why = format!("{path} is protected by {PLACE}; nothing was changed");
        is_refused(&lop, &[&rules[..], &[apply, path]].concat(), &why);
    }
    let output = sweep(&["--explain", "t/safe/b.tmp", "t"]);
    let why = format!("t/safe is protected by {PLACE}");
    assert!(output.success().stdout_str().contains(&why), "{}", output.stdout_str());
    let output = sweep(&["--delete", "t"]);
    output.success();
    assert!(!lop.path("t/a.tmp").exists() && lop.path("t/safe/b.tmp").exists());
    assert!(target.join("x").exists() && lop.path("t/project/Cargo.toml").exists());
}

#[test]
fn a_plan_of_a_sweep_takes_nothing_that_is_protected_now() {
    let lop = lop_with(&TreeBuilder::new().file("t/safe/b.tmp", "kept").file("t/a.tmp", "junk"));
    crate::configured::write(&lop.path("rules.toml"), RULES);
    lop.run(["sweep", "--rules", "rules.toml", "--plan", "plan", "t"]).success();
    let output = run(&lop, ["sweep", "--plan", "plan", "--delete"]);
    let said = output.code(3).stderr_str();
    let why = format!("t/safe/b.tmp: is protected by {PLACE}, and was left alone\n");
    assert!(said.contains(&why), "{said}");
    assert!(lop.path("t/safe/b.tmp").exists() && !lop.path("t/a.tmp").exists());
}

#[test]
fn a_folder_is_protected_under_every_path() {
    if !is_root() {
        return skipped("only root can mount");
    }
    let lop = Lop::with(&tree().dir("outer/bound"));
    symlink("t/safe", lop.path("link")).expect("made");
    configure(&lop, format!("protect = ['{}']\n", lop.path("link").display()));
    is_refused(&lop, &["purge", "t/safe/x"], &format!("is protected by {PLACE}"));
    is_refused(&lop, &["purge", "link"], &format!("is protected by {PLACE}"));
    let _mount = match Mount::bind(lop.path("t"), lop.path("outer/bound")) {
        Ok(mount) => mount,
        Err(why) => return skipped(&why),
    };
    is_refused(&lop, &["purge", "outer/bound/safe/x"], &format!("is protected by {PLACE}"));
    is_refused(&lop, &["mirror", "t/other", "outer/bound"], &format!("is protected by {PLACE}"));
    is_refused(&lop, &["purge", "--cross-mounts", "outer"], "lop: outer: contains ");
}

#[test]
fn what_a_protected_mount_point_shows_is_protected_elsewhere() {
    if !is_root() {
        return skipped("only root can mount");
    }
    let tree = TreeBuilder::new().dir("bound").file("t/real/b.tmp", "kept").file("t/a.tmp", "junk");
    let lop = Lop::with(&tree);
    let _mount = match Mount::bind(lop.path("t/real"), lop.path("bound")) {
        Ok(mount) => mount,
        Err(why) => return skipped(&why),
    };
    configure(&lop, format!("protect = ['{}']\n", lop.path("bound").display()));
    crate::configured::write(&lop.path("rules.toml"), RULES);
    let sweep = ["sweep", "--rules", "rules.toml", "--json", "--delete", "t"];
    let said = run(&lop, sweep).success().stdout_str().to_owned();
    assert!(!lop.path("t/a.tmp").exists() && lop.path("t/real/b.tmp").exists(), "{said}");
    assert!(said.contains("\"files\":1"), "only one file counts: {said}");
}

#[test]
fn a_protected_file_is_protected_where_a_bind_mount_shows_it() {
    if !is_root() {
        return skipped("only root can mount");
    }
    let lop =
        Lop::with(&TreeBuilder::new().dir("bound").file("t/master", "same").file("t/y", "same"));
    configure(&lop, format!("protect = ['{}']\n", lop.path("t/master").display()));
    let _mount = match Mount::bind(lop.path("t"), lop.path("bound")) {
        Ok(mount) => mount,
        Err(why) => return skipped(&why),
    };
    run(&lop, ["scan", "bound"]).success();
    let keep = format!("path:{}", lop.path("bound/y").display());
    run(&lop, ["dedupe", "--by", "delete", "--keep", &keep, "--apply", "bound"]).success();
    assert!(lop.path("t/master").exists());
}

#[test]
fn a_folder_that_does_not_exist_is_no_error() {
    let lop = Lop::with(&tree());
    configure(&lop, "protect = ['/mnt/no such disk/archive']\n");
    run(&lop, ["scan", "t"]).success();
    run(&lop, ["dedupe", "--by", "hardlink", "--apply"]).success();
    run(&lop, ["purge", "t"]).success();
}

#[test]
fn restoring_is_not_a_removal() {
    let lop = Lop::with(&tree());
    lop.run(["scan", "t"]).success();
    let before = Snapshot::of(lop.path("t"));
    let quarantine = ["dedupe", "--by", "quarantine", "--keep", "path:t/other/x", "--apply", "t"];
    lop.run(quarantine).success();
    configure(&lop, format!("protect = ['{}']\n", lop.path("t/safe").display()));
    run(&lop, ["quarantine", "restore"]).success();
    assert_same(&before, &Snapshot::of(lop.path("t")), Compare::VISIBLE);
    lop.remember(["t"]);
    lop.run(["dedupe", "--by", "hardlink", "--keep", "path:t/other/x", "--apply", "t"]).success();
    run(&lop, ["undo"]).success();
    assert_same(&before, &Snapshot::of(lop.path("t")), Compare::VISIBLE);
}
