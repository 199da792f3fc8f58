//! Directories that the watcher cannot read for some time. inotify needs to list directories, and fanotify does not.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use testkit::{TempTree, TreeBuilder};

use crate::files::write;
use crate::running::{By, Running};
use crate::state::is_named;

fn set_mode(dir: &Path, mode: u32) {
    fs::set_permissions(dir, Permissions::from_mode(mode)).expect("changed");
}

/// Fails unless the watcher notices a new file.
fn assert_watched(running: &Running, file: &Path) {
    let since = running.position();
    write(file, "x");
    let changes = running.changes(since).expect("known");
    assert!(is_named(&changes, file), "{changes:?}");
}

fn start(tree: &TempTree) -> Running {
    Running::start(By::Inotify, &[&tree.path().join("r")]).expect("everyone may use inotify")
}

#[test]
fn directory_that_appears_in_an_unreadable_one_is_watched_later() {
    let tree = TreeBuilder::new().dir("r/a/old").make_temp();
    let (dir, running) = (tree.path().join("r/a"), start(&tree));
    set_mode(&dir, 0o300);
    let _position = running.position();
    fs::create_dir(dir.join("new")).expect("made");
    let since = running.position();
    set_mode(&dir, 0o700);
    let changes = running.changes(since).expect("known");
    assert!(is_named(&changes, &dir.join("new/anything")), "a scan could not read it: {changes:?}");
    for name in ["new/file", "old/file", "file"] {
        assert_watched(&running, &dir.join(name));
    }
}

#[test]
fn subdirectories_are_watched_as_soon_as_their_directory_can_be_searched() {
    for mode in [0o000, 0o400] {
        let tree = TreeBuilder::new().dir("r/a/b").make_temp();
        let dir = tree.path().join("r/a");
        set_mode(&dir, mode);
        let running = start(&tree);
        let _position = running.position();
        set_mode(&dir, 0o700);
        assert_watched(&running, &dir.join("b/file"));
        assert_watched(&running, &dir.join("file"));
    }
}
