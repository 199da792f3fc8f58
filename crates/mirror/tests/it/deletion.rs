//! Extraneous entries are deleted only with `--delete`, and only up to the permitted number.

use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

use fsops::faults::{Fault, inject};
use mirror::{Options, Reason, Roots};
use runtime::{Progress, Stage};
use testkit::{Compare, Mount, Snapshot, TempTree, TreeBuilder, assert_same, is_root, skipped};

use crate::world::{assert_alike, deleting, globs, run, temp_name_of, try_mirror, usual};

fn two() -> TempTree {
    TreeBuilder::new()
        .file("from/a", "a")
        .file("from/d/b", "b")
        .file("to/a", "old")
        .file("to/extraneous", "s")
        .file("to/d/extraneous", "s")
        .file("to/tree/x/y", "1")
        .file("to/tree/z", "2")
        .fifo("to/d/fifo")
        .make_temp()
}

#[test]
pub(crate) fn nothing_is_removed_without_delete() {
    let place = two();
    let outcome = run(place.join("from"), place.join("to"), &usual());
    assert_eq!((outcome.counts.removed, outcome.counts.kept), (0, 0));
    for path in ["extraneous", "d/extraneous", "tree/x/y", "tree/z", "d/fifo"] {
        assert!(place.join("to").join(path).symlink_metadata().is_ok(), "{path}");
    }
    let outcome = run(place.join("from"), place.join("to"), &deleting());
    // Three single entries, and a directory that contains a file and a directory with one file.
    assert_eq!(outcome.counts.removed, 3 + 4);
    assert_alike(place.join("from"), place.join("to"));
}

#[test]
pub(crate) fn nothing_is_removed_if_it_would_be_more_than_allowed() {
    let place = two();
    let at_most = |most| Options { max_delete: Some(most), ..deleting() };
    for most in [0, 3, 6] {
        let outcome = run(place.join("from"), place.join("to"), &at_most(most));
        assert_eq!((outcome.counts.removed, outcome.counts.kept), (0, 4));
        assert!(place.join("to/tree/x/y").exists() && place.join("to/extraneous").exists());
    }
    let outcome = run(place.join("from"), place.join("to"), &at_most(7));
    assert_eq!((outcome.counts.removed, outcome.counts.kept), (7, 0));
    assert_alike(place.join("from"), place.join("to"));
}

/// A run counts entries before it deletes them, and removes leftovers of a killed run. Neither the counted entries nor
/// the leftovers may appear in the progress.
#[test]
fn progress_counts_removed_entries_once() {
    let place = two();
    let leftover = ".lop-part-17762fddd969a453925d65717ac3eea2-0123456789abcdef";
    fs::create_dir_all(place.join("to").join(leftover).join("half")).expect("made");
    let (options, progress) = (Options { max_delete: Some(7), ..deleting() }, Progress::default());
    let roots = Roots::check(&place.join("from"), &place.join("to"), None, false).expect("checked");
    let (outcome, ended) = mirror::mirror(&roots, &options, &progress, mirror::User::default());
    ended.expect("not interrupted");
    assert_eq!(
        (outcome.counts.removed, outcome.counts.kept, outcome.counts.failed),
        (7, 0, 0),
        "{outcome:?}"
    );
    assert!(!place.join("to").join(leftover).exists());
    // `purge` counts the entries of a tree without its top directory.
    assert_eq!((progress.stage(), progress.removed_done.load(Relaxed)), (Stage::Purge, 6));
    // The names are `a`, `d` and `d/b`.
    assert_eq!(progress.files_done.load(Relaxed), 3);
}

/// The progress must not count entries that are kept because there are more than the limit allows.
#[test]
fn progress_counts_nothing_that_stays() {
    let place = two();
    let (options, progress) = (Options { max_delete: Some(6), ..deleting() }, Progress::default());
    let roots = Roots::check(&place.join("from"), &place.join("to"), None, false).expect("checked");
    let (outcome, _) = mirror::mirror(&roots, &options, &progress, mirror::User::default());
    assert_eq!((outcome.counts.removed, outcome.counts.kept), (0, 4));
    assert_eq!((progress.stage(), progress.removed_done.load(Relaxed)), (Stage::Purge, 0));
}

#[test]
pub(crate) fn a_source_with_nothing_to_mirror_empties_nothing() {
    let place = two();
    let exclude = globs(&["a", "d/"]);
    let options = Options { exclude, allow_empty: false, ..deleting() };
    let outcome = run(place.join("from"), place.join("to"), &options);
    assert_eq!((outcome.counts.removed, outcome.counts.kept), (0, 2));
    assert_eq!(outcome.counts.kept_reason, mirror::KeptReason::SourceEmpty);
    assert!(place.join("to/tree/x/y").exists() && place.join("to/extraneous").exists());
    run(place.join("from"), place.join("to"), &Options { allow_empty: true, ..options });
    assert!(!place.join("to/tree").exists() && place.join("to/a").exists());
}

#[test]
pub(crate) fn nothing_is_removed_if_not_all_of_the_source_was_read() {
    let place = two();
    let fault = |op, name: &str| Fault { op, name_suffix: name.into(), errno: libc::EIO };
    for fault in [fault(fsops::Op::Open, "only-in-this-test"), fault(fsops::Op::List, "bad-dir")] {
        fs::write(place.join("from/only-in-this-test"), "x").expect("written");
        fs::create_dir_all(place.join("from/bad-dir")).expect("made");
        inject(vec![fault.clone()]);
        let outcome = try_mirror(place.join("from"), place.join("to"), &deleting());
        inject(Vec::new());
        assert_eq!(
            (outcome.counts.failed, outcome.counts.removed, outcome.counts.kept),
            (1, 0, 4),
            "{fault:?}"
        );
        assert!(matches!(outcome.problems[0].reason, Reason::Source { .. }));
        assert!(place.join("to/tree/x/y").exists() && place.join("to/extraneous").exists());
        let _gone = fs::remove_file(place.join("to/only-in-this-test"));
    }
    run(place.join("from"), place.join("to"), &deleting());
    assert_alike(place.join("from"), place.join("to"));
}

#[test]
pub(crate) fn left_out_entries_are_not_removed_either() {
    let place = two();
    let options = Options { exclude: globs(&["extraneous", "tree/x/"]), ..deleting() };
    fs::write(place.join("from/extraneous"), "not mirrored").expect("written");
    let before = Snapshot::of(place.join("to/d"));
    let outcome = run(place.join("from"), place.join("to"), &options);
    assert_eq!(fs::read_to_string(place.join("to/extraneous")).expect("there"), "s");
    assert!(place.join("to/d/extraneous").exists());
    assert!(before.get("fifo").is_some() && !place.join("to/d/fifo").exists());
    // The same applies to a directory that is missing in the source.
    assert!(place.join("to/tree/x/y").exists(), "{outcome:?}");
    assert!(!place.join("to/tree/z").exists(), "{outcome:?}");
    let only = Options { include: globs(&["*.txt"]), ..deleting() };
    let place = TreeBuilder::new()
        .file("from/a.txt", "a")
        .file("from/b", "b")
        .file("to/c.txt", "c")
        .file("to/d", "d")
        .file("to/mixed/e.txt", "e")
        .file("to/mixed/f", "f")
        .file("to/text/g.txt", "g")
        .make_temp();
    run(place.join("from"), place.join("to"), &only);
    let names = |name: &str| place.join("to").join(name).exists();
    assert!(names("a.txt") && !names("b") && !names("c.txt") && names("d"));
    assert!(!names("mixed/e.txt") && names("mixed/f") && !names("text"));
}

#[test]
pub(crate) fn a_file_replaces_a_directory_only_with_delete() {
    let place = TreeBuilder::new()
        .file("from/name", "file")
        .hard_link("from/name", "from/other")
        .file("to/name/precious", "p")
        .make_temp();
    let outcome = try_mirror(place.join("from"), place.join("to"), &usual());
    assert_eq!(outcome.counts.failed, 1);
    assert!(matches!(outcome.problems[0].reason, Reason::Obstructed));
    assert!(place.join("to/name/precious").exists());
    let none = Options { max_delete: Some(1), ..deleting() };
    let outcome = try_mirror(place.join("from"), place.join("to"), &none);
    assert_eq!((outcome.counts.failed, outcome.counts.removed), (1, 0));
    assert!(place.join("to/name/precious").exists());
    run(place.join("from"), place.join("to"), &deleting());
    assert_alike(place.join("from"), place.join("to"));
}

/// Mirrors twice, first in a dry run. A single name fails, and the reason must be the same in both runs. Returns that
/// reason.
fn why_it_failed(place: &TempTree, options: &Options) -> Reason {
    let run = |dry_run| {
        let options = Options { dry_run, ..options.clone() };
        try_mirror(place.join("from"), place.join("to"), &options)
    };
    let [dry, mut outcome] = [true, false].map(run);
    assert_eq!((dry.counts.failed, outcome.counts.failed), (1, 1), "{dry:?} {outcome:?}");
    let reason = outcome.problems.remove(0).reason;
    assert_eq!(dry.problems[0].reason.to_string(), reason.to_string());
    reason
}

#[test]
pub(crate) fn a_directory_with_left_out_entries_is_not_replaced() {
    for (pattern, goes) in [("keep", true), ("name/", false), ("name/sub", true)] {
        let place = TreeBuilder::new()
            .file("from/name", "file")
            .hard_link("from/name", "from/other")
            .file("to/name/sub/keep", "precious")
            .file("to/name/extraneous", "s")
            .make_temp();
        let options = Options { exclude: globs(&[pattern]), ..deleting() };
        let reason = why_it_failed(&place, &options);
        assert!(matches!(reason, Reason::HoldsExcluded), "{pattern}: {reason}");
        let there = |name: &str| place.join("to").join(name).exists();
        assert!(there("name/sub/keep") && there("other"), "{pattern}");
        assert_eq!(there("name/extraneous"), !goes, "{pattern}");
        let names = fs::read_dir(place.join("to")).expect("listed").count();
        assert_eq!(names, 2, "nothing temporary stays");
    }
}

#[test]
pub(crate) fn a_left_out_entry_is_not_replaced_by_a_directory() {
    let place = TreeBuilder::new()
        .file("from/name/a.txt", "a")
        .file("from/name/deep/b.txt", "b")
        .file("to/name", "precious")
        .make_temp();
    let options = Options { include: globs(&["*.txt"]), ..usual() };
    let reason = why_it_failed(&place, &options);
    assert!(matches!(reason, Reason::Excluded), "{reason}");
    assert_eq!(fs::read_to_string(place.join("to/name")).expect("there"), "precious");
    let outcome = try_mirror(place.join("from"), place.join("to"), &options);
    assert_eq!((outcome.counts.names, outcome.counts.missing), (4, 3));
    run(place.join("from"), place.join("to"), &usual());
    assert_alike(place.join("from"), place.join("to"));
}

#[test]
pub(crate) fn a_quarantine_directory_is_not_replaced() {
    let place = TreeBuilder::new()
        .file("from/.lop-quarantine-0", "file")
        .file("to/.lop-quarantine-0/1/0", "last")
        .make_temp();
    let reason = why_it_failed(&place, &deleting());
    assert!(matches!(reason, Reason::Unremoved(purge::Reason::Store)), "{reason}");
    assert!(place.join("to/.lop-quarantine-0/1/0").exists());
}

#[test]
pub(crate) fn a_mount_in_the_destination_is_not_emptied() {
    if !is_root() {
        return skipped("only root can mount directories");
    }
    let place = two();
    fs::create_dir(place.join("elsewhere")).expect("made");
    fs::write(place.join("elsewhere/kept"), "k").expect("written");
    fs::create_dir(place.join("to/tree/mounted")).expect("made");
    let mounted = match Mount::bind(place.join("elsewhere"), place.join("to/tree/mounted")) {
        Ok(mounted) => mounted,
        Err(reason) => return skipped(&reason),
    };
    let before = Snapshot::of(place.join("elsewhere"));
    let outcome = try_mirror(place.join("from"), place.join("to"), &deleting());
    assert_eq!(outcome.counts.failed, 1, "{:?}", outcome.problems);
    assert_same(&before, &Snapshot::of(place.join("elsewhere")), Compare::ALL);
    drop(mounted);
    run(place.join("from"), place.join("to"), &deleting());
    assert_alike(place.join("from"), place.join("to"));
}

#[test]
pub(crate) fn leftovers_of_a_killed_run_are_removed_and_lookalikes_stay() {
    let place = two();
    let left = [format!("to/{}", temp_name_of("gone")), format!("to/d/{}", temp_name_of("gone"))];
    fs::write(place.join(&left[0]), "half").expect("written");
    fs::create_dir(place.join(&left[1])).expect("made");
    fs::write(place.join(&left[1]).join("in"), "half").expect("written");
    let part = temp_name_of("gone");
    let checks = [&format!("to/{}", &part[1..]), "to/.lop-part-0123", &format!("to/d/{part}0")];
    for name in checks {
        fs::write(place.join(name), "kept").expect("written");
    }
    let outcome = run(place.join("from"), place.join("to"), &usual());
    assert_eq!(outcome.counts.removed, 0);
    let there = |name: &str| Path::exists(&place.join(name));
    assert!(left.iter().all(|name| !there(name)) && checks.iter().all(|name| there(name)));
}
