//! Entries that replace an entry of another kind. A replacement is reported as such, and counted when the new entry
//! gets its final name.

use std::fs;

use mirror::{Action, Change, Options, Outcome};
use testkit::{FileSystem, Mount, TempTree, TreeBuilder, is_root, skipped};

use crate::world::{assert_alike, deleting, mirror_reporting, run, temp_names_in, usual};

/// Creates a source and a destination in which kinds differ: where one has a directory, the other has a file or a link.
fn opposed() -> TempTree {
    TreeBuilder::new()
        .file("from/dir/in", "i")
        .seeded("from/file", 1, 1000)
        .hard_link("from/file", "from/other")
        .symlink("from/link", "x")
        .file("to/dir", "a file, which is lost")
        .file("to/file/precious", "p")
        .file("to/link/precious", "p")
        .make_temp()
}

fn mirrored(place: &TempTree, options: &Options) -> (Outcome, Vec<Change>) {
    let (outcome, mut reported) =
        mirror_reporting(place.join("from"), place.join("to"), None, options);
    reported.sort_by(|one, other| one.path.cmp(&other.path));
    (outcome, reported)
}

fn of<'t>(reported: &'t [Change], path: &str) -> Option<&'t Change> {
    reported
        .iter()
        .find(|change| change.path == path.as_bytes() && change.action != Action::Removed)
}

#[test]
pub(crate) fn a_file_replaced_by_a_directory_is_reported_as_replaced() {
    for options in [usual(), deleting()] {
        let place = opposed();
        for dry_run in [true, false] {
            let (outcome, reported) = mirrored(&place, &Options { dry_run, ..options.clone() });
            let dir = of(&reported, "dir").expect("it is reported");
            assert!(dir.action == Action::Replaced && dir.differences.kind, "{dir:?}");
            assert_eq!(outcome.counts.dirs, 1);
        }
        assert_eq!(fs::read_to_string(place.join("to/dir/in")).expect("there"), "i");
    }
}

#[test]
pub(crate) fn entries_that_stay_are_not_reported_as_replaced() {
    let place = opposed();
    for (dry_run, max_delete) in [(true, 0), (true, 3), (false, 0), (false, 3), (false, 0)] {
        let options = Options { dry_run, max_delete: Some(max_delete), ..deleting() };
        let (outcome, reported) = mirrored(&place, &options);
        assert!(of(&reported, "file").is_none() && of(&reported, "link").is_none(), "{reported:?}");
        assert_eq!(
            (outcome.counts.failed, outcome.counts.removed, outcome.counts.kept),
            (2, 0, 2),
            "{outcome:?}"
        );
        assert_eq!((outcome.counts.linked, outcome.counts.symlinks), (0, 0), "{outcome:?}");
        assert!(temp_names_in(place.join("to")).is_empty());
        assert!(place.join("to/file/precious").exists());
    }
    for dry_run in [true, false] {
        let options = Options { dry_run, max_delete: Some(4), ..deleting() };
        let (outcome, reported) = mirrored(&place, &options);
        let what = |path| of(&reported, path).map(|change| change.action);
        assert_eq!((what("file"), what("link")), (Some(Action::Linked), Some(Action::Replaced)));
        assert_eq!((outcome.counts.failed, outcome.counts.removed), (0, 4), "{outcome:?}");
        assert_eq!(outcome.counts.symlinks, 1, "{outcome:?}");
    }
    assert_alike(place.join("from"), place.join("to"));
}

#[test]
pub(crate) fn a_failed_replacement_leaves_nothing_and_is_not_counted() {
    if !is_root() {
        return skipped("only root can mount directories");
    }
    let place = TreeBuilder::new()
        .seeded("from/a", 1, 1000)
        .symlink("from/b", "a")
        .dir("to/a/mounted")
        .dir("to/b/mounted")
        .dir("elsewhere")
        .make_temp();
    let mount = |at| Mount::bind(place.join("elsewhere"), place.join(at));
    let mounts = (mount("to/a/mounted"), mount("to/b/mounted"));
    let (Ok(one), Ok(other)) = mounts else { return skipped("nothing can be mounted") };
    for _ in 0..2 {
        let (outcome, reported) = mirrored(&place, &deleting());
        assert_eq!(
            (outcome.counts.files, outcome.counts.symlinks, outcome.counts.bytes),
            (0, 0, 0),
            "{outcome:?}"
        );
        assert!(of(&reported, "a").is_none() && of(&reported, "b").is_none(), "{reported:?}");
        assert!(outcome.counts.failed >= 2, "{outcome:?}");
        assert!(temp_names_in(place.join("to")).is_empty());
    }
    drop((one, other));
    run(place.join("from"), place.join("to"), &deleting());
    assert_alike(place.join("from"), place.join("to"));
}

/// This includes file systems that cannot exchange two names in one step.
#[test]
pub(crate) fn a_directory_replaces_a_file_on_every_file_system() {
    let there = match Mount::new(FileSystem::ExFat, 0) {
        Ok(there) => there,
        Err(reason) => return skipped(&reason),
    };
    let place = TreeBuilder::new().file("dir/in", "i").make_temp();
    let to = there.path().join("to");
    TreeBuilder::new().file("dir", "a file").make(&to);
    run(place.path(), &to, &usual());
    assert_eq!(fs::read_to_string(to.join("dir/in")).expect("there"), "i");
    assert!(temp_names_in(&to).is_empty());
}
