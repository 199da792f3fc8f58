//! Directories in which git tracks files.

use std::path::Path;
use std::process::Command;

use sweep::rule::variable::Variable::Top;
use sweep::rule::{Extent, Rule};
use testkit::{TreeBuilder, skipped};

use crate::world::{World, rule};

/// Runs git in a directory. Returns false if git cannot do this.
fn git(dir: &Path, words: &[&str]) -> bool {
    let mut git = Command::new("git");
    git.current_dir(dir).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    git.args(["-c", "user.name=t", "-c", "user.email=t", "-c", "protocol.file.allow=always"]);
    git.args(words).output().is_ok_and(|output| output.status.success())
}

/// Two projects with build results, of which one is committed.
fn projects() -> TreeBuilder {
    TreeBuilder::new()
        .file("p/.gitignore", "build")
        .file("p/a/build/x", "1")
        .file("p/b/build/y", "2")
        .file("p/src/main.c", "3")
        .file("q/build/z", "4")
}

fn build_dirs() -> Vec<Rule> {
    let mut rule = rule("build", &[("**/build", Extent::Tree)]);
    rule.conditions.untracked = true;
    vec![rule]
}

/// Makes the projects, and a repository of `p` in which `a/build/x` is tracked.
fn committed(words: &[&str]) -> Option<World> {
    let world = World::new(&projects(), &[(Top, "")]);
    let top = world.temp.join("p");
    let init = [&["init", "-q"], words].concat();
    let is_made = git(&top, &init)
        && git(&top, &["add", "-A"])
        && git(&top, &["add", "-f", "a/build/x"])
        && git(&top, &["commit", "-q", "-m", "x"]);
    is_made.then_some(world)
}

#[test]
fn a_directory_with_tracked_files_is_kept() {
    let Some(world) = committed(&[]) else { return skipped("git is not installed") };
    assert_eq!(world.paths(&build_dirs()), ["p/b/build", "q/build"]);
    let top = world.temp.join("p");
    for version in ["3", "4"] {
        assert!(git(&top, &["add", "-N", "-f", "b/build/y"]), "an extended flag");
        assert!(git(&top, &["update-index", "--index-version", version]));
        assert_eq!(world.paths(&build_dirs()), ["q/build"]);
        assert!(git(&top, &["rm", "-q", "--cached", "b/build/y"]));
        assert_eq!(world.paths(&build_dirs()), ["p/b/build", "q/build"]);
    }
    let why = |path| world.explain(&build_dirs(), path)[0].conditions.clone();
    assert_eq!(why("p/a/build"), [("untracked", Some(false))]);
    assert_eq!(why("p/b/build"), [("untracked", Some(true))]);
}

#[test]
fn a_directory_of_a_repository_that_cannot_be_read_is_kept() {
    let Some(world) = committed(&["--object-format=sha256"]) else {
        return skipped("git is not installed, or has no SHA-256");
    };
    assert_eq!(world.paths(&build_dirs()), ["q/build"]);
    let Some(world) = committed(&[]) else { return skipped("git is not installed") };
    assert!(git(&world.temp.join("p"), &["update-index", "--split-index"]));
    assert_eq!(world.paths(&build_dirs()), ["q/build"]);
}

#[test]
fn the_target_may_be_inside_of_a_repository() {
    let Some(world) = committed(&[]) else { return skipped("git is not installed") };
    for (target, expected) in [("p/a", &[][..]), ("p/b", &["build"]), ("p/src", &[])] {
        let preview = world.preview_at(&world.temp.join(target), &build_dirs());
        let paths: Vec<_> =
            preview.matches.iter().map(|found| String::from_utf8_lossy(&found.path)).collect();
        assert_eq!(paths, expected, "{target}");
    }
}

#[test]
fn linked_working_trees_and_submodules_have_an_index_too() {
    let Some(world) = committed(&[]) else { return skipped("git is not installed") };
    let (p, q) = (world.temp.join("p"), world.temp.join("q"));
    assert!(git(&p, &["worktree", "add", "-q", "../linked"]));
    assert!(git(&q, &["init", "-q"]) && git(&q, &["submodule", "add", "-q", "../p", "module"]));
    assert_eq!(world.paths(&build_dirs()), ["p/b/build", "q/build"]);
    for top in ["linked", "q/module"] {
        assert!(git(&world.temp.join(top), &["rm", "-q", "--cached", "a/build/x"]), "{top}");
    }
    let all = ["linked/a/build", "p/b/build", "q/build", "q/module/a/build"];
    assert_eq!(world.paths(&build_dirs()), all);
    // A repository outside of the target is not looked for there.
    std::fs::write(world.temp.join("q/module/.git"), "gitdir: ../../../elsewhere")
        .expect("written");
    assert_eq!(world.paths(&build_dirs()), all[..3]);
}
