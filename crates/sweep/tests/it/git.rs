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

#[test]
fn a_directory_with_a_repository_in_it_is_kept_with_everything_around_it() {
    let Some(world) = committed(&[]) else { return skipped("git is not installed") };
    let inner = world.temp.join("p/b/build/deep/inner");
    std::fs::create_dir_all(&inner).expect("made");
    std::fs::write(inner.join("work"), "not committed").expect("written");
    assert_eq!(world.paths(&build_dirs()), ["p/b/build", "q/build"]);
    assert!(git(&inner, &["init", "-q"]));
    assert_eq!(world.paths(&build_dirs()), ["q/build"]);
}

#[test]
fn an_outer_repository_tracks_files_in_an_inner_one() {
    let Some(world) = committed(&[]) else { return skipped("git is not installed") };
    assert!(git(&world.temp.join("p/a"), &["init", "-q"]));
    assert_eq!(world.paths(&build_dirs()), ["p/b/build", "q/build"]);
    // git ignores this directory.
    std::fs::create_dir(world.temp.join("p/b/.git")).expect("made");
    assert_eq!(world.paths(&build_dirs()), ["q/build"]);
}

#[test]
fn damaged_repositories_keep_what_is_in_them() {
    for (name, content) in [("index", ""), ("index.lock", ""), ("index", "DIRC")] {
        let Some(world) = committed(&[]) else { return skipped("git is not installed") };
        std::fs::write(world.temp.join("p/.git").join(name), content).expect("written");
        assert_eq!(world.paths(&build_dirs()), ["q/build"], "{name} {content}");
    }
    for content in ["", "gitdir: ", "gitdir: .", "gitdir: ../q", "nothing", "gitdir: x/../q"] {
        let world = World::new(&projects().file("p/.git", content), &[(Top, "")]);
        assert_eq!(world.paths(&build_dirs()), ["q/build"], "{content}");
    }
}

#[test]
fn a_sparse_index_is_not_mistaken_for_a_whole_one() {
    let Some(world) = committed(&[]) else { return skipped("git is not installed") };
    let top = world.temp.join("p");
    let is_sparse = git(&top, &["sparse-checkout", "init", "--cone", "--sparse-index"])
        && git(&top, &["sparse-checkout", "set", "src"]);
    if !is_sparse {
        return skipped("git knows no sparse index");
    }
    std::fs::create_dir_all(top.join("a/build")).expect("made");
    std::fs::write(top.join("a/build/x"), "1").expect("written");
    assert!(!world.paths(&build_dirs()).contains(&"p/a/build".to_string()));
}

#[test]
fn files_and_links_are_kept_if_git_tracks_them() {
    let tree = projects().file("p/a.log", "1").file("p/b.log", "2").symlink("p/src/build", "..");
    let world = World::new(&tree, &[(Top, "")]);
    let top = world.temp.join("p");
    if !git(&top, &["init", "-q"]) {
        return skipped("git is not installed");
    }
    assert!(git(&top, &["add", "-f", "a.log", "src/build"]));
    let mut logs = rule("logs", &[("**/*.log", Extent::Files)]);
    logs.conditions.untracked = true;
    let rules = [build_dirs(), vec![logs]].concat();
    assert_eq!(world.paths(&rules), ["p/a/build", "p/b/build", "p/b.log", "q/build"]);
}
