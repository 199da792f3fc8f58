//! Content that the destination already has under another name is not copied again. Even if the hints are wrong, the
//! trees are equal after the run.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use fsops::faults::ChangeFault;
use mirror::{Action, Options};
use testkit::{FileSystem, Mount, Snapshot, TempTree, TreeBuilder, skipped};

use crate::child;
use crate::hints::FakeHints;
use crate::world::{
    assert_alike, between_hosts, deleting, is_between_hosts, mirror_reporting, run, sent, usual,
    with,
};

const SIZE: u64 = 100_000;

/// Creates three files that have different names in the source and in the destination.
fn renamed(place: &Path) {
    let mut tree = TreeBuilder::new();
    for i in 1..4 {
        for path in [format!("from/new/{i}"), format!("to/old/{i}")] {
            tree = tree.seeded(&path, i, SIZE + i).mtime(&path, 5, 5);
        }
    }
    tree.file("from/small", "s").make(place);
}

/// Returns hints about these files.
fn known() -> FakeHints {
    FakeHints::of(&["old/1", "old/2", "old/3"])
}

/// Mirrors. Returns the inodes of the three files before and after the run, and how many files were reused and how many
/// were copied.
fn mirrored(place: &Path, options: &Options) -> (Vec<u64>, Vec<u64>, (u64, u64)) {
    let (from, to) = (place.join("from"), place.join("to"));
    let inodes = |dir: &str| -> Vec<u64> {
        let inode = |i| fs::metadata(to.join(dir).join(format!("{i}"))).map_or(0, |m| m.ino());
        (1..4).map(inode).collect()
    };
    let before = inodes("old");
    let outcome = run(&from, &to, options);
    (before, inodes("new"), (outcome.counts.reused, outcome.counts.files))
}

#[test]
pub(crate) fn a_file_that_was_renamed_is_not_copied() {
    for kind in [FileSystem::Ext4, FileSystem::Xfs, FileSystem::Btrfs, FileSystem::Tmpfs] {
        let mount = match Mount::new(kind, 400 << 20) {
            Ok(mount) => mount,
            Err(reason) => {
                skipped(reason);
                continue;
            }
        };
        renamed(mount.path());
        // If source and destination were on the same file system, the file would be cloned from the source.
        let source = TempTree::new();
        renamed(source.path());
        let place = TempTree::new();
        std::os::unix::fs::symlink(source.join("from"), place.join("from")).expect("linked");
        std::os::unix::fs::symlink(mount.path().join("to"), place.join("to")).expect("linked");
        let (before, after, counts) = mirrored(place.path(), &known().to(deleting()));
        assert_eq!(counts, (3, 1), "{kind:?}");
        let clones = matches!(kind, FileSystem::Xfs | FileSystem::Btrfs);
        assert_eq!(before == after, !clones, "{kind:?}");
        assert!(!is_between_hosts() || sent() == 1, "{}", sent());
        assert_alike(place.join("from").canonicalize().expect("there"), mount.path().join("to"));
        let (.., counts) = mirrored(place.path(), &known().to(deleting()));
        assert_eq!(counts, (0, 0), "{kind:?}");
    }
}

/// Returns whether the file system of the test can share extents.
fn clones(place: &Path) -> bool {
    let (one, two) = (place.join("clone 1"), place.join("clone 2"));
    fs::write(&one, vec![1; 100_000]).expect("written");
    let copied =
        std::process::Command::new("cp").arg("--reflink=always").args([&one, &two]).status();
    fs::remove_file(one).expect("removed");
    fs::remove_file(two).ok();
    copied.is_ok_and(|status| status.success())
}

/// A reason why the old files stay, and the options that have this effect.
type Lasting = (&'static str, fn() -> Options);

#[test]
pub(crate) fn a_file_that_stays_is_not_given_another_name() {
    let lasting: [Lasting; 4] = [
        ("not deleted", usual),
        ("left out", || Options {
            exclude: walk::Globs::new(&["old/".to_string()]).expect("right"),
            ..deleting()
        }),
        ("perhaps too many", || Options { max_delete: Some(100), ..deleting() }),
        ("to be verified", || Options { verify: true, ..deleting() }),
    ];
    for (why, options) in lasting {
        let place = TempTree::new();
        renamed(place.path());
        let (before, after, counts) = mirrored(place.path(), &known().to(options()));
        assert!(before.iter().all(|inode| !after.contains(inode)), "{why}");
        let copies = if is_between_hosts() || clones(place.path()) { (3, 1) } else { (0, 4) };
        assert_eq!(counts, copies, "{why}");
    }
}

/// Two source files with the same content remain two files, regardless of which worker finds them first.
#[test]
pub(crate) fn two_files_do_not_become_one() {
    for threads in [1, 4] {
        let place = TempTree::new();
        let mut tree = TreeBuilder::new();
        let mut names = Vec::new();
        for i in 0..40 {
            // Each name is in a different directory. Some of the directories come before the directory with the
            // existing file, others after it.
            for name in [format!("a/{i}"), format!("b{i}/x"), format!("{i}")] {
                let path = format!("from/{name}");
                tree = tree.seeded(&path, i, 20_000).mtime(&path, 5, 5);
            }
            let path = format!("to/b{i}/x");
            tree = tree.seeded(&path, i, 20_000).mtime(&path, 5, 5);
            names.push(format!("b{i}/x"));
        }
        tree.make(place.path());
        for i in 0..40u64 {
            let options = Options { threads: with(threads).threads, ..deleting() };
            // In each run, the hint names a different file, so that different workers find it.
            let from = names.iter().map(String::as_str).skip(usize::try_from(i).expect("small"));
            let options = FakeHints::of(&from.take(1).collect::<Vec<_>>()).to(options);
            run(place.join("from"), place.join("to"), &options);
            assert_alike(place.join("from"), place.join("to"));
            if i % 2 == 0 {
                fs::remove_dir_all(place.join("to/a")).expect("removed");
            }
        }
    }
}

#[test]
pub(crate) fn wrong_hints_do_no_harm() {
    let place = TempTree::new();
    renamed(place.path());
    TreeBuilder::new()
        .seeded("outside/1", 1, SIZE + 1)
        .symlink("to/link", "../outside/1")
        .symlink("to/dir", "../outside")
        .fifo("to/fifo")
        .seeded("to/other", 9, SIZE + 1)
        .seeded("to/shorter", 1, SIZE)
        .make(place.path());
    let wrong = [
        "../outside/1",
        "/outside/1",
        "link",
        "dir/1",
        "to/../../outside/1",
        "fifo",
        "old",
        "",
        "/",
        "..",
        "nowhere",
        "other",
        "shorter",
        "old/1/x",
        "old//1",
        "./old/1",
        "old/1\0",
    ];
    let outside = Snapshot::of(place.join("outside"));
    for place_said in wrong {
        let bytes = fs::read(place.join("to/other")).expect("read");
        let reported = FakeHints::of(&[place_said]).with_digest(b"new/2", &bytes, place_said);
        let outcome = run(place.join("from"), place.join("to"), &reported.to(usual()));
        assert_eq!(outcome.counts.reused, 0, "{place_said:?}");
        for i in 1..4 {
            let [one, other] =
                ["from", "to"].map(|tree| fs::read(place.join(tree).join(format!("new/{i}"))));
            assert_eq!(one.expect("read"), other.expect("read"), "{place_said:?}");
        }
        fs::remove_dir_all(place.join("to/new")).expect("removed");
    }
    assert_eq!(outside, Snapshot::of(place.join("outside")));
}

#[test]
pub(crate) fn a_file_that_only_differs_in_time_gets_the_time() {
    let place = TempTree::new();
    renamed(place.path());
    TreeBuilder::new()
        .seeded("to/new/1", 1, SIZE + 1)
        .mtime("to/new/1", 7, 7)
        .mode("to/new/1", 0o600)
        .seeded("to/new/2", 8, SIZE + 2)
        .hard_links("two", &["to/new/3", "to/kept"])
        .make(place.path());
    let inode = fs::metadata(place.join("to/new/1")).expect("there").ino();
    let outcome = run(place.join("from"), place.join("to"), &FakeHints::default().to(deleting()));
    assert_alike(place.join("from"), place.join("to"));
    assert_eq!(fs::metadata(place.join("to/new/1")).expect("there").ino(), inode);
    assert_eq!((outcome.counts.reused, outcome.counts.files), (0, 3));
    assert!(!is_between_hosts() || sent() == 2 * SIZE + 2 + 3 + 1, "{}", sent());
}

#[test]
fn content_that_the_source_has_twice_is_sent_once() {
    let place = TempTree::new();
    let mut tree = TreeBuilder::new().dir("to");
    for i in 0..30 {
        tree = tree.seeded(format!("from/{i}"), i % 3, SIZE);
    }
    tree.make(place.path());
    between_hosts(|| {
        let reported = FakeHints::default().with_digests(&place.join("from"), "");
        let (outcome, changes) =
            mirror_reporting(place.join("from"), place.join("to"), None, &reported.to(usual()));
        assert_eq!(
            (outcome.counts.files, outcome.counts.reused, outcome.counts.reused_bytes),
            (3, 27, 27 * SIZE)
        );
        assert_eq!(sent(), 3 * SIZE);
        let reused =
            changes.iter().filter(|change| change.action == Action::Reused && change.to.is_some());
        assert_eq!(reused.count(), 27);
    });
    assert_alike(place.join("from"), place.join("to"));
}

/// Some names wait for a file that is expected to have the same content. If its content turns out to be different, the
/// content of the waiting names is requested.
#[test]
fn content_that_a_name_waits_for_in_vain_is_requested_again() {
    let place = TempTree::new();
    let mut tree = TreeBuilder::new().dir("to");
    for i in 0..10 {
        tree = tree.seeded(format!("from/{i}"), 1, SIZE);
    }
    tree.make(place.path());
    // The hints wrongly claim that all files have the same content.
    let mut reported = FakeHints::default();
    for i in 0..10 {
        fs::write(place.join(format!("from/{i}")), vec![i; 100_000]).expect("written");
        reported = reported.with_digest(format!("{i}").as_bytes(), b"another", "0");
    }
    between_hosts(|| {
        let outcome = run(place.join("from"), place.join("to"), &reported.to(usual()));
        assert_eq!(outcome.counts.files, 10);
    });
    assert_alike(place.join("from"), place.join("to"));
}

#[test]
fn a_hint_of_the_source_finds_a_copy_in_the_destination() {
    let place = TempTree::new();
    TreeBuilder::new()
        .seeded("from/a", 1, SIZE)
        .mtime("from/a", 5, 5)
        .seeded("to/a", 1, SIZE)
        .mtime("to/a", 5, 5)
        .seeded("from/copy", 1, SIZE)
        .make(place.path());
    let bytes = fs::read(place.join("from/a")).expect("read");
    between_hosts(|| {
        let reported = FakeHints::default().with_digest(b"copy", &bytes, "a");
        let outcome = run(place.join("from"), place.join("to"), &reported.to(usual()));
        assert_eq!((outcome.counts.reused, outcome.counts.files, sent()), (1, 0, 0));
    });
    assert_alike(place.join("from"), place.join("to"));
}

/// When the source file has grown, the old file is only a prefix of it.
#[test]
fn a_file_that_grows_during_the_search_is_mirrored_as_it_is() {
    for size in [SIZE, 3 << 20] {
        let place = TempTree::new();
        TreeBuilder::new().seeded("from/new", 1, size).seeded("to/old", 1, size).make(place.path());
        let reported = FakeHints::of(&["old"]).growing(place.join("from/new"));
        between_hosts(|| {
            let outcome = run(place.join("from"), place.join("to"), &reported.to(deleting()));
            assert_eq!((outcome.counts.reused, outcome.counts.files, sent()), (0, 1, 1));
        });
        assert_alike(place.join("from"), place.join("to"));
    }
}

/// No matter when the run is killed, each name has its old or its new content, and the next run completes the rename.
#[test]
pub(crate) fn killed_at_every_change_of_a_rename() {
    for blow in [ChangeFault::Kill, ChangeFault::Fail(libc::EIO), ChangeFault::Fail(libc::EMLINK)] {
        let mut points = 0;
        for number in 0.. {
            let place = TempTree::new();
            renamed(place.path());
            let before = Snapshot::of(place.join("to"));
            let ended = child::run_with(place.path(), number, blow, &["old/1", "old/2", "old/3"]);
            crate::faults::all_are_whole(&place, &before, &ended.account);
            run(place.join("from"), place.join("to"), &deleting());
            assert_alike(place.join("from"), place.join("to"));
            crate::faults::no_temporary_names_are_left(&place.join("to"));
            points = number;
            if ended.done.is_some_and(|(changes, _)| changes <= number) {
                break;
            }
        }
        assert!(points > 8, "{points}");
    }
}
