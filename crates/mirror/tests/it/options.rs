//! The options of a run.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mirror::{Action, Options, Refusal, Roots};
use runtime::Throttle;
use testkit::{
    Compare, FileSystem, Mount, Snapshot, TempTree, TreeBuilder, assert_same, is_root, skipped,
};

use crate::whole::set_time;
use crate::world::{assert_alike, deleting, everything, mirror_reporting, run, usual};

/// Mirrors, and returns the reported changes in path order.
fn reported(from: &std::path::Path, to: &std::path::Path, options: &Options) -> Vec<String> {
    let (outcome, changes) = crate::world::mirror_reporting(from, to, None, options);
    assert_eq!(outcome.counts.failed, 0, "{:?}", outcome.problems);
    let line = |change: &mirror::Change| {
        let to = change.to.as_deref().map(|to| to.escape_ascii().to_string());
        format!("{} {:?} {to:?}", change.path.escape_ascii(), change.action)
    };
    let mut all: Vec<String> = changes.iter().map(line).collect();
    all.sort();
    all
}

#[test]
pub(crate) fn a_dry_run_reports_what_a_run_does_and_changes_nothing() {
    let place = TempTree::new();
    let (from, to) = (place.join("from"), place.join("to"));
    everything().make(&from);
    let one = Options { threads: crate::world::with(1).threads, ..deleting() };
    let dry = Options { dry_run: true, ..one.clone() };
    let expected = reported(&from, &to, &dry);
    assert!(!to.exists());
    assert_eq!(reported(&from, &to, &one), expected);
    assert!(expected.len() > 100);
    assert_eq!(reported(&from, &to, &dry), Vec::<String>::new());
    fs::write(from.join("d0/s0/f0"), "changed").expect("written");
    fs::remove_file(from.join("z/a2")).expect("removed");
    fs::create_dir_all(to.join("more/of")).expect("made");
    fs::rename(from.join("d1"), from.join("d1 moved")).expect("renamed");
    let before = Snapshot::of(&to);
    let expected = reported(&from, &to, &dry);
    assert_same(&before, &Snapshot::of(&to), Compare::ALL);
    assert_eq!(reported(&from, &to, &one), expected);
    assert_alike(&from, &to);
}

#[test]
pub(crate) fn equal_size_and_time_suffice_without_checksum() {
    let place = TreeBuilder::new().file("from/a", "one").file("to/a", "two").make_temp();
    for side in ["from/a", "to/a"] {
        set_time(&place.join(side), 1000);
    }
    assert_eq!(run(place.join("from"), place.join("to"), &usual()).counts.files, 0);
    assert_eq!(fs::read_to_string(place.join("to/a")).expect("there"), "two");
    let checks = Options { checksum: true, ..usual() };
    assert_eq!(run(place.join("from"), place.join("to"), &checks).counts.files, 1);
    assert_alike(place.join("from"), place.join("to"));
    assert_eq!(run(place.join("from"), place.join("to"), &checks).counts.changes(), 0);
}

#[test]
pub(crate) fn copies_can_be_verified_and_synced() {
    let place = TempTree::new();
    everything().make(place.join("from"));
    // The access time is older than the last change, so reading the copy would update it.
    let large = place.join("from/large");
    let times = fs::FileTimes::new().set_accessed(std::time::UNIX_EPOCH);
    fs::File::open(&large).and_then(|open| open.set_times(times)).expect("set");
    let options = Options { verify: true, fsync: true, ..usual() };
    run(place.join("from"), place.join("to"), &options);
    assert_eq!(place.join("to/large").metadata().expect("there").atime(), 0);
    assert_alike(place.join("from"), place.join("to"));
}

#[test]
pub(crate) fn a_bandwidth_limit_is_kept() {
    let place = TempTree::new();
    let from = place.join("from");
    fs::create_dir(&from).expect("made");
    for name in 0..4 {
        fs::write(from.join(name.to_string()), vec![name; 250_000]).expect("written");
    }
    let rate = std::num::NonZeroU64::new(1_000_000);
    let options = Options { bandwidth: Arc::new(Throttle::new(rate)), ..usual() };
    let start = Instant::now();
    run(&from, place.join("to"), &options);
    // The copy takes one second minus the initial burst that the throttle allows.
    assert!(start.elapsed() > Duration::from_millis(700), "{:?}", start.elapsed());
    assert_alike(&from, place.join("to"));
}

#[test]
pub(crate) fn files_are_linked_to_those_of_the_previous_backup() {
    let place = TempTree::new();
    let (from, monday, tuesday) = (place.join("from"), place.join("monday"), place.join("tuesday"));
    everything().make(&from);
    run(&from, &monday, &usual());
    fs::write(from.join("d0/s0/f0"), "changed").expect("written");
    let before = Snapshot::of(&monday);
    let (outcome, _) = mirror_reporting(&from, &tuesday, Some(&place.join("monday")), &usual());
    assert_eq!((outcome.counts.files, outcome.counts.failed), (1, 0), "{:?}", outcome.problems);
    assert_alike(&from, &tuesday);
    assert_same(&before, &Snapshot::of(&monday), Compare::ALL);
    let inode = |root: &std::path::Path, name| root.join(name).metadata().expect("there").ino();
    assert_eq!(inode(&monday, "large"), inode(&tuesday, "large"));
    assert_ne!(inode(&monday, "d0/s0/f0"), inode(&tuesday, "d0/s0/f0"));
    // The two names of a file become two files with the same content and metadata.
    fs::remove_file(from.join("z/a2")).expect("removed");
    fs::copy(from.join("a1"), from.join("z/a2")).expect("copied");
    set_time(&from.join("a1"), 1000);
    set_time(&from.join("z/a2"), 1000);
    let wednesday = place.join("wednesday");
    let before_that = place.join("before");
    run(&from, &before_that, &usual());
    fs::remove_file(before_that.join("z/a2")).expect("removed");
    fs::hard_link(before_that.join("a1"), before_that.join("z/a2")).expect("linked");
    for checksum in [false, true] {
        let (to, options) = (wednesday.join(checksum.to_string()), Options { checksum, ..usual() });
        fs::create_dir_all(&wednesday).expect("made");
        let (outcome, _) = mirror_reporting(&from, &to, Some(&before_that), &options);
        assert_eq!(outcome.counts.failed, 0, "{:?}", outcome.problems);
        assert_alike(&from, &to);
    }
    run(&from, &tuesday, &usual());
    // The first run has nothing to do. Then a linked file changes, and the change must not affect the other backup.
    let again = |from: &std::path::Path| {
        mirror_reporting(from, &tuesday, Some(std::path::Path::new("../monday")), &usual()).0
    };
    assert_eq!(again(&from).counts.changes(), 0);
    fs::set_permissions(from.join("large"), std::os::unix::fs::PermissionsExt::from_mode(0o600))
        .expect("set");
    assert_eq!(again(&from).counts.failed, 0);
    assert_alike(&from, &tuesday);
    assert_same(&before, &Snapshot::of(&monday), Compare::ALL);
}

#[test]
pub(crate) fn a_base_on_another_file_system_is_not_used() {
    let mount = match Mount::new(FileSystem::Tmpfs, 16 << 20) {
        Ok(mount) => mount,
        Err(reason) => return skipped(&reason),
    };
    let place = TreeBuilder::new().file("from/a", "a").seeded("from/b", 1, 300_000).make_temp();
    run(place.join("from"), mount.path(), &usual());
    let checks = Options { checksum: true, ..usual() };
    for options in [Options { dry_run: true, ..checks.clone() }, checks] {
        let (from, to) = (place.join("from"), place.join("to"));
        let (outcome, _) = mirror_reporting(&from, &to, Some(mount.path()), &options);
        assert_eq!((outcome.counts.files, outcome.counts.linked, outcome.counts.failed), (2, 0, 0));
    }
    assert_alike(place.join("from"), place.join("to"));
}

#[test]
pub(crate) fn mounts_in_the_source_can_be_left_out() {
    if !is_root() {
        return skipped("only root can mount file systems");
    }
    let place = TreeBuilder::new().file("from/a", "a").dir("from/mounted").make_temp();
    let mount = match Mount::new(FileSystem::Tmpfs, 1 << 20) {
        Ok(mount) => mount,
        Err(reason) => return skipped(&reason),
    };
    fs::write(mount.path().join("inside"), "i").expect("written");
    let _bound = match Mount::bind(mount.path(), place.join("from/mounted")) {
        Ok(bound) => bound,
        Err(reason) => return skipped(&reason),
    };
    let within = Options { one_file_system: true, ..deleting() };
    run(place.join("from"), place.join("to"), &within);
    assert_eq!(fs::read_dir(place.join("to/mounted")).expect("made").count(), 0);
    run(place.join("from"), place.join("to"), &usual());
    assert_alike(place.join("from"), place.join("to"));
    // The entry is kept, because it is not known whether it is extraneous.
    run(place.join("from"), place.join("to"), &within);
    assert!(place.join("to/mounted/inside").exists());
}

#[test]
fn pairs_that_would_lose_data_are_refused() {
    let place = TreeBuilder::new().dir("a/b").dir("other").file("file", "f").make_temp();
    let check =
        |from: &str, to: &str| Roots::check(&place.join(from), &place.join(to), None, false);
    assert!(matches!(check("a", "a"), Err(Refusal::Same)));
    assert!(matches!(check("a", "other/../a"), Err(Refusal::Same)));
    assert!(matches!(check("a/b", "a"), Err(Refusal::SourceInside)));
    assert!(matches!(check("missing", "other"), Err(Refusal::Open { .. })));
    assert!(matches!(check("file", "other"), Err(Refusal::Open { .. })));
    assert!(matches!(check("a", "file"), Err(Refusal::Open { .. })));
    assert!(matches!(check("a", "missing/too"), Err(Refusal::Create { .. })));
    let held = check("a", "other").expect("may be mirrored");
    assert!(matches!(check("a", "other"), Err(Refusal::Locked)));
    drop(held);
    assert!(check("a", "other").is_ok());
    fs::create_dir(place.join(".lop-quarantine-0")).expect("made");
    assert!(matches!(check("a", ".lop-quarantine-0"), Err(Refusal::Quarantine)));
}

/// A user who can create a link in the path of the destination must not be able to redirect what root writes.
#[test]
fn a_link_of_another_user_does_not_choose_where_to_write() {
    if !testkit::is_root() {
        return testkit::skipped("only root can create links of other users");
    }
    let place = TreeBuilder::new()
        .file("from/a", "a")
        .dir("secret/in")
        .symlink("theirs", "secret")
        .owner("theirs", 4711, 4711)
        .symlink("mine", "secret")
        .make_temp();
    let check = |to: &str, base: Option<&str>, dry_run| {
        let base = base.map(|base| place.join(base));
        Roots::check(&place.join("from"), &place.join(to), base.as_deref(), dry_run)
    };
    for dry_run in [true, false] {
        for (to, base) in [
            ("theirs", None),
            ("theirs/in", None),
            ("theirs/new", None),
            ("secret", Some("theirs")),
            ("secret", Some("theirs/in")),
        ] {
            let refused = check(to, base, dry_run);
            let is_it = matches!(&refused, Err(Refusal::ForeignLink { owner: 4711, .. }));
            assert!(is_it, "{to} {base:?}: {refused:?}");
        }
    }
    assert!(!place.join("secret/new").exists());
    assert!(check("mine/new", Some("mine/in"), false).is_ok() && place.join("secret/new").exists());
    // The path of a tree that is only read may contain such a link.
    assert!(Roots::check(&place.join("theirs"), &place.join("to"), None, true).is_ok());
}

#[test]
pub(crate) fn a_destination_inside_the_source_is_not_mirrored_into_itself() {
    let place = TreeBuilder::new().file("a", "a").file("d/b", "b").dir("d/backup").make_temp();
    for _ in 0..2 {
        let outcome = run(place.path(), place.join("d/backup"), &deleting());
        assert_eq!(outcome.counts.left_out, 1);
        let all = Snapshot::of(place.join("d/backup"));
        assert_eq!(all.entries.len(), 4, "{:?}", all.entries.keys());
    }
}

#[test]
pub(crate) fn changes_say_what_they_are() {
    let place = TreeBuilder::new()
        .file("from/new", "n")
        .hard_link("from/new", "from/to be linked")
        .file("to/gone", "g")
        .make_temp();
    let lines = reported(&place.join("from"), &place.join("to"), &deleting());
    let expected = [
        format!("gone {:?} None", Action::Removed),
        format!("new {:?} None", Action::New),
        format!("to be linked {:?} Some(\"new\")", Action::Linked),
    ];
    let other = [
        expected[0].clone(),
        format!("new {:?} Some(\"to be linked\")", Action::Linked),
        format!("to be linked {:?} None", Action::New),
    ];
    let of_names: Vec<_> = lines.into_iter().filter(|line| !line.starts_with(' ')).collect();
    assert!(of_names == expected || of_names == other, "{of_names:?}");
}
