//! Tests with whole trees: regardless of what the source and the destination contained, they are equal after the run.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use mirror::Options;
use proptest::prelude::{ProptestConfig, proptest};
use testkit::{FileSystem, Mount, TempTree, hostile_tree, is_root, random_tree, skipped};

use crate::world::{assert_alike, deleting, everything, run, usual, with};

#[test]
pub(crate) fn everything_is_mirrored_and_a_second_run_changes_nothing() {
    for threads in [1, 2, 5] {
        let place = TempTree::new();
        let (from, to) = (place.join("from"), place.join("to"));
        everything().make(&from);
        let outcome = run(&from, &to, &with(threads));
        assert_alike(&from, &to);
        assert_eq!(
            (outcome.counts.linked, outcome.counts.left_out, outcome.counts.removed),
            (6, 0, 0)
        );
        let again = run(&from, &to, &with(threads));
        assert_eq!((again.counts.changes(), again.counts.names), (0, outcome.counts.names));
    }
}

/// Mirrors between all kinds of file systems, and then mirrors all kinds of changes.
#[test]
pub(crate) fn every_file_system_takes_every_change() {
    if !is_root() {
        return skipped("only root can mount file systems");
    }
    for kind in FileSystem::ALL {
        let mount = match Mount::new(kind, 400 << 20) {
            Ok(mount) => mount,
            Err(reason) => {
                skipped(&reason);
                continue;
            }
        };
        for same in [true, false] {
            let place = TempTree::new();
            let from = if same { mount.path().join("from") } else { place.join("from") };
            let to = mount.path().join(if same { "to" } else { "from elsewhere" });
            everything().make(&from);
            run(&from, &to, &usual());
            assert_alike(&from, &to);
            for (what, change) in changes() {
                change(&from);
                let outcome = run(&from, &to, &deleting());
                assert!(outcome.counts.changes() > 0, "{what} on {}", kind.name());
                assert_alike(&from, &to);
                let again = run(&from, &to, &deleting());
                assert_eq!(again.counts.changes(), 0, "{what} on {}", kind.name());
            }
        }
    }
}

type Change = (&'static str, fn(&Path));

/// Returns all kinds of changes to the tree of [`everything`], in the order in which to make them.
fn changes() -> Vec<Change> {
    vec![
        ("content", |root| fs::write(root.join("d0/s0/f0"), "new").expect("written")),
        ("content of one with links", |root| {
            fs::write(root.join("a1"), "linked?").expect("written");
        }),
        ("shorter", |root| truncate(&root.join("large"), 1000)),
        ("mode", |root| set_mode(&root.join("d0/s0/f0"), 0o600)),
        ("mode of one with links", |root| set_mode(&root.join("z/a2"), 0o640)),
        ("mode of a directory", |root| set_mode(&root.join("d1"), 0o700)),
        ("time of a directory", |root| touch(&root.join("empty"))),
        ("a link gone", |root| remove(&root.join("x/and again"))),
        ("a link more", |root| link(&root.join("a1"), &root.join("d4/a4"))),
        ("a link that is a file now", |root| {
            remove(&root.join("z/a2"));
            fs::copy(root.join("a1"), root.join("z/a2")).map(drop).expect("copied");
        }),
        ("files that are one now", |root| {
            remove(&root.join("d0/s0/f0"));
            link(&root.join("d1/s1/f1"), &root.join("d0/s0/f0"));
        }),
        ("a link to another file", |root| {
            remove(&root.join("d0/a3"));
            link(&root.join("large"), &root.join("d0/a3"));
        }),
        ("alike but not one", |root| {
            // Two files that differ in nothing that lop compares.
            for name in ["twin 1", "twin 2"] {
                fs::write(root.join(name), "twin").expect("written");
                set_time(&root.join(name), 1_000);
            }
        }),
        ("one of them linked", |root| {
            remove(&root.join("twin 2"));
            link(&root.join("twin 1"), &root.join("twin 2"));
        }),
        ("and apart again", |root| {
            remove(&root.join("twin 2"));
            fs::write(root.join("twin 2"), "twin").expect("written");
            set_time(&root.join("twin 2"), 1_000);
        }),
        ("a directory renamed", |root| rename(&root.join("d2"), &root.join("d2 moved"))),
        ("a file renamed", |root| rename(&root.join("large"), &root.join("x/larger"))),
        ("a directory that is a file now", |root| {
            fs::remove_dir_all(root.join("d3")).expect("removed");
            fs::write(root.join("d3"), "file").expect("written");
        }),
        ("and a directory again", |root| {
            remove(&root.join("d3"));
            fs::create_dir(root.join("d3")).expect("made");
            fs::write(root.join("d3/in"), "in").expect("written");
        }),
        ("a link that is a directory now", |root| {
            remove(&root.join("link"));
            fs::create_dir(root.join("link")).expect("made");
        }),
        ("a FIFO that is a link now", |root| {
            remove(&root.join("fifo"));
            std::os::unix::fs::symlink("x", root.join("fifo")).expect("linked");
        }),
        ("another target", |root| {
            remove(&root.join("fifo"));
            std::os::unix::fs::symlink("y", root.join("fifo")).expect("linked");
        }),
        ("the owner", |root| own(&root.join("d3/in"), 1234, 5678)),
        ("the owner of a directory", |root| own(&root.join("d3"), 7, 8)),
        ("the owner of a link", |root| own(&root.join("fifo"), 9, 10)),
        ("a hole", |root| truncate(&root.join("tail"), 4 << 20)),
        ("empty", |root| truncate(&root.join("sparse"), 0)),
        ("directories gone", |root| fs::remove_dir_all(root.join("empty")).expect("removed")),
        ("everything gone", |root| {
            for entry in fs::read_dir(root).expect("listed") {
                let path = entry.expect("an entry").path();
                if path.symlink_metadata().expect("there").is_dir() {
                    fs::remove_dir_all(&path).expect("removed");
                } else {
                    remove(&path);
                }
            }
        }),
    ]
}

fn remove(path: &Path) {
    fs::remove_file(path).expect("removed");
}

fn rename(from: &Path, to: &Path) {
    fs::rename(from, to).expect("renamed");
}

fn link(path: &Path, other: &Path) {
    fs::hard_link(path, other).expect("linked");
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("set");
}

fn truncate(path: &Path, size: u64) {
    fs::OpenOptions::new().write(true).open(path).and_then(|file| file.set_len(size)).expect("set");
}

fn own(path: &Path, user: u32, group: u32) {
    std::os::unix::fs::lchown(path, Some(user), Some(group)).expect("given away");
}

pub(crate) fn set_time(path: &Path, seconds: u64) {
    let time = std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds);
    let file = fs::File::open(path).expect("opened");
    file.set_times(fs::FileTimes::new().set_modified(time)).expect("set");
}

fn touch(path: &Path) {
    set_time(path, 77);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 60, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn any_tree_becomes_any_other(one in random_tree(40), other in random_tree(40)) {
        let place = TempTree::new();
        let to = place.join("to");
        for (name, tree) in [("one", one), ("other", other)] {
            let from = place.join(name);
            fs::create_dir(&from).expect("made");
            tree.make(&from);
            run(&from, &to, &with(3));
            // Until the next run, entries that only the first source contains still exist.
            run(&from, &to, &deleting());
            assert_alike(&from, &to);
        }
    }
}

#[test]
pub(crate) fn odd_names_and_kinds_and_great_depth() {
    let place = TempTree::new();
    let (from, to) = (place.join("from"), place.join("to"));
    hostile_tree(&from);
    testkit::TreeBuilder::new().deep_chain(2_000, "chain", "at the bottom").make(from.join("deep"));
    if !is_root() {
        return skipped("only root can read files without permissions");
    }
    run(&from, &to, &usual());
    assert_alike(&from, &to);
    assert_eq!(run(&from, &to, &deleting()).counts.changes(), 0);
}

#[test]
pub(crate) fn source_and_destination_may_be_symbolic_links() {
    let place = TempTree::new();
    everything().make(place.join("from"));
    fs::create_dir(place.join("to")).expect("made");
    for name in ["from", "to"] {
        std::os::unix::fs::symlink(name, place.join(format!("link to {name}"))).expect("linked");
    }
    run(place.join("link to from"), place.join("link to to"), &usual());
    assert_alike(place.join("from"), place.join("to"));
}

#[test]
pub(crate) fn a_file_of_the_destination_that_has_other_names_is_not_written_to() {
    let place = testkit::TreeBuilder::new()
        .file("from/content", "new")
        .file("from/mode", "same")
        .hard_links("old", &["to/content", "outside/content"])
        .hard_links("same", &["to/mode", "outside/mode"])
        // An explicit time, because both files could otherwise be created in the same clock tick and have the same
        // time.
        .mtime("from/content", 9, 9)
        .mtime("from/mode", 5, 5)
        .mtime("to/mode", 5, 5)
        .mode("from/mode", 0o600)
        .make_temp();
    let outside = testkit::Snapshot::of(place.join("outside"));
    run(place.join("from"), place.join("to"), &usual());
    assert_alike(place.join("from"), place.join("to"));
    let now = testkit::Snapshot::of(place.join("outside"));
    testkit::assert_same(&outside, &now, testkit::Compare::ALL);
    assert_eq!(place.join("outside/mode").metadata().expect("there").nlink(), 1);
}

#[test]
pub(crate) fn a_run_leaves_access_times_of_the_source_alone() {
    let place = testkit::TreeBuilder::new().file("from/a", "a").make_temp();
    let (file, dir) = (place.join("from/a"), place.join("from"));
    // The access time is older than the last change, so that reading the file updates it even with `relatime`.
    let times = fs::FileTimes::new().set_accessed(std::time::UNIX_EPOCH);
    fs::File::open(&file).and_then(|open| open.set_times(times)).expect("set");
    fs::File::open(&dir).and_then(|open| open.set_times(times)).expect("set");
    run(place.join("from"), place.join("to"), &usual());
    assert_eq!(file.metadata().expect("there").atime(), 0);
    assert_eq!(dir.metadata().expect("there").atime(), 0);
    let checks = Options { checksum: true, ..usual() };
    run(place.join("from"), place.join("to"), &checks);
    assert_eq!(dir.metadata().expect("there").atime(), 0);
    assert_eq!(place.join("to/a").metadata().expect("there").atime(), 0);
}
