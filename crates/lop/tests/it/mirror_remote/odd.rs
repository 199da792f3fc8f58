//! Mirrors to or from a remote host: odd trees, trees that change during the run, and trees that are not fully
//! readable.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use testkit::{
    Ending, FileSystem, Mount, NOBODY, Snapshot, TempTree, TreeBuilder, hostile_tree, is_root,
    skipped, without_forks,
};

use super::{BOTH, Direction, Way, alike, nothing_was_done, two};
use crate::lop::Lop;

/// Requests a stop on drop, even if an assertion fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

#[test]
fn odd_names_and_kinds_and_paths_longer_than_there_can_be() {
    if !is_root() {
        return skipped("only root can read files without permissions");
    }
    let lop = Lop::new();
    fs::create_dir(lop.path("src")).expect("made");
    hostile_tree(lop.path("src"));
    TreeBuilder::new().deep_chain(1_000, "chain", "at the bottom").make(lop.path("src/deep"));
    let long = [b'x'; 250].to_vec();
    TreeBuilder::new().deep_chain(30, long, "and here").make(lop.path("src/long"));
    for direction in BOTH {
        let (from, to) = (lop.path("src"), lop.path(direction.name()));
        Way::shell().run(&lop, direction, &[], (&from, &to)).run().success();
        alike(&from, &to);
        nothing_was_done(&Way::shell().json(&lop, direction, &["--delete"], (&from, &to)));
        // Mirroring an empty source removes everything.
        fs::create_dir(lop.path("empty")).expect("made");
        let empty = lop.path("empty");
        Way::shell()
            .run(&lop, direction, &["--delete", "--allow-empty-source"], (&empty, &to))
            .run()
            .success();
        assert_eq!(fs::read_dir(&to).expect("listed").count(), 0);
        fs::remove_dir(empty).expect("removed");
    }
}

#[test]
fn more_names_in_a_directory_than_fit_into_a_message() {
    let lop = Lop::new();
    let mut tree = TreeBuilder::new();
    for i in 0..6_000u64 {
        let name = format!("src/many/{i} {}", "x".repeat((i % 200) as usize));
        tree = tree.file(name, i.to_string().as_str());
    }
    lop.lay(&tree.file("dst/many/extraneous", "s"));
    for direction in BOTH {
        Way::shell().succeed(&lop, direction, &["--delete"]);
        alike(&lop.path("src"), &lop.path("dst"));
        fs::remove_dir_all(lop.path("dst")).expect("removed");
    }
}

#[test]
fn the_trees_may_be_reached_through_links() {
    for direction in BOTH {
        let lop = Lop::with(&two());
        for name in ["src", "dst"] {
            symlink(name, lop.path(format!("link to {name}"))).expect("linked");
        }
        let places = (&*lop.path("link to src"), &*lop.path("link to dst"));
        Way::shell().run(&lop, direction, &["--delete"], places).run().success();
        alike(&lop.path("src"), &lop.path("dst"));
        assert!(lop.path("link to dst").is_symlink());
    }
}

#[test]
fn a_destination_that_is_missing_is_made() {
    for direction in BOTH {
        let lop = Lop::with(&two());
        let to = lop.path("new");
        Way::shell().run(&lop, direction, &[], (&lop.path("src"), &to)).run().success();
        alike(&lop.path("src"), &to);
        let (from, to) = (lop.path("src/empty"), lop.path("new and empty"));
        Way::shell().run(&lop, direction, &[], (&from, &to)).run().success();
        alike(&from, &to);
    }
}

#[test]
fn a_file_of_the_destination_that_has_other_names_is_not_written_to() {
    for direction in BOTH {
        let tree = TreeBuilder::new()
            .file("src/content", "new")
            .file("src/mode", "same")
            .hard_links("old", &["dst/content", "outside/content"])
            .hard_links("same", &["dst/mode", "outside/mode"])
            // Ensures a difference from the other file, even if both are created in the same clock tick.
            .mtime("src/content", 9, 9)
            .mtime("src/mode", 5, 5)
            .mtime("dst/mode", 5, 5)
            .mode("src/mode", 0o600);
        let lop = Lop::with(&tree);
        let outside = Snapshot::of(lop.path("outside"));
        Way::shell().succeed(&lop, direction, &[]);
        alike(&lop.path("src"), &lop.path("dst"));
        let now = Snapshot::of(lop.path("outside"));
        testkit::assert_same(&outside, &now, testkit::Compare::ALL);
        assert_eq!(lop.path("outside/mode").metadata().expect("there").nlink(), 1);
    }
}

#[test]
fn holes_stay_holes() {
    let tree = TreeBuilder::new()
        .sparse("src/sparse", 40 << 20, &[(9 << 20, b"island"), ((40 << 20) - 1, b"!")])
        .sparse("src/hole", 64 << 20, &[])
        .sparse("src/tail", 8 << 20, &[(0, b"head")])
        .sparse("src/changed", 8 << 20, &[(4 << 20, b"x")])
        .seeded("dst/changed", 1, 8 << 20);
    let lop = Lop::with(&tree);
    for direction in BOTH {
        Way::shell().succeed(&lop, direction, &[]);
        alike(&lop.path("src"), &lop.path("dst"));
        for name in ["sparse", "hole", "tail", "changed"] {
            let blocks = |side: &str| lop.path(side).join(name).metadata().expect("there").blocks();
            let (of, is) = (blocks("src"), blocks("dst"));
            assert!(is <= of + 400, "{name}, {direction:?}: {of} blocks became {is}");
        }
        fs::remove_dir_all(lop.path("dst")).expect("removed");
    }
}

#[test]
fn a_file_that_grows_is_sent_as_it_was_at_a_time_and_again_later() {
    for direction in BOTH {
        let lop = Lop::new();
        fs::create_dir(lop.path("src")).expect("made");
        fs::write(lop.path("src/log"), vec![b'.'; 4 << 20]).expect("written");
        let done = AtomicBool::new(false);
        let mut changed = 0;
        thread::scope(|scope| {
            scope.spawn(|| {
                let log = fs::OpenOptions::new().append(true).open(lop.path("src/log"));
                let mut log = log.expect("opened");
                while !done.load(Relaxed) {
                    log.write_all(b".").expect("written");
                }
            });
            let ends = Ends(&done);
            let start = Instant::now();
            let enough = |changed| Duration::from_secs(if changed > 0 { 2 } else { 60 });
            while start.elapsed() < enough(changed) {
                let places = (&*lop.path("src"), &*lop.path("dst"));
                let output = Way::shell().run(&lop, direction, &[], places).run();
                if output.ending != Ending::Code(0) {
                    output.code(3);
                    assert!(output.stderr_str().contains("src/log: changed"), "{output:?}");
                    changed += 1;
                }
                let copy = fs::read(lop.path("dst/log")).expect("there");
                assert!(copy.len() >= 4 << 20 && copy.iter().all(|&byte| byte == b'.'));
            }
            drop(ends);
        });
        assert!(changed > 0, "it was at rest each time");
        Way::shell().succeed(&lop, direction, &[]);
        alike(&lop.path("src"), &lop.path("dst"));
    }
}

#[test]
fn names_that_appear_and_vanish_meanwhile_are_no_failure() {
    for direction in BOTH {
        let mut tree = TreeBuilder::new();
        for i in 0..400 {
            tree = tree.file(format!("src/{}/{i}", i % 20), "x");
        }
        let lop = Lop::with(&tree);
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0u64.. {
                    if done.load(Relaxed) {
                        return;
                    }
                    let dir = lop.path(format!("src/{}", number % 20));
                    let moved = lop.path(format!("src/{} moved", number % 20));
                    fs::write(dir.join("new"), "new").expect("written");
                    fs::rename(&dir, &moved).expect("moved");
                    fs::remove_file(moved.join("new")).expect("removed");
                    fs::rename(&moved, &dir).expect("moved back");
                }
            });
            let ends = Ends(&done);
            let start = Instant::now();
            while start.elapsed() < Duration::from_secs(2) {
                Way::shell().succeed(&lop, direction, &["--delete"]);
            }
            drop(ends);
        });
        Way::shell().succeed(&lop, direction, &["--delete"]);
        alike(&lop.path("src"), &lop.path("dst"));
    }
}

/// Returns the program at a path that every user can reach.
fn binary_for_others(place: &TempTree) -> std::path::PathBuf {
    let path = place.join("lop");
    // A process forked during the copy would have the program open for writing, so that the program could not be
    // executed.
    let _alone = without_forks();
    fs::copy(env!("CARGO_BIN_EXE_lop"), &path).expect("copied");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("set");
    path
}

#[test]
fn an_ordinary_user_mirrors_what_it_may() {
    if !is_root() {
        return skipped("only root can become another user");
    }
    let place = TempTree::new();
    let mut way = Way::shell();
    way.lop = binary_for_others(&place);
    let tree = TreeBuilder::new()
        .file("src/mine", "m")
        .file("src/roots", "r")
        .mode("src/roots", 0o6755)
        .file("src/secret", "s")
        .mode("src/secret", 0o600)
        .file("src/closed/in", "i")
        .mode("src/closed", 0o555)
        .owner("src/mine", NOBODY, NOBODY)
        .dir("dst")
        .owner("dst", NOBODY, NOBODY)
        .file("dst/extraneous", "s");
    for direction in BOTH {
        let lop = Lop::with(&tree);
        let run = || {
            let places = (&*lop.path("src"), &*lop.path("dst"));
            way.run(&lop, direction, &["--delete"], places).as_user(NOBODY, NOBODY).run()
        };
        let output = run();
        output.code(3);
        let said = output.stderr_str();
        let source = direction.places(&lop.path("src"), &lop.path("dst"))[0].clone();
        let source = source.to_string_lossy();
        let expected = format!("lop: {source}/secret: cannot open: Permission denied\n");
        assert!(said.starts_with(&expected), "{direction:?}: {said}");
        assert!(said.contains("kept 1 extraneous entry: "), "{said}");
        let stat = |name: &str| lop.path(name).metadata().expect("there");
        // Permissions that were meant for the original owner must not be granted to the new owner.
        assert_eq!((stat("dst/roots").uid(), stat("dst/roots").mode() & 0o7777), (NOBODY, 0o755));
        assert_eq!(stat("dst/closed").mode() & 0o7777, 0o555);
        assert!(lop.path("dst/extraneous").exists());
        fs::remove_file(lop.path("src/secret")).expect("removed");
        fs::write(lop.path("src/closed/more"), "more").expect("written");
        run().success();
        assert!(lop.path("dst/closed/more").exists() && !lop.path("dst/extraneous").exists());
        let again = run();
        again.success();
        let said = again.stderr_str();
        assert!(said.ends_with("nothing to change\n"), "{direction:?}: {said}");
    }
}

/// A revoked permission is applied to the copy, even if the owner can no longer read the directory.
#[test]
fn an_unreadable_directory_gets_its_permissions_and_keeps_its_contents() {
    if !is_root() {
        return skipped("only root can become another user");
    }
    let place = TempTree::new();
    let mut way = Way::shell();
    way.lop = binary_for_others(&place);
    let mut tree = TreeBuilder::new()
        .file("src/other", "o")
        .file("src/dark/in", "i")
        .mode("src/dark", 0o300)
        .dir("src/new")
        .mode("src/new", 0o000)
        .file("dst/dark/kept", "k")
        .xattr("dst/dark", "user.kept", b"k")
        .mode("dst/dark", 0o777)
        .file("dst/extraneous", "s");
    let all = ["src", "src/other", "src/dark", "src/dark/in", "src/new"];
    for name in all.into_iter().chain(["dst", "dst/dark", "dst/dark/kept", "dst/extraneous"]) {
        tree = tree.owner(name, NOBODY, NOBODY);
    }
    for direction in [None, Some(BOTH[0]), Some(BOTH[1])] {
        let lop = Lop::with(&tree);
        let has_acl = std::process::Command::new("setfacl")
            .args(["-m", "u:1000:x"])
            .arg(lop.path("src/dark"))
            .status()
            .is_ok_and(|status| status.success());
        for _ in 0..2 {
            let run = match direction {
                None => lop.command().args(["mirror", "--delete", "src", "dst"]),
                Some(direction) => {
                    let places = (&*lop.path("src"), &*lop.path("dst"));
                    way.run(&lop, direction, &["--delete"], places)
                }
            };
            let output = run.as_user(NOBODY, NOBODY).run();
            output.code(3);
            let said = output.stderr_str();
            for name in ["dark", "new"] {
                let line = format!("src/{name}: cannot open: Permission denied\n");
                assert!(said.contains(&line), "{direction:?}: {said}");
            }
            let stat = |name: &str| lop.path(name).metadata().expect("there");
            for name in ["dark", "new"] {
                let mode = |top: &str| stat(&format!("{top}/{name}")).mode() & 0o7777;
                assert_eq!(mode("dst"), mode("src"), "{direction:?} {name}");
            }
            if has_acl {
                let acl = |name| {
                    let name = lop.path(name);
                    rustix::fs::getxattr(&name, "system.posix_acl_access", &mut [0; 256])
                };
                assert_eq!(acl("dst/dark"), acl("src/dark"), "{direction:?}");
                assert!(acl("dst/dark").is_ok());
            }
            let value = rustix::fs::getxattr(&*lop.path("dst/dark"), "user.kept", &mut [0; 8]);
            assert_eq!(value, Ok(1), "{direction:?}");
            for kept in ["dst/dark/kept", "dst/extraneous", "dst/other"] {
                assert!(lop.path(kept).exists(), "{direction:?} {kept}");
            }
            assert!(!lop.path("dst/dark/in").exists());
        }
    }
}

/// Asserts that one line reports a full file system, and that no other line reports a failure.
fn is_full(said: &str, at: &str) {
    let lines: Vec<&str> = said.lines().collect();
    let full: Vec<_> = lines.iter().filter(|line| line.contains("is full")).collect();
    assert_eq!(full.len(), 1, "{said}");
    assert!(full[0].starts_with(&format!("lop: {at} is full: ")), "{said}");
    assert!(full[0].contains(" not mirrored") && lines.len() == 2, "{said}");
}

#[test]
fn a_full_disk_is_reported_and_leaves_whole_files() {
    if !is_root() {
        return skipped("only root can mount file systems");
    }
    let mut tree = TreeBuilder::new();
    for i in 0..30 {
        tree = tree.seeded(format!("src/{}/{i}", i % 3), i, 150_000);
    }
    let lop = Lop::with(&tree);
    for direction in BOTH {
        let mount = match Mount::new(FileSystem::Tmpfs, 2 << 20) {
            Ok(mount) => mount,
            Err(reason) => return skipped(&reason),
        };
        let to = mount.path().join("dst");
        let output = Way::shell().run(&lop, direction, &[], (&lop.path("src"), &to)).run();
        output.code(3);
        let said = output.stderr_str();
        is_full(said, &direction.places(&lop.path("src"), &to)[1].to_string_lossy());
        let (from, to) = (Snapshot::of(lop.path("src")), Snapshot::of(&to));
        let mut files = 0;
        for (path, entry) in to.entries.iter().filter(|(_, entry)| entry.sha256.is_some()) {
            let original = from.get(path).expect("a name of the source");
            assert_eq!(original.sha256, entry.sha256, "{}", path.escape_ascii());
            files += 1;
        }
        assert!(files > 5, "{direction:?}: {files}");
    }
}

#[test]
fn more_than_one_pair_of_hosts_at_a_time() {
    let lop = Lop::with(&two());
    let way = Way::shell();
    let running: Vec<_> = (0..4)
        .map(|number| {
            let to = lop.path(format!("to {number}"));
            let direction = if number % 2 == 0 { Direction::Push } else { Direction::Pull };
            (way.run(&lop, direction, &[], (&lop.path("src"), &to)).spawn(), to)
        })
        .collect();
    for (running, to) in running {
        running.wait().success();
        alike(&lop.path("src"), &to);
    }
}
