//! Files with several names, of which not all are below the root. inotify cannot notice changes
//! through other names.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use testkit::{FileSystem, Mount, TEST_TIMEOUT, TreeBuilder};
use watch::ask;

use crate::files::{append, make};
use crate::running::{By, Running, everywhere};
use crate::state::{State, assert_covered};

/// A change in the directory `out`, which contains links of the files in the directory `r`.
type Change = fn(&Path);

const CHANGES: &[(&str, Change)] = &[
    ("link", |top| fs::hard_link(top.join("r/single"), top.join("out/new")).expect("linked")),
    ("write", |top| append(top.join("out/link"))),
    ("unlink", |top| fs::remove_file(top.join("out/link")).expect("removed")),
    ("write and unlink", |top| {
        append(top.join("out/link"));
        fs::remove_file(top.join("out/link")).expect("removed");
    }),
    ("write and rename", |top| {
        append(top.join("out/link"));
        fs::rename(top.join("out/link"), top.join("out/renamed")).expect("renamed");
    }),
    ("rename over a link", |top| {
        fs::rename(top.join("out/other"), top.join("out/link")).expect("renamed");
    }),
    ("link inside, write and unlink", |top| {
        let link = top.join("r/dir/short-lived");
        fs::hard_link(top.join("r/single"), &link).expect("linked");
        append(&link);
        fs::remove_file(&link).expect("removed");
    }),
    ("write in a directory that was moved out", |top| {
        fs::rename(top.join("r/dir"), top.join("out/dir")).expect("renamed");
        append(top.join("out/dir/link"));
    }),
    ("write in a directory before it is moved out", |top| {
        append(top.join("r/dir/link"));
        fs::rename(top.join("r/dir"), top.join("out/dir")).expect("renamed");
    }),
    ("write in a directory that is removed", |top| {
        fs::create_dir(top.join("out/dir")).expect("made");
        fs::hard_link(top.join("r/single"), top.join("out/dir/link")).expect("linked");
        append(top.join("out/dir/link"));
        fs::remove_dir_all(top.join("out/dir")).expect("removed");
    }),
];

#[test]
fn changes_through_other_names_are_in_the_next_answer() {
    everywhere(|by, top| {
        if by == By::Inotify {
            return;
        }
        for (number, (what, change)) in CHANGES.iter().enumerate() {
            let top = top.join(number.to_string());
            fs::create_dir(&top).expect("made");
            let tree = TreeBuilder::new()
                .file("r/file", "text")
                .hard_link("r/file", "out/link")
                .file("r/single", "text")
                .file("r/inside", "text")
                .hard_link("r/inside", "r/dir/link")
                .file("out/other", "text");
            make(&tree, &top);
            let Some(running) = Running::start(by, &[&top.join("r")]) else { return };
            let before = State::of(&running.roots);
            let position = running.position();
            change(&top);
            let changes = running.changes(position).expect("known");
            let after = State::of(&running.roots);
            assert!(!before.changed(&after).is_empty(), "{what} changes something");
            let what = format!("{what} ({})", running.watched[0].file_system);
            assert_covered(&before, &after, &changes, &what);
        }
    });
}

#[test]
fn other_files_outside_are_not_noted() {
    everywhere(|by, top| {
        make(&TreeBuilder::new().dir("r").file("out/a", "text"), top);
        let Some(running) = Running::start(by, &[&top.join("r")]) else { return };
        let position = running.position();
        append(top.join("out/a"));
        fs::rename(top.join("out/a"), top.join("out/b")).expect("renamed");
        fs::remove_file(top.join("out/b")).expect("removed");
        assert_eq!(running.changes(position), Ok(watch::Changes::default()), "{by:?}");
    });
}

#[test]
fn writes_through_other_names_are_counted_but_other_changes_are_not() {
    // Links that other tests make on the same file system would be counted, too.
    let mount = match Mount::new(FileSystem::Tmpfs, 0) {
        Ok(mount) => mount,
        Err(reason) => return testkit::skipped(reason),
    };
    let path = |name: &str| mount.path().join(name);
    let tree = TreeBuilder::new()
        .file("r/file", "text")
        .hard_link("r/file", "out/link")
        .file("out/other", "text");
    make(&tree, mount.path());
    let Some(running) = Running::start(By::Fanotify, &[&path("r")]) else { return };
    let _answer = running.position();
    // A program that uses links as locks must not cause scans.
    for _ in 0..3 {
        fs::hard_link(path("out/other"), path("out/lock")).expect("linked");
        fs::remove_file(path("out/lock")).expect("removed");
        fs::set_permissions(path("out/link"), Permissions::from_mode(0o600)).expect("changed");
        assert_eq!(running.counts(), watch::Counts::default());
    }
    append(path("out/link"));
    assert_eq!(running.counts(), watch::Counts { entries: 1, dirs: 0 });
    assert!(running.control.status().first.is_some(), "a scan starts");
    let _answer = running.position();
    assert_eq!(running.counts(), watch::Counts::default());
}

/// A scan of one root examines only the names below this root.
#[test]
fn change_through_a_name_in_another_root_is_in_the_answers_about_both() {
    let tree = TreeBuilder::new().file("r/file", "text").dir("out").make_temp();
    let [root, out] = ["r", "out"].map(|name| tree.path().join(name));
    fs::hard_link(root.join("file"), out.join("link")).expect("linked");
    let Some(running) = Running::start(By::Fanotify, &[&root, &out]) else { return };
    let position = running.position();
    append(out.join("link"));
    let answer = ask(&running.catalog, std::slice::from_ref(&root), Some(position), TEST_TIMEOUT);
    let changes = answer.expect("an answer").changes.expect("known");
    let inode = fs::metadata(root.join("file")).expect("metadata").ino();
    assert!(changes.inodes.iter().any(|&(_, changed)| changed == inode), "{changes:?}");
}
