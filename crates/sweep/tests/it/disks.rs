//! Every shipped rule set on every disk of `testkit`.
//!
//! The disks were written down independently of the rules. A set must take all junk with its labels
//! and nothing else. The tables below list the exceptions, each with its reason.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::time::Duration;

use sweep::bindings::Context;
use sweep::formats::shipped;
use sweep::preview::Preview;
use sweep::rule::{Risk, Rule};
use testkit::disks::{self, Entry};
use testkit::{Compare, Disk, Mount, Snapshot, TempTree, assert_same, skipped};

use crate::world::{TEN_YEARS, World};

/// The sets, and the labels of the junk that they take.
const SETS: &[(&str, &[&str])] = &[
    ("thumbnails", &["thumbnails"]),
    ("droppings", &["droppings"]),
    ("windows-temp", &["windows-temp", "prefetch"]),
    ("unix-temp", &["temp"]),
    ("browser-caches", &["browser-caches"]),
    ("package-caches", &["package-caches"]),
    ("build-dirs", &["build-dirs"]),
    ("macos-caches", &["mac-caches", "logs"]),
    ("cachedir-tag", &["cachedir-tag"]),
    ("crash-dumps", &["crash-dumps"]),
    ("bins", &["bins"]),
    ("nas", &["nas"]),
    ("windows-setup", &["windows-setup"]),
    (
        "windows-backup",
        &[
            "thumbnails",
            "windows-temp",
            "prefetch",
            "browser-caches",
            "package-caches",
            "crash-dumps",
            "bins",
            "windows-setup",
        ],
    ),
    ("lint", &[]),
];

/// All sets together.
const ALL: &str = "all";

/// Junk that a set leaves: the set, a part of the path, and the reason.
const LEFT: &[(&str, &str, &str)] = &[
    ("package-caches", "/.cargo/git/checkouts/", "a checkout may contain changes"),
    ("windows-backup", "/.cargo/git/checkouts/", "a checkout may contain changes"),
    ("windows-backup", "/Service Worker/", "web applications need it without a network"),
    ("windows-backup", "/Thumbs.db:encryptable", "only a copy of a disk has this name"),
    (ALL, "/.cargo/git/checkouts/", "a checkout may contain changes"),
    ("droppings", "mac_disk/.Trashes/", "the set bins takes it"),
    ("bins", "nas_share/#recycle/", "the set nas takes it"),
    ("bins", "nas_share/@Recycle/", "the set nas takes it"),
    ("build-dirs", "/Xcode/DerivedData/", "the set macos-caches takes it"),
    ("macos-caches", "/Logs/DiagnosticReports/", "the set crash-dumps takes it"),
];

/// Entries without a label of the set that the set takes nevertheless: the set, a part of the path,
/// and the reason. All of these rules have the risk `review`, unless the entry is junk.
const TAKEN: &[(&str, &str, &str)] = &[
    ("droppings", "/._gone.jpg", "rules cannot look for the other file"),
    (ALL, "/._gone.jpg", "rules cannot look for the other file"),
    ("bins", "/.Trash-anna/", "patterns cannot require digits"),
    (ALL, "/.Trash-anna/", "patterns cannot require digits"),
    ("windows-setup", "/Windows.old/", "the user allowed it by name"),
    ("windows-backup", "/Windows.old/", "the user allowed it by name"),
    (ALL, "/Windows.old/", "the user allowed it by name"),
    ("macos-caches", "/Xcode/DerivedData/", "junk with the label build-dirs"),
    ("nas", "nas_share/#recycle/", "junk with the label bins"),
    ("nas", "nas_share/@Recycle/", "junk with the label bins"),
];

fn rules_of(set: &str) -> Vec<Rule> {
    let is_in = |name: &&&str| set == ALL || **name == set;
    let names = shipped::names().iter().filter(is_in);
    names.flat_map(|name| shipped::load(name).expect("a shipped set").rules).collect()
}

fn labels_of(set: &str) -> Vec<&'static str> {
    let sets = SETS.iter().filter(|(name, _)| set == ALL || *name == set);
    sets.flat_map(|(_, labels)| labels.iter().copied()).collect()
}

/// Makes a disk, and looks at it in ten years.
fn made(disk: &Disk) -> World {
    let mut world = World::found(disk.tree().make_in_memory(), &Context::default());
    // As on the NTFS that the tree stands for.
    world.bindings.folds |= disk.name.starts_with("windows");
    world.later = TEN_YEARS;
    world
}

/// Returns what the rules take if the user allows all rules that take nothing otherwise.
fn preview_of_all(world: &mut World, rules: &[Rule]) -> Preview {
    let is_off = |rule: &&Rule| matches!(rule.risk, Risk::Review | Risk::Privacy);
    world.allow = rules.iter().filter(is_off).map(|rule| rule.id.clone()).collect();
    let preview = world.preview(rules);
    assert!(preview.problems.is_empty(), "{:?}", preview.problems);
    preview
}

/// Returns the entries of a disk that are taken by themselves or with a directory above.
fn taken<'d>(disk: &'d Disk, preview: &Preview) -> BTreeSet<&'d str> {
    let matches: HashSet<&[u8]> = preview.matches.iter().map(|found| &found.path[..]).collect();
    let is_taken = |path: &str| {
        let mut ends = path.match_indices('/').map(|(slash, _)| slash).chain([path.len()]);
        ends.any(|end| matches.contains(&path.as_bytes()[..end]))
    };
    disk.entries.iter().map(|entry| entry.path.as_str()).filter(|path| is_taken(path)).collect()
}

/// Returns the entries that the set must not take, or must not leave.
fn mistakes(disk: &Disk, set: &str, preview: &Preview) -> Vec<String> {
    let (labels, taken) = (labels_of(set), taken(disk, preview));
    let is_excused = |list: &[(&str, &str, &str)], path: &str| {
        list.iter().any(|&(of, part, _)| of == set && path.contains(part))
    };
    // The set is for Windows, and takes on other systems what happens to have a Windows name.
    let must_take = set != "windows-backup" || disk.name.starts_with("windows");
    let mut wrong = Vec::new();
    for entry in &disk.entries {
        let Entry { path, what, .. } = entry;
        let is_taken = taken.contains(path.as_str());
        let is_junk = labels.iter().any(|label| entry.has_label(label));
        let shown = format!("{}/{path}", disk.name);
        if is_taken && !is_junk && entry.link().is_none() && !is_excused(TAKEN, &shown) {
            wrong.push(format!("{set} takes {shown}, {what:?}"));
        } else if must_take && is_junk && !is_taken && !is_excused(LEFT, &shown) {
            wrong.push(format!("{set} leaves {shown}, {what:?}"));
        }
    }
    wrong
}

/// Checks each set alone, and all sets together.
fn check(disk: &Disk) {
    let mut world = made(disk);
    let before = Snapshot::of(&world.temp);
    let mut wrong = Vec::new();
    for set in shipped::names().iter().chain(&[ALL]) {
        let rules = rules_of(set);
        let preview = preview_of_all(&mut world, &rules);
        wrong.extend(mistakes(disk, set, &preview));
        for refused in &preview.refused {
            wrong.push(format!("{}: {}", rules[refused.rule].id, refused.reason));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert_same(&before, &Snapshot::of(&world.temp), Compare::ALL);
}

#[test]
fn sets_take_their_junk_from_windows_xp() {
    check(&disks::windows_xp_german());
    check(&disks::windows_xp_english());
}

#[test]
fn sets_take_their_junk_from_windows_2000() {
    check(&disks::windows_2000_from_nt4());
}

#[test]
fn sets_take_their_junk_from_windows_vista() {
    check(&disks::windows_vista());
}

#[test]
fn sets_take_their_junk_from_windows_10() {
    check(&disks::windows_10());
}

#[test]
fn sets_take_their_junk_from_windows_10_with_windows_old() {
    check(&disks::windows_10_with_windows_old());
}

#[test]
fn sets_take_their_junk_from_disks_without_a_system() {
    check(&disks::windows_data_disk());
    check(&disks::nas_share());
}

#[test]
fn sets_take_their_junk_from_linux_and_macos() {
    check(&disks::linux_disk());
    check(&disks::mac_disk());
}

#[test]
fn every_set_is_checked() {
    let names: Vec<&str> = SETS.iter().map(|&(name, _)| name).collect();
    assert_eq!(names, shipped::names());
}

#[test]
fn rules_with_an_age_leave_fresh_entries() {
    let rules = rules_of(ALL);
    for disk in [disks::windows_10(), disks::linux_disk(), disks::mac_disk(), disks::nas_share()] {
        let mut world = made(&disk);
        world.later = Duration::ZERO;
        let preview = preview_of_all(&mut world, &rules);
        let is_aged = |rule: u32| rules[rule as usize].conditions.older.is_some();
        let early = preview.matches.iter().find(|found| is_aged(found.rule));
        assert!(early.is_none(), "{}: {early:?}", disk.name);
        let fresh = disk.entries.iter().filter(|entry| entry.is_fresh);
        assert!(fresh.count() > 0 && preview.matches.len() > 5, "{}", disk.name);
    }
}

/// Junctions in `Windows.old` lead into the live system, so a walk that followed them would take
/// the user's files.
#[test]
fn windows_old_is_taken_without_the_live_system() {
    let disk = disks::windows_10_with_windows_old();
    let mut world = made(&disk);
    let mut rules = rules_of("windows-setup");
    rules.retain(|rule| rule.id == "windows.old");
    let preview = world.preview(&rules);
    assert!(preview.matches.is_empty(), "{preview:?}");
    assert_eq!(preview.refused.len(), 1);
    world.allow.insert("windows.old".into());
    let preview = world.preview(&rules);
    let outside = preview.matches.iter().find(|found| !found.path.starts_with(b"Windows.old/"));
    assert!(outside.is_none(), "{outside:?}");
    let taken = taken(&disk, &preview);
    let in_old = disk.entries.iter().filter(|entry| entry.path.starts_with("Windows.old/"));
    assert_eq!(taken.len(), in_old.clone().count());
    // Links count as files. If one had been followed, there would be more.
    assert_eq!(preview.rules[0].files, in_old.count() as u64);
}

#[test]
fn preview_writes_nothing_to_a_disk_that_is_mounted_for_reading() {
    let (rules, point) = (rules_of(ALL), TempTree::new());
    let mut world = made(&disks::windows_10_with_windows_old());
    let expected = preview_of_all(&mut world, &rules);
    let mount = Mount::bind(&world.temp, &point);
    let mount = match mount.and_then(|mount| mount.remount("bind,ro").map(|()| mount)) {
        Ok(mount) => mount,
        Err(reason) => return skipped(reason),
    };
    fs::write(mount.path().join("x"), "").expect_err("the mount is read-only");
    let found = world.preview_at(mount.path(), &rules);
    assert!(found.problems.is_empty(), "{:?}", found.problems);
    let paths = |preview: &Preview| -> Vec<Vec<u8>> {
        preview.matches.iter().map(|found| found.path.clone()).collect()
    };
    assert_eq!(paths(&found), paths(&expected));
}
