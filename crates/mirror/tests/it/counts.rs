//! The number of entries that were not mirrored, and the names that were left out.

use std::fs;
use std::path::Path;
use std::time::Duration;

use mirror::{Cause, LeftOut, Options, Reason};
use testkit::{FileSystem, Mount, TreeBuilder, skipped};

use crate::world::{
    assert_alike, deleting, globs, is_between_hosts, run, temp_name_of, try_mirror, usual,
};

/// Names below a directory that could not be created also count as missing.
#[test]
pub(crate) fn names_below_a_directory_that_could_not_be_created_are_counted() {
    let small = match Mount::new(FileSystem::Tmpfs, 1 << 20) {
        Ok(small) => small,
        Err(reason) => return skipped(&reason),
    };
    let mut tree = TreeBuilder::new().file("a", "a");
    for at in 0..8 {
        for number in 0..20 {
            tree = tree.file(format!("d{at}/e/{number}"), "n");
        }
    }
    let place = tree.make_temp();
    // There are only enough inodes for the top directory, the destination, and one more name.
    if let Err(reason) = small.remount("nr_inodes=3") {
        return skipped(&reason);
    }
    let to = small.path().join("to");
    for _ in 0..3 {
        let outcome = try_mirror(place.path(), &to, &usual());
        let all = 1 + 8 * (1 + 1 + 20);
        assert_eq!(outcome.counts.names, all, "{outcome:?}");
        let made = outcome.counts.changes() - outcome.counts.adjusted;
        let is_there = u64::from(to.join("a").exists() || fs::read_dir(&to).unwrap().count() > 0);
        assert!(made <= 1, "{outcome:?}");
        assert_eq!(outcome.counts.failed + outcome.counts.missing, all - is_there, "{outcome:?}");
        assert_eq!(
            outcome.counts.blocked[Cause::Full as usize],
            outcome.counts.failed,
            "{outcome:?}"
        );
        assert!(outcome.problems.iter().all(|problem| {
            problem.reason.cause() == Some(Cause::Full) && !problem.reason.is_of_source()
        }));
    }
    small.remount("nr_inodes=1000").expect("mounted");
    run(place.path(), &to, &usual());
    assert_alike(place.path(), &to);
}

/// A remote sender continues to list the entries of a directory long after the receiver has failed to create the
/// directory.
#[test]
pub(crate) fn many_names_below_a_directory_that_fails_at_once_are_counted() {
    let mut tree = TreeBuilder::new().file("to/name", "n");
    for at in 0..300 {
        tree = tree.file(format!("from/name/d{at}/e/f.txt"), "f");
    }
    let place = tree.make_temp();
    let options = Options { include: globs(&["*.txt"]), ..usual() };
    for _ in 0..5 {
        let outcome = try_mirror(place.join("from"), place.join("to"), &options);
        assert_eq!((outcome.counts.names, outcome.counts.missing), (1 + 900, 900), "{outcome:?}");
        assert_eq!(outcome.counts.failed, 1);
    }
}

/// A run must not make a change that the next run reverts.
#[test]
pub(crate) fn runs_to_a_full_disk_do_not_alternate() {
    let small = match Mount::new(FileSystem::Ext4, 16 << 20) {
        Ok(small) => small,
        Err(reason) => return skipped(&reason),
    };
    let mut tree = TreeBuilder::new();
    for at in 0..60 {
        tree = tree.seeded(format!("d{}/f{at}", at % 5), at, 700_000);
    }
    let (place, to) = (tree.make_temp(), small.path().join("to"));
    // A file may fit later, because freed blocks become available with a delay. The test can only
    // retry.
    for _ in 0..6 {
        let outcome = try_mirror(place.path(), &to, &usual());
        let copied = outcome.counts.files + outcome.counts.dirs;
        assert_eq!(outcome.counts.changes(), copied, "{outcome:?}");
        // The files below a directory for which there was no space are missing.
        let absent = outcome.counts.failed + outcome.counts.missing;
        assert!(absent > 30, "{outcome:?}");
        assert_eq!(outcome.counts.blocked[Cause::Full as usize], outcome.counts.failed);
    }
}

#[test]
pub(crate) fn left_out_entries_are_named() {
    let place = TreeBuilder::new()
        .file("from/a", "a")
        .file("from/d/.lop-quarantine-1000/1/0", "in quarantine")
        .file(format!("from/d/{}", temp_name_of("x")), "half")
        .file("to/.lop-quarantine-0/1/0", "of the destination")
        .make_temp();
    let from = place.join("from");
    let expected = [
        (LeftOut::Quarantine, b"d/.lop-quarantine-1000".to_vec()),
        (LeftOut::Temporary, [b"d/", temp_name_of("x").as_bytes()].concat()),
    ];
    for _ in 0..2 {
        let outcome = run(&from, place.join("to"), &deleting());
        let mut left = outcome.left_out_paths.clone();
        left.sort();
        assert_eq!(left, expected, "{outcome:?}");
        assert_eq!((outcome.counts.left_out, outcome.counts.names), (2, 2), "{outcome:?}");
        // The destination's own quarantine is not removed, and no entries of the source are added to it.
        let kept = place.join("to/.lop-quarantine-0/1/0");
        assert_eq!(fs::read_to_string(kept).expect("there"), "of the destination");
        assert!(!place.join("to/d/.lop-quarantine-1000").exists());
    }
    let (from, inside) = (place.path(), place.join("to"));
    let outcome = run(from, &inside, &usual());
    assert!(
        outcome.left_out_paths.contains(&(LeftOut::Destination, b"to".to_vec())),
        "{outcome:?}"
    );
}

#[test]
pub(crate) fn generated_files_of_the_kernel_are_not_copied() {
    let place = TreeBuilder::new().file("a", "a").dir("proc").make_temp();
    let mounted = match Mount::bind("/proc/sys", place.join("proc")) {
        Ok(mounted) => mounted,
        Err(reason) => return skipped(&reason),
    };
    let to = testkit::TempTree::new();
    TreeBuilder::new().file("proc/kept", "k").make(to.path());
    let outcome = run(place.path(), to.path(), &deleting());
    assert_eq!(outcome.left_out_paths, [(LeftOut::Pseudo, b"proc".to_vec())], "{outcome:?}");
    assert_eq!(outcome.counts.names, 2);
    assert!(to.join("proc/kept").exists());
    drop(mounted);
    // If the source itself is on such a file system, its files cannot be copied, because they have no size.
    let from = Path::new("/proc/sys/kernel/random");
    if !from.join("boot_id").exists() {
        return skipped("there is no /proc/sys/kernel/random");
    }
    let outcome = try_mirror(from, to.join("random"), &usual());
    let is_made_up = |problem: &mirror::Problem| match &problem.reason {
        Reason::MadeUp => true,
        Reason::Remote { text, .. } => text.contains("generates"),
        _ => false,
    };
    assert!(outcome.counts.failed > 0 && outcome.counts.files == 0, "{outcome:?}");
    assert!(outcome.problems.iter().any(is_made_up), "{}: {outcome:?}", is_between_hosts());
    assert!(!to.join("random/boot_id").exists());
}

/// On a file system that can show the files of another one, a run creates a marker in the destination. This changes
/// the time of the directory, which does not count as a difference.
#[test]
pub(crate) fn a_second_run_to_an_overlay_has_nothing_to_change() {
    let place = TreeBuilder::new().file("from/d/a", "a").dir("lower").make_temp();
    let mount = match Mount::overlay(&place.join("lower")) {
        Ok(mount) => mount,
        Err(reason) => return skipped(&reason),
    };
    let (from, to) = (place.join("from"), mount.path().join("to"));
    run(&from, &to, &deleting());
    let time = || fs::metadata(&to).and_then(|to| to.modified()).expect("a time");
    let before = time();
    let outcome = run(&from, &to, &deleting());
    assert_eq!((outcome.counts.adjusted, outcome.counts.files), (0, 0), "{outcome:?}");
    assert_eq!(time(), before);
    // Another time of the source is a difference.
    let other = before - Duration::from_secs(60);
    fs::File::open(&from).and_then(|from| from.set_modified(other)).expect("a time");
    let outcome = run(&from, &to, &deleting());
    assert_eq!((outcome.counts.adjusted, outcome.counts.files), (1, 0), "{outcome:?}");
    assert_eq!(time(), other);
}
