//! `lop sweep` on a whole disk with Windows 10 and an earlier Windows: preview, run, undo, and runs
//! that somebody disturbs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::Value;
use sweep::formats::shipped;
use testkit::{
    Calls, Compare, Disk, Ending, FileSystem, Mount, NOBODY, Output, ReparsePoint, Signal,
    Snapshot, Strace, TreeBuilder, When, assert_contents_kept, assert_same, at_random_moments,
    disks, kill_after, make_reparse_points, skipped,
};

use crate::lop::{Lop, document, settle};

/// The rule set that the tests use.
const SET: &str = "windows-backup";

/// The cache of a browser with many entries. The set takes what is in it.
const CACHE: &str = "Users/anna/AppData/Local/Google/Chrome/User Data/Default/Cache";

fn disk() -> Disk {
    disks::windows_10_with_windows_old()
}

/// Returns the program beside the disk `c`.
fn lop() -> Lop {
    let lop = Lop::new();
    disk().tree().make(lop.path("c"));
    settle();
    lop
}

/// Returns the arguments that allow all rules of the set.
fn allowed() -> Vec<String> {
    let rules = shipped::load(SET).expect("a shipped set").rules;
    let ids = rules.into_iter().map(|rule| ["--allow".to_string(), rule.id]);
    ids.flatten().collect()
}

fn sweep(lop: &Lop, target: &Path, args: &[&str]) -> Output {
    let command = lop.command().args(["sweep", "--rules", SET]).args(allowed());
    command.arg(target).args(args).run()
}

/// Returns the paths of the matches relative to the target. Nothing is changed.
fn planned(lop: &Lop, target: &Path) -> BTreeSet<Vec<u8>> {
    let before = Snapshot::of(target);
    let output = sweep(lop, target, &["--json", "--list"]);
    output.success();
    assert_same(&before, &Snapshot::of(target), Compare::ALL);
    let found = document(&output);
    let prefix = format!("{}/", target.display());
    let path = |one: &Value| {
        let path = one["path"].as_str().expect("a path");
        path.strip_prefix(&prefix).unwrap_or_else(|| panic!("{path}")).as_bytes().to_vec()
    };
    let paths: BTreeSet<_> =
        found["matches"].as_array().expect("matches").iter().map(path).collect();
    assert!(paths.len() > 50, "{paths:?}");
    paths
}

/// Returns a snapshot without the given paths, and without everything below them.
fn without(before: &Snapshot, paths: &BTreeSet<Vec<u8>>) -> Snapshot {
    let is_taken = |path: &[u8]| {
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        let mut ends = slashes.map(|(at, _)| at).chain([path.len()]);
        ends.any(|end| paths.contains(&path[..end]))
    };
    let kept = before.entries.iter().filter(|(path, _)| !is_taken(path));
    let entries: BTreeMap<_, _> = kept.map(|(path, entry)| (path.clone(), entry.clone())).collect();
    Snapshot { entries }
}

/// Everything but the modification times of directories.
fn but_dir_times() -> Compare {
    Compare::ALL - Compare::DIR_MTIMES
}

/// Asserts that every entry is where it was.
#[track_caller]
fn assert_undone(lop: &Lop, before: &Snapshot, target: &Path) {
    let output = lop.run(["undo"]);
    assert!(matches!(output.ending, Ending::Code(0)), "{}", output.stderr_str());
    assert_same(before, &Snapshot::of(target), but_dir_times());
}

#[test]
fn apply_takes_exactly_what_the_preview_lists_and_undo_brings_it_back() {
    let lop = lop();
    let c = lop.path("c");
    let (before, plan) = (Snapshot::of(&c), planned(&lop, &c));
    sweep(&lop, &c, &["--apply"]).success();
    let after = Snapshot::of(&c);
    assert_same(&without(&before, &plan), &after, but_dir_times());
    for entry in disk().precious().filter(|entry| !entry.path.starts_with("Windows.old/")) {
        assert!(after.get(&entry.path).is_some(), "{}", entry.path);
    }
    let run = lop.json(["history", "1"]);
    let swept = run["files"].as_array().expect("files").len();
    assert_eq!(swept, plan.len());
    let listed = lop.run(["quarantine", "list"]);
    listed.success();
    assert_eq!(listed.stdout_str().lines().filter(|line| line.contains("/c/")).count(), plan.len());
    assert_undone(&lop, &before, &c);
    // Another run, of which one entry is restored and the rest is freed.
    sweep(&lop, &c, &["--apply"]).success();
    let one = lop.path("c").join("Windows.old/Windows");
    lop.command().args(["quarantine", "restore"]).arg(&one).run().success();
    assert!(one.join("System32/config/SOFTWARE").exists());
    lop.run(["quarantine", "purge", "--older-than", "0s"]).success();
    let mut plan = plan;
    assert!(plan.remove(&b"Windows.old/Windows"[..]));
    assert_same(&without(&before, &plan), &Snapshot::of(&c), but_dir_times());
    assert!(testkit::stores(&lop.runs()).is_empty());
}

#[test]
fn delete_removes_exactly_what_the_preview_lists() {
    let lop = lop();
    let c = lop.path("c");
    let (before, plan) = (Snapshot::of(&c), planned(&lop, &c));
    sweep(&lop, &c, &["--delete"]).success();
    assert_same(&without(&before, &plan), &Snapshot::of(&c), but_dir_times());
    assert!(!lop.runs().exists(), "nothing can be undone");
}

/// Undoes what a disturbed run did, if it did anything, and asserts that nothing is lost.
#[track_caller]
fn recover(lop: &Lop, before: &Snapshot, target: &Path) {
    let stores: Vec<Snapshot> = testkit::stores(&lop.runs()).iter().map(Snapshot::of).collect();
    let now = Snapshot::of(target);
    assert_contents_kept(before, &[&[&now][..], &stores.iter().collect::<Vec<_>>()].concat());
    let undone = lop.run(["undo"]);
    if !matches!(undone.ending, Ending::Code(0)) {
        // The run ended before its first change.
        assert_same(before, &now, but_dir_times());
    }
    assert_same(before, &Snapshot::of(target), but_dir_times());
}

#[test]
fn killed_at_any_moment_a_run_can_be_undone() {
    let lop = lop();
    let c = lop.path("c");
    let before = Snapshot::of(&c);
    let command = || {
        let command = lop.command().args(["sweep", "--rules", SET]).args(allowed());
        command.arg(&c).arg("--apply")
    };
    let start = Instant::now();
    command().run().success();
    let whole = start.elapsed();
    assert_undone(&lop, &before, &c);
    at_random_moments(12, 7, whole, |_, delay| {
        let killed = kill_after(&command(), delay);
        recover(&lop, &before, &c);
        killed.fired
    });
}

#[test]
fn killed_before_any_change_of_the_disk_a_run_can_be_undone() {
    let strace = match Strace::find() {
        Ok(strace) => strace,
        Err(reason) => return skipped(reason),
    };
    let lop = lop();
    let c = lop.path("c");
    let before = Snapshot::of(&c);
    let mut fired = 0;
    for (calls, nth) in [
        ("?mkdirat", 1),
        ("?fsync,?fdatasync", 1),
        ("?fsync,?fdatasync", 2),
        ("?fsync,?fdatasync", 3),
        ("?renameat2,?renameat", 1),
        ("?renameat2,?renameat", 2),
        ("?renameat2,?renameat", 30),
    ] {
        let command = lop.command().args(["sweep", "--rules", SET]).args(allowed());
        let command = command.arg(&c).arg("--apply");
        fired += u32::from(strace.kill(command, &Calls::nth(calls, nth)).fired());
        recover(&lop, &before, &c);
    }
    assert!(fired >= 5, "{fired}");
}

#[test]
fn interrupted_by_the_user_a_run_can_be_undone() {
    let lop = lop();
    let c = lop.path("c");
    let before = Snapshot::of(&c);
    let mut interrupted = 0;
    for round in 0..40 {
        let command = lop.command().args(["sweep", "--rules", SET]).args(allowed());
        let delay = Duration::from_millis(5 + 7 * (round % 20));
        let output = command.arg(&c).arg("--apply").signal(Signal::INT, When::After(delay)).run();
        let was_interrupted = matches!(output.ending, Ending::Code(130) | Ending::Signal(_));
        interrupted += u32::from(was_interrupted);
        assert!(was_interrupted || output.ending == Ending::Code(0), "{:?}", output.ending);
        recover(&lop, &before, &c);
        if interrupted >= 5 {
            return;
        }
    }
    panic!("interrupted only {interrupted} times");
}

/// Returns a snapshot without the quarantine, which is in the target if the target is a mount point.
fn taken_from(target: &Path) -> Snapshot {
    Snapshot::except(target, |path| path.starts_with(b".lop-quarantine"))
}

/// Replaces directories of a plan by links, as `swap` does, and carries out the plan. The links lead
/// outside, where everything must stay.
fn carry_out_after(lop: &Lop, target: &Path, swap: impl Fn(&Path, &Path)) {
    let outside = lop.path("outside");
    TreeBuilder::new()
        .file("f_000001", "precious")
        .file("Cache_Data/data_0", "precious")
        .make(&outside);
    let outer = Snapshot::of(&outside);
    sweep(lop, target, &["--plan", "plan"]).success();
    let (cache, reports) = (target.join(CACHE), target.join("Windows.old/Windows"));
    let (away, others) = (target.join("away"), target.join("other"));
    // One link is above entries of the plan, the other takes the place of an entry.
    fs::rename(&cache, &away).expect("renamed");
    fs::rename(&reports, &others).expect("renamed");
    swap(&cache, &outside);
    swap(&reports, &outside);
    let before = Snapshot::of(target);
    for how in ["--apply", "--delete"] {
        let output = lop.run(["sweep", "--plan", "plan", how]);
        output.code(3);
        let said = output.stderr_str();
        assert!(said.contains("/Default/Cache/"), "{said}");
        assert!(said.contains("Windows.old/Windows"), "{said}");
        assert_same(&outer, &Snapshot::of(&outside), Compare::ALL);
        let after = taken_from(target);
        for kept in [&cache, &reports, &away, &others] {
            assert!(fs::symlink_metadata(kept).is_ok(), "{}", kept.display());
        }
        assert!(after.get("away/f_000001").is_some() && after.get("other/explorer.exe").is_some());
        if how == "--apply" {
            assert!(after.entries.len() < before.entries.len(), "the rest is taken");
            assert_undone(lop, &before, target);
        }
    }
}

#[test]
fn links_that_replace_directories_of_a_plan_are_refused() {
    let lop = lop();
    carry_out_after(&lop, &lop.path("c"), |link, outside| {
        symlink(outside, link).expect("a link");
    });
}

#[test]
fn junctions_on_ntfs_are_never_followed() {
    let mount = match Mount::new(FileSystem::PrivateNtfs, 64 << 20) {
        Ok(mount) => mount,
        Err(reason) => return skipped(reason),
    };
    disk().make_with_junctions(&mount);
    settle();
    let lop = Lop::new();
    let (before, plan) = (Snapshot::of(&mount), planned(&lop, mount.path()));
    sweep(&lop, mount.path(), &["--apply"]).success();
    let after = taken_from(mount.path());
    assert_same(&without(&before, &plan), &after, Compare::VISIBLE);
    lop.run(["undo"]).success();
    assert_same(&before, &Snapshot::of(&mount), Compare::VISIBLE);
    // The junctions lead to a directory of the same disk, as they did on Windows.
    carry_out_after(&lop, mount.path(), |link, _| {
        let documents = "C:\\Users\\anna\\Documents";
        let point = ReparsePoint::junction(link, documents);
        make_reparse_points(&[point]).expect("a junction");
    });
    let letter = mount.path().join("Users/anna/Documents/letter.docx");
    assert!(letter.exists(), "the target of the junctions is untouched");
}

#[test]
fn without_room_for_the_journal_nothing_changes() {
    let small = match Mount::new(FileSystem::Tmpfs, 1 << 20) {
        Ok(mount) => mount,
        Err(reason) => return skipped(reason),
    };
    let lop = lop();
    let c = lop.path("c");
    let before = Snapshot::of(&c);
    let mut filler = fs::File::create(small.path().join("filler")).expect("made");
    while std::io::Write::write_all(&mut filler, &[7; 4096]).is_ok() {}
    let catalog = small.path().join("lop.db");
    let catalog = catalog.to_str().expect("UTF-8");
    for room in [0, 4096, 16_384, 32_768] {
        let length = filler.metadata().expect("metadata").len();
        filler.set_len(length - room).expect("cut");
        let output = sweep(&lop, &c, &["--apply", "--catalog", catalog]);
        assert!(!matches!(output.ending, Ending::Signal(_)), "{output:?}");
        let runs = small.path().join("lop.db.runs");
        let stores: Vec<Snapshot> = testkit::stores(&runs).iter().map(Snapshot::of).collect();
        let now = Snapshot::of(&c);
        assert_contents_kept(&before, &[&[&now][..], &stores.iter().collect::<Vec<_>>()].concat());
        if output.ending == Ending::Code(0) {
            lop.run(["undo", "--catalog", catalog]).success();
            break;
        }
        assert_same(&before, &now, but_dir_times());
    }
    drop(filler);
    fs::remove_file(small.path().join("filler")).expect("removed");
    drop(lop.run(["undo", "--catalog", catalog]));
    assert_same(&before, &Snapshot::of(&c), but_dir_times());
}

#[test]
fn a_full_disk_can_be_swept() {
    let mount = match Mount::new(FileSystem::Ext4, 32 << 20) {
        Ok(mount) => mount,
        Err(reason) => return skipped(reason),
    };
    disk().tree().make(&mount);
    settle();
    let lop = Lop::new();
    let (before, plan) = (Snapshot::of(&mount), planned(&lop, mount.path()));
    let mut filler = fs::File::create(mount.path().join("filler")).expect("made");
    while std::io::Write::write_all(&mut filler, &[7; 4096]).is_ok() {}
    let now = || Snapshot::except(&mount, |path| path == b"filler");
    let output = sweep(&lop, mount.path(), &["--apply"]);
    let stores: Vec<Snapshot> = testkit::stores(&lop.runs()).iter().map(Snapshot::of).collect();
    assert_contents_kept(&before, &[&[&now()][..], &stores.iter().collect::<Vec<_>>()].concat());
    drop(stores);
    if output.ending == Ending::Code(0) {
        lop.run(["undo"]).success();
    }
    assert_same(&before, &now(), but_dir_times());
    sweep(&lop, mount.path(), &["--delete"]).success();
    assert_same(&without(&before, &plan), &now(), but_dir_times());
}

#[test]
fn another_user_takes_nothing_of_a_disk_that_is_not_theirs() {
    if !testkit::is_root() {
        return skipped("only root can become another user");
    }
    let lop = lop();
    let c = lop.path("c");
    let before = Snapshot::of(&c);
    for how in ["--apply", "--delete"] {
        let command = lop.command().args(["sweep", "--rules", SET]).args(allowed());
        let output = command.arg(&c).arg(how).as_user(NOBODY, NOBODY).run();
        output.code(3);
        assert!(output.stderr_str().contains("Permission denied"), "{}", output.stderr_str());
        assert_same(&before, &Snapshot::of(&c), but_dir_times());
    }
}
