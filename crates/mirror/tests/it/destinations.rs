//! Destinations that differ from the source: they span several devices, store coarse times, or have no room for
//! attributes. Also sources in odd places.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::time::{Duration, SystemTime};

use mirror::{Action, Options, Reason, Refusal, Roots};
use testkit::{Compare, FileSystem, Mount, Snapshot, TempTree, TreeBuilder, assert_same, skipped};

use crate::whole::set_time;
use crate::world::{
    assert_alike, deleting, is_between_hosts, mirror_reporting, run, try_mirror, usual,
};

/// The average length of a year in seconds.
const YEAR: i64 = 31_556_952;

fn mounts<const N: usize>(kind: FileSystem) -> Result<[Mount; N], String> {
    let mounts: Result<Vec<Mount>, String> = (0..N).map(|_| Mount::new(kind, 4 << 20)).collect();
    mounts.map(|mounts| mounts.try_into().expect("so many were made"))
}

#[test]
pub(crate) fn an_inode_number_on_another_device_is_another_file() {
    let [one, two] = match mounts(FileSystem::Tmpfs) {
        Ok(mounts) => mounts,
        Err(reason) => return skipped(&reason),
    };
    let tree = TreeBuilder::new().hard_links("same", &["from/x/a", "from/y/b"]);
    let place = tree.dir("to/x").dir("to/y").make_temp();
    let bound = [("to/x", &one), ("to/y", &two)].map(|(at, mount)| {
        Mount::bind(mount.path(), place.join(at)).expect("it can be mounted again")
    });
    fs::write(place.join("to/x/a"), "same").expect("written");
    fs::write(place.join("to/y/b"), "another").expect("written");
    let inode = |name| place.join(name).metadata().expect("there").ino();
    assert_eq!(inode("to/x/a"), inode("to/y/b"), "the test has to be of equal numbers");
    for name in ["from/x/a", "to/x/a"] {
        set_time(&place.join(name), 1000);
    }
    for checksum in [false, true] {
        run(place.join("from"), place.join("to"), &Options { checksum, ..usual() });
        assert_eq!(fs::read_to_string(place.join("to/y/b")).expect("read"), "same");
    }
    assert_eq!(run(place.join("from"), place.join("to"), &usual()).counts.changes(), 0);
    drop(bound);
}

#[test]
pub(crate) fn times_of_any_year_are_kept() {
    let place = TreeBuilder::new().file("from/a", "a").file("from/b", "aaaa").make_temp();
    let year_2300 = SystemTime::UNIX_EPOCH + Duration::new(10_413_792_000, 7);
    let set = |name: &str, time| {
        let file = fs::File::open(place.join(name)).expect("opened");
        file.set_times(fs::FileTimes::new().set_modified(time).set_accessed(time)).expect("set");
    };
    let time = |name: &str| place.join(name).metadata().and_then(|stat| stat.modified());
    set("from/a", year_2300);
    set("from/b", year_2300);
    if time("from/a").ok() != Some(year_2300) {
        return skipped("the file system cannot store such a time");
    }
    run(place.join("from"), place.join("to"), &usual());
    assert_eq!(time("to/a").expect("there"), year_2300);
    fs::write(place.join("from/b"), "bbbb").expect("written");
    set("from/b", year_2300 + Duration::from_secs(86_400));
    run(place.join("from"), place.join("to"), &usual());
    assert_eq!(fs::read_to_string(place.join("to/b")).expect("read"), "bbbb");
    assert_eq!(run(place.join("from"), place.join("to"), &usual()).counts.changes(), 0);
}

/// On a file system that stores times in whole seconds, a naive comparison would find a difference in each run.
#[test]
pub(crate) fn where_times_are_coarse_nothing_is_copied_again() {
    let small = Mount::with_features(FileSystem::Ext4, 16 << 20, &["-I", "128"]);
    let (small, exact) = match small.and_then(|small| Ok((small, mounts::<1>(FileSystem::Ext4)?))) {
        Ok((small, [exact])) => (small, exact),
        Err(reason) => return skipped(&reason),
    };
    let place = TreeBuilder::new()
        .file("a", "a")
        .file("d/b", "b")
        .hard_link("a", "d/link")
        .mtime("a", 1_000, 123_456_789)
        .mtime("d/b", 1_001, 999_999_999)
        .mtime("d", 1_000, 5)
        .make_temp();
    let to = small.path().join("to");
    run(place.path(), &to, &usual());
    assert_eq!(run(place.path(), &to, &Options { dry_run: true, ..usual() }).counts.changes(), 0);
    let top = to.metadata().expect("there").modified().expect("known");
    let again = run(place.path(), &to, &usual());
    assert_eq!(again.counts.changes(), 0, "{again:?}");
    assert_eq!(to.metadata().expect("there").modified().expect("known"), top);
    // If the destination stores exact times, a rounded time is a different time.
    let to = exact.path().join("to");
    run(place.path(), &to, &usual());
    set_time(&to.join("a"), 1_000);
    for dry_run in [true, false] {
        assert_eq!(run(place.path(), &to, &Options { dry_run, ..usual() }).counts.files, 1);
    }
    assert_alike(place.path(), &to);
}

/// NTFS as it is usually mounted: setting owners and permissions has no effect, and times have a
/// granularity of 100 nanoseconds.
#[test]
pub(crate) fn metadata_that_is_not_kept_is_not_set_in_each_run() {
    let there = match Mount::new(FileSystem::Ntfs, 0) {
        Ok(there) => there,
        Err(reason) => return skipped(&reason),
    };
    let tree =
        TreeBuilder::new().hard_links("linked", &["a", "d/a"]).symlink("l", "a").mode("a", 0o640);
    // An ACL with more entries than the permission bits, as setfacl creates it from "u:1000:r".
    let acl = [
        &[2, 0, 0, 0][..],
        &[1, 0, 6, 0, 255, 255, 255, 255],
        &[2, 0, 4, 0, 232, 3, 0, 0],
        &[4, 0, 4, 0, 255, 255, 255, 255],
        &[16, 0, 4, 0, 255, 255, 255, 255],
        &[32, 0, 0, 0, 255, 255, 255, 255],
    ];
    let acl = acl.concat();
    let tree = tree.file("e/acl", "a").xattr("e/acl", "system.posix_acl_access", &acl);
    let tree = tree.xattr("e", "system.posix_acl_default", &acl);
    // There are many files, so that several workers probe the file system at the same time.
    let files = (0..40).map(|n| format!("d/{n}"));
    let place =
        files.fold(tree, |tree, name| tree.file(&name, "x").mtime(name, 1_000, 123_456_789));
    let (place, to) = (place.make_temp(), there.path().join("to"));
    let first = run(place.path(), &to, &usual());
    assert!(first.counts.no_owners && first.counts.no_modes, "{first:?}");
    let again = run(place.path(), &to, &usual());
    assert_eq!(again.counts.changes(), 0, "{again:?}");
    assert!(again.counts.no_owners && again.counts.no_modes, "{again:?}");
    let kept = Compare::VISIBLE | Compare::LINKS;
    // FUSE may not have removed these names yet.
    let there = Snapshot::without_names(&to, &[".fuse_hidden"]);
    assert_same(&Snapshot::of(place.path()), &there, kept);
}

#[test]
pub(crate) fn a_file_whose_attributes_do_not_fit_is_copied_without_them() {
    let (xfs, ext4) = match (Mount::new(FileSystem::Xfs, 0), Mount::new(FileSystem::Ext4, 0)) {
        (Ok(xfs), Ok(ext4)) => (xfs, ext4),
        (Err(reason), _) | (_, Err(reason)) => return skipped(&reason),
    };
    let from = xfs.path().join("from");
    let value = vec![b'v'; 20_000];
    let large = TreeBuilder::new().file("a", "a").xattr("a", "user.large", &value);
    large.xattr("a", "user.small", b"s").dir("d").xattr("d", "user.large", &value).make(&from);
    let to = ext4.path().join("to");
    for _ in 0..2 {
        let outcome = try_mirror(&from, &to, &usual());
        assert_eq!(
            (outcome.counts.failed, outcome.counts.source_failed),
            (2, false),
            "{outcome:?}"
        );
        for problem in &outcome.problems {
            let op = fsops::Op::SetAttributes;
            assert!(
                matches!(problem.reason, Reason::Destination { op: is, .. } if is == op),
                "{problem:?}"
            );
        }
        assert_eq!(fs::read_to_string(to.join("a")).expect("read"), "a");
        let time = |root: &Path, name| root.join(name).metadata().expect("there").modified().ok();
        assert!(time(&from, "a") == time(&to, "a") && time(&from, "d") == time(&to, "d"));
    }
}

/// A file with two names has metadata that the destination cannot store. Later runs do not copy the file again.
#[test]
pub(crate) fn metadata_that_cannot_be_stored_does_not_cause_a_copy_in_each_run() {
    let (xfs, ext4) = match (Mount::new(FileSystem::Xfs, 0), Mount::new(FileSystem::Ext4, 0)) {
        (Ok(xfs), Ok(ext4)) => (xfs, ext4),
        (Err(reason), _) | (_, Err(reason)) => return skipped(&reason),
    };
    let (from, to) = (xfs.path().join("from"), ext4.path().join("to"));
    let tree = TreeBuilder::new().seeded("a", 1, 100_000).hard_link("a", "d/b");
    tree.xattr("a", "user.large", &vec![b'v'; 20_000]).xattr("a", "user.small", b"s").make(&from);
    let lacks = |outcome: &mirror::Outcome| {
        assert_eq!(
            (outcome.counts.failed, outcome.counts.source_failed),
            (1, false),
            "{outcome:?}"
        );
        let attributes = fsops::Op::SetAttributes;
        let reason = &outcome.problems[0].reason;
        let is_it = matches!(reason, Reason::Destination { op, .. } if *op == attributes);
        assert!(is_it, "{reason:?}");
    };
    let first = try_mirror(&from, &to, &usual());
    lacks(&first);
    assert_eq!(first.counts.files, 1);
    for _ in 0..2 {
        let again = try_mirror(&from, &to, &usual());
        lacks(&again);
        assert_eq!(
            (again.counts.files, again.counts.bytes, again.counts.changes()),
            (0, 0, 0),
            "{again:?}"
        );
    }
    // A backup that links to the previous backup does not copy the file again either.
    let next = ext4.path().join("next");
    let (outcome, _) = mirror_reporting(&from, &next, Some(&to), &usual());
    lacks(&outcome);
    assert_eq!((outcome.counts.files, outcome.counts.linked), (0, 2), "{outcome:?}");
    // Metadata that the destination can store is still set.
    fs::set_permissions(from.join("a"), Permissions::from_mode(0o600)).expect("set");
    let changed = try_mirror(&from, &to, &usual());
    lacks(&changed);
    assert_eq!(changed.counts.files, 1, "{changed:?}");
    assert_eq!(to.join("d/b").metadata().expect("there").permissions().mode() & 0o777, 0o600);
}

#[test]
pub(crate) fn times_that_are_not_kept_are_reported_and_cause_no_copies() {
    let ext4 = Mount::new(FileSystem::Ext4, 0);
    let small = Mount::with_features(FileSystem::Ext4, 16 << 20, &["-I", "128"]);
    let (btrfs, all) = match (Mount::new(FileSystem::Btrfs, 0), ext4, small) {
        (Ok(btrfs), Ok(ext4), Ok(small)) => (btrfs, [(ext4, 2446), (small, 2038)]),
        (Err(reason), ..) | (_, Err(reason), _) | (_, _, Err(reason)) => return skipped(&reason),
    };
    let from = btrfs.path().join("from");
    let tree = TreeBuilder::new()
        .seeded("late", 1, 100_000)
        .seeded("early", 2, 100_000)
        .file("d/in", "i")
        .symlink("link", "x")
        .file("usual", "u");
    let years = [("late", 2500), ("early", 1800), ("d", 2600), ("link", 1700), ("usual", 2000)];
    let timed = |tree: TreeBuilder, (name, year): (&str, i64)| {
        tree.mtime(name, (year - 1970) * YEAR, 123_456_789)
    };
    years.into_iter().fold(tree, timed).make(&from);
    for (there, last) in &all {
        let to = there.path().join("to");
        for round in 0..3 {
            let outcome = run(&from, &to, &usual());
            let year = |time: Option<i64>| time.map(|time| 1970 + time.div_euclid(YEAR));
            let kept = (year(outcome.counts.first_time), year(outcome.counts.last_time));
            assert_eq!(kept, (Some(1901), Some(*last)), "{round}: {outcome:?}");
            let none = round > 0;
            assert_eq!(outcome.counts.changes() == 0, none, "{round}: {outcome:?}");
        }
        // A different time within the supported range still counts as a difference.
        set_time(&to.join("late"), 1_000);
        assert_eq!(run(&from, &to, &usual()).counts.files, 1);
    }
    let to = btrfs.path().join("to");
    let outcome = run(&from, &to, &usual());
    assert_eq!((outcome.counts.first_time, outcome.counts.last_time), (None, None));
    assert_alike(&from, &to);
}

/// The ACLs of a file or directory can be read even if it has more attributes than can be listed.
#[test]
pub(crate) fn a_file_whose_attributes_cannot_be_listed_is_copied_without_them() {
    // The names take 70 KB. Only file systems that store attributes in trees support so many attributes.
    let from = match Mount::new(FileSystem::Xfs, 0) {
        Ok(from) => from,
        Err(reason) => return skipped(&reason),
    };
    let mut tree = TreeBuilder::new().file("a", "a").file("d/b", "b").mode("a", 0o640);
    for number in 0..320 {
        let name = format!("user.{number:0>220}");
        tree = tree.xattr("a", &name, b"").xattr("d", &name, b"");
    }
    let place = TreeBuilder::new().dir("to").make_temp();
    let (from, to) = (from.path().join("from"), place.join("to"));
    tree.make(&from);
    for round in 0..3 {
        let outcome = try_mirror(&from, &to, &deleting());
        assert_eq!(
            (outcome.counts.failed, outcome.counts.source_failed),
            (2, false),
            "{outcome:?}"
        );
        let reported = |problem: &mirror::Problem| matches!(problem.reason, Reason::Attributes);
        assert!(outcome.problems.iter().all(reported), "{outcome:?}");
        assert_eq!(outcome.counts.changes() == 0, round > 0, "{round}: {outcome:?}");
    }
    assert_eq!(fs::read_to_string(to.join("d/b")).expect("there"), "b");
    assert_eq!(to.join("a").metadata().expect("there").permissions().mode() & 0o777, 0o640);
}

#[test]
pub(crate) fn a_dry_run_sees_attributes_of_directories_too() {
    let place = TreeBuilder::new().dir("from/d").dir("to/d").make_temp();
    run(place.join("from"), place.join("to"), &usual());
    TreeBuilder::new().dir("d").xattr("d", "user.x", b"1").make(place.join("other"));
    for name in ["other/d", "other", "from/d", "from", "to/d", "to"] {
        set_time(&place.join(name), 1000);
    }
    for dry_run in [true, false] {
        let options = Options { dry_run, ..usual() };
        let (_, reported) = mirror_reporting(place.join("other"), place.join("to"), None, &options);
        let [change] = reported.as_slice() else { panic!("{reported:?}") };
        assert!(change.action == Action::Adjusted && change.differences.xattrs, "{change:?}");
    }
}

#[test]
pub(crate) fn a_removed_capability_is_removed_from_the_copy() {
    if !testkit::is_root() {
        return skipped("only root can set capabilities");
    }
    // CAP_NET_RAW, effective and permitted, as a `vfs_cap_data` structure (linux/capability.h).
    let mut capability = [0; 20];
    (capability[0], capability[3], capability[5]) = (1, 2, 0x20);
    let plain = TreeBuilder::new().file("a", "a").mtime("a", 1_000, 0).mtime("", 1_000, 0);
    let place = TempTree::new();
    plain.clone().xattr("a", "security.capability", &capability).make(place.join("with"));
    plain.make(place.join("without"));
    for from in ["with", "without", "with"] {
        run(place.join(from), place.join("to"), &usual());
        assert_alike(place.join(from), place.join("to"));
        assert_eq!(run(place.join(from), place.join("to"), &usual()).counts.changes(), 0);
    }
}

#[test]
pub(crate) fn security_labels_of_the_destination_stay_and_are_not_a_difference() {
    if !testkit::is_root() {
        return skipped("only root can label files");
    }
    let (plain, label) = (TreeBuilder::new().file("d/a", "a"), "security.lop-test");
    // On hosts with a security module, the module sets such labels itself.
    let labelled =
        ["d", "d/a"].into_iter().fold(plain.clone(), |t, name| t.xattr(name, label, b"x"));
    let place = TempTree::new();
    for (top, tree) in [("from", plain), ("to", labelled.clone()), ("base", labelled)] {
        let times =
            ["d/a", "d", ""].into_iter().fold(tree, |tree, name| tree.mtime(name, 1_000, 0));
        times.make(place.join(top));
    }
    let (from, to, new) = (place.join("from"), place.join("to"), place.join("new"));
    for dry_run in [true, false] {
        let options = Options { dry_run, ..usual() };
        assert_eq!(run(&from, &to, &options).counts.changes(), 0);
    }
    fs::set_permissions(to.join("d/a"), Permissions::from_mode(0o600)).expect("other rights");
    assert_eq!(run(&from, &to, &usual()).counts.adjusted, 1);
    let (outcome, _) = mirror_reporting(&from, &new, Some(&place.join("base")), &usual());
    assert_eq!((outcome.counts.linked, outcome.counts.files), (1, 0), "{outcome:?}");
    for name in [to.join("d"), to.join("d/a"), new.join("d/a")] {
        let labels = rustix::fs::getxattr(&name, label, &mut [0; 8]);
        assert_eq!(labels, Ok(1), "{name:?}");
    }
}

#[test]
pub(crate) fn further_names_of_an_existing_file_are_linked_to_it() {
    let place = TreeBuilder::new().seeded("from/m", 1, 100_000).make_temp();
    fs::hard_link(place.join("from/m"), place.join("from/n")).expect("linked");
    run(place.join("from"), place.join("to"), &usual());
    for name in 0..30 {
        let name = place.join(format!("from/{}{name}", if name % 2 == 0 { 'a' } else { 'z' }));
        fs::hard_link(place.join("from/m"), name).expect("linked");
    }
    let outcome = run(place.join("from"), place.join("to"), &usual());
    assert_eq!((outcome.counts.files, outcome.counts.linked), (0, 30), "{outcome:?}");
    assert_alike(place.join("from"), place.join("to"));
}

#[test]
fn a_source_that_is_in_the_destination_by_another_mount_is_refused() {
    let place = TreeBuilder::new().file("to/sub/1", "1").dir("by").make_temp();
    let bound = match Mount::bind(place.join("to/sub"), place.join("by")) {
        Ok(bound) => bound,
        Err(reason) => return skipped(&reason),
    };
    let refused = Roots::check(&place.join("by"), &place.join("to"), None, false);
    assert!(matches!(refused, Err(Refusal::SourceInside)), "{refused:?}");
    drop(bound);
}

#[test]
fn the_previous_backup_is_found_before_the_next_one_is_created() {
    let place = TreeBuilder::new().file("from/a", "a").make_temp();
    run(place.join("from"), place.join("monday"), &usual());
    let at = |name: &str| place.join(name);
    let before = Path::new("../monday");
    let roots = Roots::check(&at("from"), &at("tuesday"), Some(before), true);
    assert!(roots.is_ok() && !at("tuesday").exists(), "{roots:?}");
    let nowhere = Roots::check(&at("from"), &at("tuesday"), Some(Path::new("../sunday")), false);
    assert!(matches!(nowhere, Err(Refusal::Base { .. })), "{nowhere:?}");
    assert!(!at("tuesday").exists());
    let (outcome, _) = mirror_reporting(at("from"), at("tuesday"), Some(before), &usual());
    assert_eq!((outcome.counts.linked, outcome.counts.failed), (1, 0));
}

#[test]
pub(crate) fn a_dry_run_counts_deletions_and_does_not_adjust_new_entries() {
    let tree =
        TreeBuilder::new().file("from/a", "a").file("to/gone/b/c", "c").file("to/gone/d", "d");
    let place = tree.make_temp();
    let count = |dry_run| {
        let options = Options { dry_run, ..deleting() };
        run(place.join("from"), place.join("to"), &options).counts.removed
    };
    assert_eq!((count(true), count(false)), (4, 4));
    let new = place.join("new");
    let listed = |dry_run| {
        let options = Options { dry_run, ..usual() };
        mirror_reporting(place.join("from"), &new, None, &options).1.len()
    };
    assert_eq!((listed(true), listed(false)), (1, 1), "from afar: {}", is_between_hosts());
}
