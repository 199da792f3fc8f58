//! Roots that contain other roots.

use std::fs;
use std::path::{Path, PathBuf};

use testkit::{TEST_TIMEOUT, TempTree, TreeBuilder};
use watch::{Changes, Position, ask};

use crate::files::write;
use crate::running::{By, Running};
use crate::state::is_named;

/// Calls a test with both means, and with the roots `r` and `r/x/a`.
fn with_nested_roots(test: impl Fn(&str, &TempTree, &Running)) {
    for by in [By::Fanotify, By::Inotify] {
        let tree = TreeBuilder::new().dir("r/x/a/sub").make_temp();
        let roots = [tree.path().join("r"), tree.path().join("r/x/a")];
        let Some(running) = Running::start(by, &[&roots[0], &roots[1]]) else { continue };
        test(&format!("{by:?}"), &tree, &running);
    }
}

/// Returns the changes below one root.
fn changes(running: &Running, root: PathBuf, since: Position) -> Changes {
    let answer = ask(&running.catalog, &[root], Some(since), TEST_TIMEOUT).expect("an answer");
    answer.changes.expect("known")
}

/// Fails unless the watcher notices new files in a directory of the outer root, and in its subdirectories.
fn assert_watched(what: &str, tree: &TempTree, running: &Running, dir: &str) {
    let since = running.position();
    let files = ["new", "sub/new"].map(|name| tree.path().join(dir).join(name));
    for file in &files {
        write(file, "x");
    }
    let changes = changes(running, tree.path().join("r"), since);
    for file in &files {
        assert!(is_named(&changes, file), "{what}: {changes:?}");
        fs::remove_file(file).expect("removed");
    }
}

fn rename(tree: &TempTree, from: &str, to: &str) {
    fs::rename(tree.path().join(from), tree.path().join(to)).expect("renamed");
}

#[test]
fn inner_root_that_is_renamed_stays_watched() {
    with_nested_roots(|what, tree, running| {
        for (from, to) in [("r/x/a", "r/x/b"), ("r/x/b", "r/c"), ("r/c", "r/x/a")] {
            rename(tree, from, to);
            assert_watched(what, tree, running, to);
        }
    });
}

#[test]
fn directory_between_the_roots_that_is_renamed_stays_watched() {
    with_nested_roots(|what, tree, running| {
        rename(tree, "r/x", "r/y");
        assert_watched(what, tree, running, "r/y/a");
        rename(tree, "r/y", "r/x");
        assert_watched(what, tree, running, "r/x/a");
    });
}

#[test]
fn inner_root_that_is_replaced_has_changed_as_a_whole() {
    with_nested_roots(|what, tree, running| {
        let (since, root) = (running.position(), tree.path().join("r/x/a"));
        rename(tree, "r/x/a", "r/b");
        fs::create_dir_all(root.join("sub")).expect("made");
        // With fanotify, the name of a root makes the changes unknown.
        let question = std::slice::from_ref(&root);
        let answer = ask(&running.catalog, question, Some(since), TEST_TIMEOUT);
        if let Ok(changes) = answer.expect("an answer").changes {
            assert!(is_named(&changes, &root.join("anything")), "{what}: {changes:?}");
        }
        assert_watched(what, tree, running, "r/x/a");
        let since = running.position();
        write(root.join("sub/new"), "x");
        assert!(is_named(&changes(running, root.clone(), since), &root.join("sub/new")), "{what}");
    });
}

#[test]
fn root_below_another_one_is_part_of_its_area() {
    with_nested_roots(|what, tree, running| {
        let paths: Vec<&[u8]> = running.watched.iter().map(|area| &area.path[..]).collect();
        let root: &Path = &tree.path().join("r");
        assert_eq!(paths, [root.as_os_str().as_encoded_bytes()], "{what}");
    });
}
