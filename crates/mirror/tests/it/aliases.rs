//! Trees that a file system shows under a second path, with different device and inode numbers.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use mirror::{KeptReason, Options, Reason, Refusal, Roots};
use testkit::{
    Compare, FileSystem, Mount, Snapshot, TempTree, TreeBuilder, View, assert_same, skipped,
};

use crate::world::{assert_alike, deleting, run, try_mirror, usual};

const VIEWS: [View; 4] = [View::Bindfs, View::Mergerfs, View::MergerfsUseIno, View::Sshfs];

fn tree() -> TreeBuilder {
    TreeBuilder::new().file("a/b/1", "1").file("a/2", "2").file("3", "3")
}

/// Asserts that mirroring is refused, and that the attempt leaves nothing behind.
#[track_caller]
fn assert_refused(from: &Path, to: &Path, dry_run: bool) {
    let before = fs::metadata(to).expect("there").modified().expect("has one");
    let refused = Roots::check(from, to, None, dry_run);
    let Err(refusal) = refused else {
        panic!("{} to {} is not refused", from.display(), to.display());
    };
    assert!(refusal.is_on_purpose(), "{refusal}");
    if let Refusal::SourceSeenInside { path, destination } = &refusal {
        assert_eq!((path.as_path(), destination.as_path()), (from, to));
    }
    let names = fs::read_dir(to).expect("listed").map(|entry| entry.expect("read").file_name());
    let odd: Vec<_> = names.filter(|name| name.as_encoded_bytes().starts_with(b".")).collect();
    assert!(odd.is_empty(), "{odd:?}");
    let after = fs::metadata(to).expect("there").modified().expect("has one");
    assert_eq!(before, after, "the destination has other times");
}

fn each_view(shown: &Path, mut test: impl FnMut(View, &Path)) {
    for view in VIEWS {
        match Mount::view(view, shown) {
            Ok(mount) => test(view, mount.path()),
            Err(reason) => skipped(&reason),
        }
    }
}

#[test]
fn a_source_that_an_alias_shows_in_the_destination_is_refused() {
    let real = tree().make_temp();
    each_view(real.path(), |view, shown| {
        for (from, to) in [
            (real.join("a/b"), shown.to_path_buf()),
            (real.join("a/b"), shown.join("a")),
            (shown.join("a/b"), real.path().to_path_buf()),
            (real.join("a"), shown.join("a")),
            (shown.join("a"), real.join("a")),
        ] {
            assert_refused(&from, &to, false);
            // A dry run creates no marker, and sshfs has no status change times to compare.
            if view != View::Sshfs {
                assert_refused(&from, &to, true);
            }
        }
    });
}

/// The alias is inside the destination, but the directories above the alias do not reveal this.
#[test]
fn a_source_that_an_alias_shows_alone_is_refused() {
    let real = tree().make_temp();
    let mount = match Mount::view(View::Bindfs, &real.join("a/b")) {
        Ok(mount) => mount,
        Err(reason) => return skipped(&reason),
    };
    for dry_run in [false, true] {
        assert_refused(mount.path(), real.path(), dry_run);
        assert_refused(mount.path(), &real.join("a"), dry_run);
    }
}

/// The pool creates new names in a different branch than the one that contains the source.
#[test]
fn a_source_that_is_in_one_branch_of_a_pool_is_refused() {
    let place = TreeBuilder::new().file("one/data/x", "x").dir("two").dir("three").make_temp();
    // Until the rename, the status change time is equal to the modification time, as on file systems that do not store
    // a status change time.
    let source = place.join("one/data");
    fs::write(source.join("x"), "x").expect("written");
    let branches = ["one", "two", "three"].map(|name| place.join(name).display().to_string());
    let mount = match Mount::view(View::Mergerfs, Path::new(&branches.join(":"))) {
        Ok(mount) => mount,
        Err(reason) => return skipped(&reason),
    };
    for name in ["x", "y"] {
        for dry_run in [false, true] {
            assert_refused(&source, mount.path(), dry_run);
        }
        assert!(source.join(name).exists());
        if name == "x" {
            fs::rename(source.join("x"), source.join("y")).expect("renamed");
        }
    }
}

#[test]
fn a_source_that_an_overlay_shows_is_refused() {
    let real = tree().make_temp();
    let mount = match Mount::overlay(real.path()) {
        Ok(mount) => mount,
        Err(reason) => return skipped(&reason),
    };
    assert_refused(&mount.path().join("a/b"), real.path(), false);
    assert_refused(&real.join("a/b"), mount.path(), false);
}

#[test]
fn a_destination_that_an_alias_shows_in_the_source_is_left_out() {
    each_view_of_new(|real, shown| {
        for to in ["new", "a/b/new"] {
            let outcome = run(real, shown.join(to), &usual());
            assert_eq!(outcome.left_out_paths.len(), 1, "{outcome:?}");
            assert_eq!(outcome.left_out_paths[0].1, to.as_bytes());
            assert!(real.join(to).join("a/2").exists());
            assert!(!real.join(to).join(to).exists(), "the copy has a copy");
            fs::remove_dir_all(real.join(to)).expect("removed");
        }
    });
}

/// An alias of the destination's parent directory is mounted in the source. Source and destination themselves are on a
/// disk.
#[test]
fn a_destination_mounted_in_the_source_is_left_out() {
    let place = tree().dir("from/v").file("from/f", "f").dir("data/to").make_temp();
    let mount = match Mount::view(View::Bindfs, &place.join("data")) {
        Ok(mount) => mount,
        Err(reason) => return skipped(&reason),
    };
    let _bound = Mount::bind(mount.path(), place.join("from/v")).expect("it can be mounted again");
    let outcome = run(place.join("from"), place.join("data/to"), &usual());
    assert_eq!(outcome.left_out_paths.len(), 1, "{outcome:?}");
    assert_eq!(outcome.left_out_paths[0].1, b"v/to");
    assert!(place.join("data/to/f").exists() && !place.join("data/to/v/to").exists());
}

/// The SFTP server follows the link, so sshfs shows the directory a second time, with a different inode number on the
/// same device.
#[test]
fn a_destination_that_one_mount_shows_twice_is_left_out() {
    let place = TreeBuilder::new().file("a/f", "f").dir("to").symlink("y", "to").make_temp();
    let mount = match Mount::view(View::SshfsFollowing, place.path()) {
        Ok(mount) => mount,
        Err(reason) => return skipped(&reason),
    };
    let outcome = run(mount.path(), mount.path().join("to"), &usual());
    let left: BTreeSet<_> = outcome.left_out_paths.iter().map(|left| &left.1[..]).collect();
    assert_eq!(left, [&b"to"[..], b"y"].into(), "{outcome:?}");
    assert!(place.join("to/a/f").exists() && !place.join("to/y").exists());
}

fn each_view_of_new(mut test: impl FnMut(&Path, &Path)) {
    let place = TreeBuilder::new().dir("real").make_temp();
    let real = place.join("real");
    tree().make(&real);
    each_view(&real, |_, shown| test(&real, shown));
}

/// A copy has the same names, sizes and modification times as its source.
#[test]
fn a_copy_of_the_source_is_not_refused_and_nothing_is_left() {
    let place = tree().dir("other").make_temp();
    each_view(&place.join("other"), |view, shown| {
        let from = place.join("a");
        for to in [shown.to_path_buf(), shown.join("a")] {
            run(&from, &to, &deleting());
            let again = run(&from, &to, &Options { allow_empty: false, ..deleting() });
            assert_eq!((again.counts.changes(), again.counts.failed), (0, 0), "{again:?}");
        }
        // sshfs only reports times in whole seconds.
        if view != View::Sshfs {
            assert_alike(&from, place.join("other/a"));
        }
        clear(&place);
    });
}

fn clear(place: &TempTree) {
    for entry in fs::read_dir(place.join("other")).expect("listed") {
        let path = entry.expect("read").path();
        if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
            .expect("removed");
    }
}

/// Returns a destination with files in its directory `in`, but without enough free space for a copy of all of them.
fn nearly_full(files: u64) -> Option<Mount> {
    let mount = Mount::new(FileSystem::Tmpfs, 2 << 20).map_err(|reason| skipped(&reason)).ok()?;
    let names = (0..files).map(|number| (format!("in/{number}"), number));
    let tree =
        names.fold(TreeBuilder::new(), |tree, (name, seed)| tree.seeded(name, seed, 500_000));
    tree.make(mount.path());
    Some(mount)
}

#[track_caller]
fn assert_kept(from: &Path, to: &Path) {
    let before = Snapshot::of(to.join("in"));
    let outcome = try_mirror(from, to, &deleting());
    assert!(outcome.counts.failed > 0 && outcome.counts.removed == 0, "{outcome:?}");
    assert_eq!(
        (outcome.counts.kept, outcome.counts.kept_reason),
        (1, KeptReason::NotCopied),
        "{outcome:?}"
    );
    assert_same(&before, &Snapshot::of(to.join("in")), Compare::ALL);
}

/// The source is a directory inside the destination, but its path does not reveal this.
#[test]
fn nothing_is_removed_if_not_all_of_an_aliased_source_could_be_copied() {
    let Some(to) = nearly_full(3) else { return };
    match Mount::view(View::Sshfs, &to.path().join("in")) {
        Ok(view) => assert_kept(view.path(), to.path()),
        Err(reason) => skipped(&reason),
    }
}

#[test]
fn nothing_is_removed_if_not_all_that_is_mounted_in_the_source_could_be_copied() {
    let Some(to) = nearly_full(3) else { return };
    let from = TreeBuilder::new().file("f", "f").dir("v").make_temp();
    let view = match Mount::view(View::Sshfs, &to.path().join("in")) {
        Ok(view) => view,
        Err(reason) => return skipped(&reason),
    };
    let _bound = Mount::bind(view.path(), from.join("v")).expect("it can be mounted again");
    assert_kept(from.path(), to.path());
}

#[test]
fn extraneous_entries_are_removed_from_a_full_disk_without_aliases() {
    let (Some(to), Ok(from)) = (nearly_full(2), Mount::new(FileSystem::Tmpfs, 2 << 20)) else {
        return;
    };
    TreeBuilder::new().seeded("large", 9, 1_500_000).make(from.path());
    let outcome = try_mirror(from.path(), to.path(), &deleting());
    assert_eq!(
        (outcome.counts.failed, outcome.counts.removed, outcome.counts.kept),
        (1, 3, 0),
        "{outcome:?}"
    );
}

#[test]
fn a_directory_of_the_destination_that_a_mount_shows_in_the_source_stays() {
    let place = TreeBuilder::new().dir("from/m").file("to/deep/in/keep", "k").file("to/gone", "g");
    let views = [None, Some(View::Bindfs)];
    for view in views {
        let place = place.make_temp();
        let shown = place.join("to/deep/in");
        let view = match view.map(|view| Mount::view(view, &shown)).transpose() {
            Ok(view) => view,
            Err(reason) => return skipped(&reason),
        };
        let shown = view.as_ref().map_or(&*shown, Mount::path);
        let _bound = match Mount::bind(shown, place.join("from/m")) {
            Ok(bound) => bound,
            Err(reason) => return skipped(&reason),
        };
        let outcome = try_mirror(place.join("from"), place.join("to"), &deleting());
        assert_eq!(
            (outcome.counts.failed, outcome.counts.unremoved, outcome.counts.removed),
            (1, 1, 1),
            "{outcome:?}"
        );
        assert!(outcome.problems[0].reason.to_string().contains("the source of the mirror"));
        for name in ["deep/in/keep", "m/keep"] {
            assert!(place.join("to").join(name).exists(), "{name}: {outcome:?}");
        }
        assert!(!place.join("to/gone").exists());
    }
}

/// The alias hides the directories above the source, and merges the source with another directory or layer.
#[test]
fn a_directory_of_the_destination_that_resembles_the_source_stays() {
    let ways = [View::Sshfs, View::Mergerfs].map(Some).into_iter().chain([None]);
    for way in ways {
        for (at, below) in [("in", ""), ("in", "sub"), ("deep/in", "sub")] {
            let place = TreeBuilder::new()
                .file(format!("{at}/sub/a"), "a")
                .file(format!("{at}/b"), "b")
                .file("gone/c", "c")
                .dir("other")
                .make_temp();
            let to = place.path();
            let empty = TreeBuilder::new().dir("empty").make_temp();
            let shown = to.join(at);
            let branches = format!("{}:{}", shown.display(), empty.join("empty").display());
            let view = match way {
                Some(View::Mergerfs) => Mount::view(View::Mergerfs, Path::new(&branches)),
                Some(view) => Mount::view(view, &shown),
                None => Mount::overlay(&shown),
            };
            let view = match view {
                Ok(view) => view,
                Err(reason) => return skipped(&reason),
            };
            let from = view.path().join(below);
            // The top directory of an overlay has a different modification time.
            if way.is_none() && below.is_empty() {
                continue;
            }
            for dry_run in [true, false] {
                let outcome = try_mirror(&from, to, &Options { dry_run, ..deleting() });
                assert_eq!(
                    (outcome.counts.failed, outcome.counts.unremoved),
                    (1, 1),
                    "{way:?} {outcome:?}"
                );
                let problem = &outcome.problems[0];
                assert!(matches!(problem.reason, Reason::MayBeSource), "{way:?} {outcome:?}");
                let expected = [at, below].join("/");
                assert_eq!(problem.path, expected.trim_end_matches('/').as_bytes());
                assert!(to.join(at).join("sub/a").exists() && to.join(at).join("b").exists());
                assert_eq!(to.join("gone").exists(), dry_run);
            }
        }
    }
}
