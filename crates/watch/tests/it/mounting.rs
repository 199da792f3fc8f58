//! Mounts that come and go, and roots that are replaced.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::mount::UnmountFlags;
use testkit::{FileSystem, Mount, TEST_TIMEOUT, TempTree, TreeBuilder, skipped};
use watch::{Changes, Means, Unknown};

use crate::files;
use crate::running::{By, Running, everywhere};
use crate::state::is_named;

/// Returns whether this process may mount, and prints the reason if it may not. Root may lack the capability.
fn can_mount() -> bool {
    Mount::new(FileSystem::Tmpfs, 0).map_err(skipped).is_ok()
}

/// Calls a test with both means.
fn with_both(test: impl Fn(By)) {
    if !can_mount() {
        return;
    }
    for by in [By::Fanotify, By::Inotify] {
        test(by);
    }
}

fn write(path: impl AsRef<Path>) {
    files::write(path, "text");
}

#[test]
fn mounts_below_a_root_are_noticed() {
    with_both(|by| {
        let disk = Mount::new(FileSystem::Ext4, 0).expect("mounted");
        write(disk.path().join("before"));
        let tree = TreeBuilder::new().file("r/point/hidden", "x").dir("r/other").make_temp();
        let point = tree.path().join("r/point");
        let Some(running) = Running::start(by, &[&tree.path().join("r")]) else { return };
        let mut position = running.position();
        let mut ask = || {
            let answer = running.ask(Some(position));
            position = answer.position;
            answer.changes.expect("known")
        };
        for _ in 0..3 {
            let mount = Mount::bind(disk.path(), &point).expect("mounted");
            assert!(is_named(&ask(), &point.join("before")), "{by:?}: everything below it");
            write(point.join("new"));
            let changes = ask();
            assert!(is_named(&changes, &point.join("new")), "{by:?}: {changes:?}");
            assert!(!is_named(&changes, &point.join("before")), "{by:?}: {changes:?}");
            unmount(mount);
            let changes = ask();
            assert!(is_named(&changes, &point.join("hidden")), "{by:?}: {changes:?}");
            write(point.join("hidden"));
            let changes = ask();
            assert!(is_named(&changes, &point.join("hidden")), "{by:?}: {changes:?}");
            assert!(!is_named(&changes, &tree.path().join("r/other/x")), "{by:?}: {changes:?}");
        }
    });
}

/// Unmounts a file system. The watcher keeps it busy while it reads events.
fn unmount(mount: Mount) {
    let start = Instant::now();
    while let Err(error) = rustix::mount::unmount(mount.path(), UnmountFlags::empty()) {
        assert!(start.elapsed() < TEST_TIMEOUT, "{error}");
        std::thread::sleep(Duration::from_millis(10));
    }
    std::mem::forget(mount);
}

#[test]
fn directories_that_a_mount_has_covered_since_the_start_are_watched_afterwards() {
    with_both(|by| {
        let tree = TreeBuilder::new().dir("r/x/point/a/b").make_temp();
        let disk = Mount::new(FileSystem::Tmpfs, 0).expect("mounted");
        let point = tree.path().join("r/x/point");
        let mount = Mount::bind(disk.path(), &point).expect("mounted");
        let Some(running) = Running::start(by, &[&tree.path().join("r")]) else { return };
        unmount(mount);
        let mut position = running.position();
        for name in ["new", "a/new", "a/b/new"] {
            write(point.join(name));
            let answer = running.ask(Some(position));
            let changes = answer.changes.expect("known");
            assert!(is_named(&changes, &point.join(name)), "{by:?}: {changes:?}");
            position = answer.position;
        }
    });
}

#[test]
fn directories_stay_watched_after_a_second_mount_of_them_disappears() {
    with_both(|by| {
        let tree = TreeBuilder::new().dir("r/a/sub").dir("r/b").make_temp();
        let path = |name: &str| tree.path().join(name);
        let mount = Mount::bind(path("r/a"), path("r/b")).expect("mounted");
        let Some(running) = Running::start(by, &[&path("r")]) else { return };
        unmount(mount);
        let position = running.position();
        for name in ["r/a/new", "r/a/sub/new", "r/b/new"] {
            write(path(name));
        }
        let changes = running.changes(position).expect("known");
        for name in ["r/a/new", "r/a/sub/new", "r/b/new"] {
            assert!(is_named(&changes, &path(name)), "{by:?} {name}: {changes:?}");
        }
    });
}

#[test]
fn file_system_that_is_mounted_again_is_noticed() {
    with_both(|by| {
        let disk = Mount::new(FileSystem::Ext4, 0).expect("mounted");
        fs::create_dir(disk.path().join("dir")).expect("made");
        let tree = TreeBuilder::new().dir("r").make_temp();
        let Some(running) = Running::start(by, &[disk.path(), &tree.path().join("r")]) else {
            return;
        };
        let position = running.position();
        drop(disk.away().expect("unmounted"));
        // The kernel may use the same mount id and device number again.
        write(disk.path().join("dir/new"));
        let answer = running.ask(Some(position));
        assert!(matches!(answer.changes, Err(Unknown::Replaced(_))), "{by:?}: {answer:?}");
        write(disk.path().join("dir/newer"));
        let changes = running.changes(answer.position).expect("known");
        assert!(is_named(&changes, &disk.path().join("dir/newer")), "{by:?}: {changes:?}");
    });
}

#[test]
fn both_paths_of_a_bind_mount_are_named() {
    if !can_mount() {
        return;
    }
    let tree = TreeBuilder::new().dir("r/a/sub").dir("r/b").dir("out/dir").dir("r/c").make_temp();
    let path = |name: &str| tree.path().join(name);
    let inside = Mount::bind(path("r/a"), path("r/b")).expect("mounted");
    let outside = Mount::bind(path("out"), path("r/c")).expect("mounted");
    let Some(running) = Running::start(By::Fanotify, &[&path("r")]) else { return };
    let position = running.position();
    write(path("r/b/sub/new"));
    write(path("out/dir/new"));
    let changes = running.changes(position).expect("known");
    for name in ["r/a/sub/new", "r/b/sub/new", "r/c/dir/new"] {
        assert!(is_named(&changes, &path(name)), "{name}: {changes:?}");
    }
    assert!(!is_named(&changes, &path("out/dir/new")));
    drop((inside, outside, running));
}

#[test]
fn replaced_root_is_unknown() {
    for by in [By::Fanotify, By::Inotify] {
        let tree = TreeBuilder::new().dir("above/replaced").make_temp();
        let (above, root) = (tree.path().join("above"), tree.path().join("above/replaced"));
        let Some(running) = Running::start(by, &[&root]) else { continue };
        let is_replaced = |changes: Result<Changes, Unknown>| {
            let path = root.as_os_str().as_encoded_bytes().to_vec();
            assert_eq!(changes, Err(Unknown::Replaced(path)), "{by:?}");
        };
        let mut position = running.position();
        fs::rename(&root, above.join("old")).expect("renamed");
        fs::create_dir(&root).expect("made");
        let answer = running.ask(Some(position));
        is_replaced(answer.changes);
        position = answer.position;
        write(root.join("new"));
        assert!(is_named(&running.changes(position).expect("known"), &root.join("new")), "{by:?}");

        position = running.position();
        fs::rename(&above, tree.path().join("away")).expect("renamed");
        let answer = running.ask(Some(position));
        assert!(answer.changes.is_err(), "{by:?}: {answer:?}");
        position = answer.position;
        fs::create_dir(tree.path().join("away/replaced/dir")).expect("made");
        fs::rename(tree.path().join("away"), &above).expect("renamed");
        is_replaced(running.changes(position));
    }
}

#[test]
fn root_that_was_renamed_and_renamed_back_is_unknown() {
    for by in [By::Fanotify, By::Inotify] {
        let tree = TreeBuilder::new().dir("renamed").make_temp();
        let root = tree.path().join("renamed");
        let Some(running) = Running::start(by, &[&root]) else { continue };
        let position = running.position();
        fs::rename(&root, tree.path().join("away")).expect("renamed");
        fs::create_dir(tree.path().join("away/dir")).expect("made");
        fs::rename(tree.path().join("away"), &root).expect("renamed");
        let answer = running.ask(Some(position));
        assert!(matches!(answer.changes, Err(Unknown::Replaced(_))), "{by:?}: {answer:?}");
        write(root.join("dir/new"));
        let changes = running.changes(answer.position).expect("known");
        assert!(is_named(&changes, &root.join("dir/new")), "{by:?}: {changes:?}");
    }
}

#[test]
fn root_that_was_removed_and_made_again_is_unknown() {
    everywhere(|by, dir| {
        let (above, root) = (dir.join("above"), dir.join("above/root"));
        fs::create_dir_all(&root).expect("made");
        write(root.join("old"));
        let Some(running) = Running::start(by, &[&root]) else { return };
        // Many file systems give the inode number of the removed directory to the new one.
        for removed in [&root, &above] {
            let position = running.position();
            fs::remove_dir_all(removed).expect("removed");
            fs::create_dir_all(&root).expect("made");
            let answer = running.ask(Some(position));
            assert!(matches!(answer.changes, Err(Unknown::Replaced(_))), "{by:?}: {answer:?}");
            write(root.join("new"));
            let changes = running.changes(answer.position).expect("known");
            assert!(is_named(&changes, &root.join("new")), "{by:?}: {changes:?}");
        }
    });
}

#[test]
fn directory_elsewhere_with_the_name_of_a_root_may_be_renamed() {
    for by in [By::Fanotify, By::Inotify] {
        let tree = TreeBuilder::new().dir("above/root").dir("elsewhere/above/root").make_temp();
        let Some(running) = Running::start(by, &[&tree.path().join("above/root")]) else {
            continue;
        };
        let position = running.position();
        for name in ["above/root", "above"] {
            let dir = tree.path().join("elsewhere").join(name);
            fs::rename(&dir, tree.path().join("away")).expect("renamed");
            fs::rename(tree.path().join("away"), &dir).expect("renamed");
        }
        // Other tests may change files with several names on this file system.
        let Changes { dirs, .. } = running.changes(position).expect("known");
        assert_eq!(dirs, [], "{by:?}");
    }
}

#[test]
fn root_behind_a_symbolic_link_is_not_watched() {
    for by in [By::Fanotify, By::Inotify] {
        let tree = TreeBuilder::new().dir("above/root").make_temp();
        let (above, root) = (tree.path().join("above"), tree.path().join("above/root"));
        let Some(running) = Running::start(by, &[&root]) else { continue };
        let position = running.position();
        fs::rename(&above, tree.path().join("away")).expect("renamed");
        symlink("away", &above).expect("made");
        let path = root.as_os_str().as_encoded_bytes().to_vec();
        assert_eq!(running.changes(position), Err(Unknown::NotWatched(path)), "{by:?}");
        let means = running.control.watched()[0].means.clone();
        assert!(
            matches!(&means, Means::Unwatched(why) if why.contains("symbolic link")),
            "{means:?}"
        );
        fs::remove_file(&above).expect("removed");
        fs::rename(tree.path().join("away"), &above).expect("renamed");
        let answer = running.ask(Some(position));
        assert!(matches!(answer.changes, Err(Unknown::Replaced(_))), "{by:?}: {answer:?}");
        write(root.join("new"));
        let changes = running.changes(answer.position).expect("known");
        assert!(is_named(&changes, &root.join("new")), "{by:?}: {changes:?}");
    }
}

/// The top directories of all file systems of a type have the same handle.
#[test]
fn directory_of_another_file_system_with_the_name_of_a_root_may_change() {
    with_both(|by| {
        let disks = [(); 2].map(|()| Mount::new(FileSystem::Ext4, 0).expect("mounted"));
        let [root, same] = [0, 1].map(|at: usize| disks[at].path().join("root"));
        fs::create_dir(&root).expect("made");
        let Some(running) = Running::start(by, &[&root, disks[1].path()]) else { return };
        let position = running.position();
        fs::create_dir(&same).expect("made");
        let changes = running.changes(position).expect("known");
        assert!(is_named(&changes, &same), "{by:?}: {changes:?}");
    });
}

/// A scan lists a directory under only one of its paths.
#[test]
fn mount_of_a_directory_of_the_same_root_makes_its_changes_unknown() {
    with_both(|by| {
        let tree = TreeBuilder::new().file("r/a/file", "x").dir("r/point").make_temp();
        let root = tree.path().join("r");
        let Some(running) = Running::start(by, &[&root]) else { return };
        let mut position = running.position();
        let mut is_replaced = |what: &str| {
            let answer = running.ask(Some(position));
            assert!(
                matches!(answer.changes, Err(Unknown::Replaced(_))),
                "{by:?} {what}: {answer:?}"
            );
            position = answer.position;
        };
        let mount = Mount::bind(root.join("a"), root.join("point")).expect("mounted");
        is_replaced("mounted");
        unmount(mount);
        is_replaced("unmounted");
    });
}

#[test]
fn removed_root_is_not_watched() {
    for by in [By::Fanotify, By::Inotify] {
        let tree = TempTree::new();
        let root = tree.path().join("r");
        fs::create_dir(&root).expect("made");
        let Some(running) = Running::start(by, &[&root]) else { continue };
        let position = running.position();
        fs::remove_dir(&root).expect("removed");
        let path = root.as_os_str().as_encoded_bytes().to_vec();
        assert_eq!(running.changes(position), Err(Unknown::NotWatched(path)), "{by:?}");
        fs::create_dir(&root).expect("made");
        let answer = running.ask(Some(position));
        assert!(matches!(answer.changes, Err(Unknown::Replaced(_))), "{by:?}: {answer:?}");
        write(root.join("new"));
        let changes = running.changes(answer.position).expect("known");
        assert!(is_named(&changes, &root.join("new")), "{by:?}: {changes:?}");
    }
}
