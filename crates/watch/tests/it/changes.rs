//! Every kind of change is part of the next answer.

use std::fs::{self, File, OpenOptions, Permissions};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;

use rustix::fs::{AtFlags, CWD, FallocateFlags, Gid, Mode, OFlags, RenameFlags, Uid, XattrFlags};
use testkit::{FileSystem, Mount, TEST_TIMEOUT, TempTree, TreeBuilder, skipped};
use watch::ask;

use crate::files::{append, make, write};
use crate::running::{By, Running, everywhere};
use crate::state::{State, assert_covered};

/// A change in the directory `r`. The directory `out` beside it is not watched.
type Change = fn(&Path);

fn open(path: impl AsRef<Path>) -> File {
    OpenOptions::new().read(true).write(true).open(path).expect("opened")
}

fn rename(from: impl AsRef<Path>, to: impl AsRef<Path>) {
    fs::rename(from, to).expect("renamed");
}

const CHANGES: &[(&str, Change)] = &[
    ("create", |top| write(top.join("r/new"), "new")),
    ("create an empty file", |top| drop(File::create(top.join("r/new")).expect("created"))),
    ("write", |top| write(top.join("r/file"), "new text")),
    ("append", |top| append(top.join("r/a/file"))),
    ("truncate", |top| open(top.join("r/file")).set_len(1).expect("truncated")),
    ("write to a mapping", |top| {
        let code = "import mmap, sys\n\
            file = open(sys.argv[1], 'r+b')\n\
            mapping = mmap.mmap(file.fileno(), 0)\n\
            file.close()\n\
            mapping[0] = 88\n\
            mapping.close()";
        let path = top.join("r/file");
        match testkit::spawn(Command::new("python3").args(["-c", code]).arg(&path)) {
            Ok(mut child) => assert!(child.wait().expect("ended").success()),
            Err(error) => skipped(format!("no python3: {error}")),
        }
    }),
    ("change permissions", |top| {
        fs::set_permissions(top.join("r/file"), Permissions::from_mode(0o600)).expect("changed");
    }),
    ("set times", |top| {
        open(top.join("r/file")).set_modified(SystemTime::UNIX_EPOCH).expect("changed");
    }),
    ("change the owner", |top| {
        let (user, group) = (Uid::from_raw(1), Gid::from_raw(1));
        if testkit::is_root() {
            rustix::fs::chown(top.join("r/file"), Some(user), Some(group)).expect("changed");
        }
    }),
    ("set an attribute", |top| {
        let file = top.join("r/file");
        // Some file systems have no attributes.
        let _refused = rustix::fs::setxattr(&file, "user.x", b"1", XattrFlags::empty());
    }),
    ("link", |top| fs::hard_link(top.join("r/file"), top.join("r/a/link")).expect("linked")),
    ("symlink", |top| rustix::fs::symlink("file", top.join("r/link")).expect("linked")),
    ("fifo", |top| {
        let (kind, mode) = (rustix::fs::FileType::Fifo, Mode::from_raw_mode(0o600));
        rustix::fs::mknodat(CWD, top.join("r/fifo"), kind, mode, 0).expect("made");
    }),
    ("unlink", |top| fs::remove_file(top.join("r/file")).expect("removed")),
    ("rename a file", |top| rename(top.join("r/file"), top.join("r/a/renamed"))),
    ("rename a file in place", |top| rename(top.join("r/file"), top.join("r/renamed"))),
    ("rename a file over another one", |top| rename(top.join("r/file"), top.join("r/a/file"))),
    ("move a file in", |top| rename(top.join("out/file"), top.join("r/moved"))),
    ("move a file over another one", |top| rename(top.join("out/file"), top.join("r/file"))),
    ("move a file out", |top| rename(top.join("r/file"), top.join("out/moved"))),
    ("exchange files", |top| {
        let (a, b) = (top.join("r/file"), top.join("r/a/file"));
        // Not all file systems can do this.
        let _refused = rustix::fs::renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE);
    }),
    ("exchange with the outside", |top| {
        let (a, b) = (top.join("r/a"), top.join("out"));
        let _refused = rustix::fs::renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE);
    }),
    ("make directories", |top| {
        fs::create_dir_all(top.join("r/x/y/z")).expect("made");
        write(top.join("r/x/y/z/file"), "deep");
    }),
    ("rename a directory", |top| rename(top.join("r/a"), top.join("r/d"))),
    ("rename a directory into another one", |top| rename(top.join("r/a"), top.join("r/e/a"))),
    ("move a directory in", |top| rename(top.join("out"), top.join("r/out"))),
    ("move a directory out", |top| rename(top.join("r/a"), top.join("out/a"))),
    ("move a directory over an empty one", |top| rename(top.join("out"), top.join("r/e"))),
    ("change a file in a renamed directory", |top| {
        rename(top.join("r/a"), top.join("r/d"));
        append(top.join("r/d/file"));
        append(top.join("r/d/b/file"));
        rename(top.join("r/d"), top.join("r/e/d"));
        append(top.join("r/e/d/b/file"));
    }),
    ("change a file before its directory is renamed", |top| {
        append(top.join("r/a/b/file"));
        rename(top.join("r/a"), top.join("r/d"));
    }),
    ("remove a tree", |top| fs::remove_dir_all(top.join("r/a")).expect("removed")),
    ("remove a tree and make it again", |top| {
        fs::remove_dir_all(top.join("r/a")).expect("removed");
        fs::create_dir_all(top.join("r/a/b")).expect("made");
        write(top.join("r/a/b/file"), "again");
    }),
    ("share extents", |top| {
        let (from, to) = (open(top.join("r/a/file")), open(top.join("r/file")));
        // Only btrfs and XFS can do this.
        let _refused = rustix::fs::ioctl_ficlone(&to, &from);
    }),
    ("allocate", |top| {
        let file = open(top.join("r/file"));
        rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, 1 << 16).expect("allocated");
    }),
    ("copy a range", |top| {
        let (from, to) = (open(top.join("r/a/file")), open(top.join("r/file")));
        let copied = rustix::fs::copy_file_range(&from, None, &to, None, 4);
        assert_eq!(copied.expect("copied"), 4);
    }),
    ("link an unnamed file", |top| {
        let flags = OFlags::TMPFILE | OFlags::RDWR;
        let file = rustix::fs::openat(CWD, top.join("out"), flags, Mode::from_raw_mode(0o600));
        // Not all file systems have unnamed files.
        let Ok(file) = file else { return };
        rustix::io::write(&file, b"unnamed").expect("written");
        let path = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&file.as_fd()));
        let flags = AtFlags::SYMLINK_FOLLOW;
        rustix::fs::linkat(CWD, path, CWD, top.join("r/named"), flags).expect("linked");
    }),
    ("hostile names", |top| {
        write(top.join("r/new\nline \u{202e}"), "x");
        let long = "x".repeat(255);
        fs::create_dir(top.join("r").join(&long)).expect("made");
        write(top.join("r").join(&long).join(&long), "x");
    }),
    ("many files", |top| {
        for number in 0..1500 {
            write(top.join("r/a").join(number.to_string()), "x");
        }
    }),
];

fn tree(top: &Path) {
    let tree = TreeBuilder::new()
        .file("r/file", "some text that is long enough")
        .file("r/a/file", "more text")
        .file("r/a/b/file", "deeper text")
        .dir("r/e")
        .file("out/file", "outside");
    make(&tree, top);
}

#[test]
fn every_kind_of_change_is_in_the_next_answer() {
    everywhere(|by, top| {
        for (number, (what, change)) in CHANGES.iter().enumerate() {
            let top = top.join(number.to_string());
            fs::create_dir(&top).expect("made");
            tree(&top);
            let Some(running) = Running::start(by, &[&top.join("r")]) else { return };
            let position = running.position();
            let before = State::of(&running.roots);
            change(&top);
            let changes = running.changes(position).expect("known");
            let after = State::of(&running.roots);
            let what = format!("{what} ({by:?}, {})", running.watched[0].file_system);
            assert_covered(&before, &after, &changes, &what);
            drop(running);
            fs::remove_dir_all(&top).expect("removed");
        }
    });
}

#[test]
fn changes_are_found_however_the_events_are_read() {
    everywhere(|by, top| {
        tree(top);
        let Some(running) = Running::start(by, &[&top.join("r")]) else { return };
        let start = running.position();
        let before = State::of(&running.roots);
        for (number, name) in ["r/a/file", "r/a/b/file", "r/file"].into_iter().enumerate() {
            append(top.join(name));
            rename(top.join("r/e"), top.join("r").join("e1"));
            rename(top.join("r/e1"), top.join("r/e"));
            // Asking for a position makes the watcher read all events. No note may get lost.
            let position = running.position();
            assert!(position.number > start.number, "change {number}");
        }
        let changes = running.changes(start).expect("known");
        assert_covered(&before, &State::of(&running.roots), &changes, &format!("{by:?}"));
    });
}

#[test]
fn descriptor_that_stays_open_is_not_forgotten() {
    everywhere(|by, top| {
        tree(top);
        let Some(running) = Running::start(by, &[&top.join("r")]) else { return };
        let file = open(top.join("r/a/file"));
        for offset in 0..5 {
            let position = running.position();
            let before = State::of(&running.roots);
            file.write_all_at(b"x", 1 << (offset + 10)).expect("written");
            let changes = running.changes(position).expect("known");
            assert_covered(&before, &State::of(&running.roots), &changes, &format!("{by:?}"));
        }
    });
}

#[test]
fn nothing_changes_without_a_change() {
    everywhere(|by, top| {
        tree(top);
        let Some(running) = Running::start(by, &[&top.join("r")]) else { return };
        let position = running.position();
        // Reading is no change, and neither is a change outside.
        assert_eq!(fs::read(top.join("r/a/file")).expect("read").len(), 9);
        append(top.join("out/file"));
        write(top.join("out/new"), "x");
        fs::create_dir(top.join("out/dir")).expect("made");
        assert_eq!(running.changes(position), Ok(watch::Changes::default()), "{by:?}");
        running.wait_for_counts(watch::Counts::default());
    });
}

#[test]
fn directory_that_was_moved_out_does_not_count() {
    everywhere(|by, top| {
        tree(top);
        let Some(running) = Running::start(by, &[&top.join("r")]) else { return };
        rename(top.join("r/a"), top.join("out/a"));
        let position = running.position();
        append(top.join("out/a/file"));
        write(top.join("out/a/b/new"), "x");
        assert_eq!(running.changes(position), Ok(watch::Changes::default()), "{by:?}");
        running.wait_for_counts(watch::Counts::default());
    });
}

#[test]
fn changes_of_own_files_are_not_noted() {
    let tree = TreeBuilder::new().dir("state").make_temp();
    let catalog = tree.path().join("state/catalog.db");
    for by in [By::Fanotify, By::Inotify] {
        if by == By::Fanotify && !testkit::is_root() {
            skipped("only root may watch whole file systems");
            continue;
        }
        let running = Running::start_at(&catalog, by, &[tree.path()]);
        let position = running.position();
        write(&catalog, "x");
        fs::create_dir_all(tree.path().join("state/catalog.runs/1")).expect("made");
        write(tree.path().join("state/catalog.runs/1/journal"), "x");
        // Other tests make links on this file system, which the watcher notes.
        assert_eq!(running.changes(position).expect("known").dirs, [], "{by:?}");
        write(tree.path().join("state/other"), "x");
        let changes = running.changes(position).expect("known");
        assert_eq!(changes.dirs.len(), 1, "{changes:?}");
        drop(running);
        fs::remove_dir_all(tree.path().join("state/catalog.runs")).expect("removed");
    }
}

/// The events of several threads arrive faster than the watcher handles them. The watchers of other tests would have
/// to handle them, too, so the threads use a file system of their own if possible. On tmpfs, the threads are so fast
/// that each answer has to wait for millions of events.
#[test]
fn questions_are_answered_while_files_keep_changing() {
    for by in [By::Fanotify, By::Inotify] {
        let mount = Mount::new(FileSystem::Xfs, 0);
        let tree = match &mount {
            Ok(mount) => TempTree::new_in(mount),
            Err(reason) => {
                skipped(format!("a file system of its own: {reason}"));
                TempTree::new()
            }
        };
        let Some(running) = Running::start(by, &[tree.path()]) else { continue };
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for thread in 0..16 {
                let (is_over, top) = (&is_over, tree.path().join(thread.to_string()));
                scope.spawn(move || {
                    while !is_over.load(Ordering::Relaxed) {
                        fs::create_dir(&top).expect("made");
                        fs::write(top.join("file"), "text").expect("written");
                        rename(top.join("file"), top.join("renamed"));
                        fs::remove_dir_all(&top).expect("removed");
                    }
                });
            }
            let mut answers = (0..20).map(|_| ask(&running.catalog, &[], None, TEST_TIMEOUT));
            let failed = answers.find(Result::is_err);
            is_over.store(true, Ordering::Relaxed);
            assert!(failed.is_none(), "{by:?}: {failed:?}");
        });
    }
}
