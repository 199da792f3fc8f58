//! Sweeps move chosen entries into quarantine and back. An entry that is no longer the chosen one keeps its name.

#![expect(clippy::disallowed_methods, reason = "tests change the trees they made")]

use std::cell::RefCell;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use action::journal::FileState;
use action::plan::Kind;
use action::quarantine::{PurgeOutcome, Quarantine, QuarantinedTree};
use action::run::{ApplyOutcome, Runs};
use action::sweep::{SweepEntry, SweepOptions};
use action::{Error, Reason};
use fsops::faults::{before_change, was_called};
use fsops::{Dir, Stat};
use runtime::Progress;
use testkit::{Compare, FileSystem, Mount, Snapshot, TreeBuilder, assert_same, skipped};
use walk::OwnFiles;

use crate::world::{WHOLE, World};

/// Returns the entry at a path, as a rule would choose it.
pub(crate) fn entry(path: &Path) -> SweepEntry {
    let was = Stat::of_path(path).expect("exists");
    let path = path.as_os_str().as_bytes().to_vec();
    SweepEntry { path, was, rule: "test.rule".into(), files: 3, bytes: 4096 }
}

/// Returns entries of all types in the odd tree: files, hard links, a symbolic link, trees, and a file inside of one
/// of the trees. Leaves out those that are gone.
pub(crate) fn some_entries(tree: &Path) -> Vec<SweepEntry> {
    let names: [&[u8]; 9] = [
        b"alone",
        b"s/1",
        b"h/1",
        b"h/5",
        b"link",
        b"new\nline",
        b"\xff\xfe",
        b"b/deep/er/three",
        b"b/deep",
    ];
    let paths = names.iter().map(|name| tree.join(OsStr::from_bytes(name)));
    paths.filter(|path| path.symlink_metadata().is_ok()).map(|path| entry(&path)).collect()
}

fn options(own: &OwnFiles) -> SweepOptions<'_> {
    SweepOptions { own, open_dirs: 4, directory_times: true, verify_tree: None }
}

/// Carries out a sweep.
pub(crate) fn sweep(runs: &Runs, entries: Vec<SweepEntry>) -> (ApplyOutcome, Result<(), Error>) {
    let own = OwnFiles::default();
    match runs.sweep(&options(&own), entries, &Progress::default()) {
        Ok((_, outcome, ended)) => {
            assert_eq!(outcome.freed, 0);
            (outcome, ended)
        }
        Err(error) => (ApplyOutcome::default(), Err(error)),
    }
}

/// Purges everything in quarantine.
pub(crate) fn purge(world: &World) -> PurgeOutcome {
    let runs = Runs::open(&world.runs, |_| {}).expect("opens");
    let mut remove_tree = |tree: &QuarantinedTree| {
        testkit::remove_tree(Path::new(OsStr::from_bytes(&tree.at))).expect("is removed");
        Ok(())
    };
    let unreadable = |error| panic!("{error}");
    let purged = runs.purge(i64::MAX, &Progress::default(), &mut remove_tree, unreadable);
    let (purged, ended) = purged.expect("begins");
    ended.expect("ends");
    purged
}

fn builder() -> TreeBuilder {
    TreeBuilder::new()
        .file("a/file", "one")
        .mode("a/file", 0o640)
        .xattr("a/file", "user.note", b"mine")
        .symlink("a/link", "../kept")
        .file("a/tree/b/c", "two")
        .file("a/tree/d", "three")
        .mtime("a/tree", 1_000_000_000, 7)
        .mtime("a", 1_100_000_000, 5)
        .file("kept", "four")
}

fn world_with(names: &[&str]) -> (World, Vec<SweepEntry>, Snapshot) {
    let world = World::new(&builder());
    let entries = names.iter().map(|name| entry(&world.tree.join(name))).collect();
    let before = world.snapshot();
    (world, entries, before)
}

fn run(world: &World, entries: Vec<SweepEntry>) -> ApplyOutcome {
    let runs = Runs::open(&world.runs, |_| {}).expect("opens");
    let (outcome, ended) = sweep(&runs, entries);
    ended.expect("ends");
    outcome
}

/// Asserts that the only refusal is for `name`, and returns the reason.
fn only_refusal(world: &World, outcome: &ApplyOutcome, name: &str) -> String {
    let [refusal] = &outcome.refused[..] else { panic!("{outcome:?}") };
    assert_eq!(refusal.path, world.tree.join(name).as_os_str().as_bytes());
    format!("{:?}", refusal.reason)
}

const ALL: [&str; 3] = ["a/file", "a/link", "a/tree"];

#[test]
fn a_file_a_link_and_a_tree_are_moved_and_come_back_identical() {
    let (world, entries, before) = world_with(&ALL);
    let outcome = run(&world, entries);
    assert_eq!((outcome.done, outcome.refused.len()), (3, 0), "{outcome:?}");
    let after = world.snapshot();
    let names: Vec<_> = after.entries.keys().map(|path| path.escape_ascii().to_string()).collect();
    assert_eq!(names, ["", "a", "kept"]);
    let mtime = |path: &str| fs::metadata(world.tree.join(path)).expect("exists").modified().ok();
    assert_eq!(
        mtime("a"),
        Some(std::time::UNIX_EPOCH + std::time::Duration::new(1_100_000_000, 5))
    );
    let undone = world.undo().expect("a run");
    assert_eq!((undone.done, undone.refused.len()), (3, 0), "{undone:?}");
    assert_same(&before, &world.snapshot(), WHOLE - Compare::DIR_MTIMES);
    assert!(
        mtime("a/tree") == Some(std::time::UNIX_EPOCH + std::time::Duration::new(1_000_000_000, 7))
    );
    assert!(world.stores().is_empty());
    assert!(world.undo().is_none(), "nothing is left to undo");
}

#[test]
fn the_quarantine_lists_swept_entries_with_their_rules_and_sums() {
    let (world, entries, _) = world_with(&ALL);
    run(&world, entries);
    let mut files = Runs::quarantined(&world.runs, |error| panic!("{error}")).expect("is listed");
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let found: Vec<_> = files.iter().map(|file| (file.files, file.size)).collect();
    assert_eq!(found, [(None, 3), (None, 7), (Some(3), 4096)]);
    assert!(files.iter().all(|file| file.rule.as_deref() == Some("test.rule")));
    let (summary, actions) = Runs::actions(&world.runs, 1).expect("is read");
    assert_eq!((summary.kind, summary.done, summary.freed), (Kind::Sweep, 3, 0));
    for action in actions {
        let action = action.expect("is read");
        assert_eq!((action.state, action.rule.as_deref()), (FileState::Done, Some("test.rule")));
        assert!(action.kept.is_none());
    }
}

#[test]
fn a_purge_removes_files_links_and_trees_for_good() {
    let (world, entries, _) = world_with(&ALL);
    run(&world, entries);
    let purged = purge(&world);
    assert_eq!((purged.done, purged.refused.len()), (3, 0), "{purged:?}");
    assert!(purged.freed >= 4096);
    assert!(world.stores().is_empty());
    assert!(world.undo().is_none());
    let (summary, _) = Runs::actions(&world.runs, 1).expect("is read");
    assert_eq!(summary.purged, 3);
}

#[test]
fn a_purge_leaves_entries_that_changed_in_quarantine() {
    let (world, entries, _) = world_with(&ALL);
    run(&world, entries);
    let stores = world.stores();
    let [store] = &stores[..] else { panic!("{stores:?}") };
    fs::write(store.join("0"), "written by a program that had it open").expect("written");
    fs::remove_file(store.join("1")).expect("removed");
    fs::create_dir(store.join("1")).expect("replaced");
    let purged = purge(&world);
    assert_eq!((purged.done, purged.refused.len()), (1, 2), "{purged:?}");
    assert!(purged.refused.iter().all(|refusal| matches!(refusal.reason, Reason::Changed)));
    assert!(store.join("0").exists() && store.join("1").exists());
}

#[test]
fn a_tree_that_cannot_be_removed_completely_stays_listed_and_can_be_restored() {
    let (world, entries, _) = world_with(&["a/tree"]);
    run(&world, entries);
    let runs = Runs::open(&world.runs, |_| {}).expect("opens");
    let mut remove_tree = |tree: &QuarantinedTree| {
        fs::remove_file(Path::new(OsStr::from_bytes(&tree.at)).join("d")).expect("removed");
        Err(Reason::Remains { why: "b".into() })
    };
    let purged = runs.purge(i64::MAX, &Progress::default(), &mut remove_tree, |e| panic!("{e}"));
    let purged = purged.expect("begins").0;
    assert_eq!((purged.done, purged.freed, purged.refused.len()), (0, 0, 1), "{purged:?}");
    drop(runs);
    assert_eq!(world.undo().expect("a run").done, 1);
    assert!(world.tree.join("a/tree/b/c").exists());
}

#[test]
fn an_entry_that_changed_after_it_was_chosen_keeps_its_name() {
    type Change = fn(&Path);
    let changes: [(&str, Change, &str); 7] = [
        ("a/file", |path| fs::write(path, "other").expect("written"), "Changed"),
        ("a/file", |path| fs::write(path, "ONE").expect("written"), "Changed"),
        (
            "a/file",
            |path| replace(path, |path| fs::write(path, "one").expect("written")),
            "Swapped",
        ),
        ("a/link", |path| replace(path, |path| symlink("../kept", path).expect("made")), "Swapped"),
        ("a/tree", |path| fs::write(path.join("new"), "").expect("written"), "Changed"),
        ("a/tree", |path| replace(path, |path| fs::create_dir(path).expect("made")), "Swapped"),
        ("a/tree", |path| replace(path, |path| symlink("../a", path).expect("made")), "Swapped"),
    ];
    for (name, change, reason) in changes {
        let (world, entries, _) = world_with(&ALL);
        change(&world.tree.join(name));
        let edited = world.snapshot();
        let outcome = run(&world, entries);
        assert_eq!(outcome.done, 2, "{name}: {outcome:?}");
        assert_eq!(only_refusal(&world, &outcome, name), reason);
        assert_eq!(world.undo().expect("a run").done, 2);
        assert_same(&edited, &world.snapshot(), WHOLE - Compare::DIR_MTIMES);
    }
}

/// Replaces an entry. The old entry is moved away instead of removed, so that its inode number is not reused.
fn replace(path: &Path, make: impl Fn(&Path)) {
    fs::rename(path, path.with_extension("away")).expect("renamed");
    make(path);
}

#[test]
fn a_link_in_the_path_of_the_parent_is_not_followed() {
    let (world, entries, _) = world_with(&["a/file", "kept"]);
    fs::rename(world.tree.join("a"), world.tree.join("real")).expect("renamed");
    symlink("real", world.tree.join("a")).expect("made");
    let outcome = run(&world, entries);
    assert_eq!(outcome.done, 1);
    assert!(only_refusal(&world, &outcome, "a/file").contains("Open"));
    assert!(world.tree.join("real/file").exists());
}

#[test]
fn special_files_are_left_alone() {
    let world = World::new(&TreeBuilder::new().fifo("pipe").socket("socket"));
    let entries = ["pipe", "socket"].map(|name| entry(&world.tree.join(name)));
    let outcome = run(&world, entries.to_vec());
    assert_eq!((outcome.done, outcome.refused.len()), (0, 2));
    assert!(outcome.refused.iter().all(|refusal| matches!(refusal.reason, Reason::Special)));
}

/// Runs a sweep, and lets another program interfere just before change `number`. Returns the outcome, and whether that
/// change was reached.
fn interfere(
    world: &World,
    entries: Vec<SweepEntry>,
    number: u64,
    meddle: impl FnOnce() + 'static,
) -> (ApplyOutcome, bool) {
    let runs = Runs::open(&world.runs, |_| {}).expect("opens");
    before_change(number, meddle);
    let (outcome, ended) = sweep(&runs, entries);
    ended.expect("ends");
    (outcome, was_called())
}

#[test]
fn an_entry_swapped_at_any_moment_is_never_swept() {
    for name in ALL {
        for number in 0.. {
            let (world, entries, _) = world_with(&[name]);
            let path = world.tree.join(name);
            let at = path.clone();
            let (outcome, was_reached) = interfere(&world, entries, number, move || {
                if at.symlink_metadata().is_ok() {
                    fs::rename(&at, at.with_extension("away")).expect("renamed");
                }
                fs::write(&at, "precious").expect("written");
            });
            if !was_reached {
                assert!(number > 5, "{outcome:?}");
                break;
            }
            assert_eq!(fs::read_to_string(&path).ok().as_deref(), Some("precious"), "{number}");
            let is_away = path.with_extension("away").symlink_metadata().is_ok();
            assert_eq!(outcome.done, u64::from(!is_away), "{name} at {number}: {outcome:?}");
        }
    }
}

#[test]
fn nested_entries_are_swept_and_restored_in_either_order() {
    for names in [["a/tree/b/c", "a/tree"], ["a/tree", "a/tree/b/c"]] {
        let (world, entries, before) = world_with(&names);
        let outcome = run(&world, entries);
        let all = names[0] == "a/tree/b/c";
        assert_eq!(outcome.done, if all { 2 } else { 1 }, "{outcome:?}");
        let undone = world.undo().expect("a run");
        assert!(undone.refused.is_empty(), "{undone:?}");
        assert_same(&before, &world.snapshot(), WHOLE - Compare::DIR_MTIMES);
    }
}

#[test]
fn a_tree_is_not_changed_by_entries_that_the_run_itself_took_out_of_it() {
    // With this entry between them, the file and the tree are in different batches.
    let (world, mut entries, before) = world_with(&["a/tree/d", "a/tree/b", "a/tree"]);
    let inside = entry(&world.tree.join("a/tree/b/c"));
    entries.insert(2, inside);
    let outcome = run(&world, entries);
    assert_eq!((outcome.done, outcome.refused.len()), (3, 1), "{outcome:?}");
    assert!(!world.tree.join("a/tree").exists());
    assert!(world.undo().expect("a run").refused.is_empty());
    assert_same(&before, &world.snapshot(), WHOLE - Compare::DIR_MTIMES);
}

#[test]
fn an_undo_of_one_path_restores_only_that_path_and_its_parents() {
    let (world, entries, before) = world_with(&ALL);
    run(&world, entries);
    fs::remove_dir(world.tree.join("a")).expect("is empty");
    let path = world.tree.join("a/tree");
    let runs = Runs::open(&world.runs, |_| {}).expect("opens");
    let undo = |paths: &[PathBuf]| {
        let paths: Vec<_> = paths.iter().map(|path| path.as_os_str().as_bytes().to_vec()).collect();
        runs.undo(None, &paths, &Progress::default(), |e| panic!("{e}")).expect("begins").1.done
    };
    assert_eq!(undo(&[path]), 1);
    assert!(world.tree.join("a/tree/b/c").exists() && !world.tree.join("a/file").exists());
    assert_eq!(undo(&[]), 2);
    let all_but = WHOLE - Compare::DIR_MTIMES - Compare::MODE;
    assert_same(&before, &world.snapshot(), all_but);
}

#[test]
fn an_undo_leaves_a_name_that_is_taken_and_restores_the_rest() {
    let (world, entries, _) = world_with(&ALL);
    run(&world, entries);
    fs::create_dir(world.tree.join("a/tree")).expect("made");
    fs::write(world.tree.join("a/link"), "mine").expect("written");
    let undone = world.undo().expect("a run");
    assert_eq!((undone.done, undone.refused.len()), (1, 2), "{undone:?}");
    assert!(undone.refused.iter().all(|refusal| matches!(refusal.reason, Reason::NameTaken)));
    assert_eq!(fs::read_to_string(world.tree.join("a/link")).expect("is read"), "mine");
    fs::remove_dir(world.tree.join("a/tree")).expect("is empty");
    assert_eq!(world.undo().expect("a run").done, 1);
    assert!(world.tree.join("a/tree/b/c").exists());
}

#[test]
fn an_entry_of_a_tree_waits_until_the_tree_is_restored() {
    let (world, entries, before) = world_with(&["a/tree/d", "a/tree"]);
    assert_eq!(run(&world, entries).done, 2);
    fs::write(world.tree.join("a/tree"), "in the way").expect("written");
    let undone = world.undo().expect("a run");
    assert_eq!((undone.done, undone.refused.len()), (0, 2), "{undone:?}");
    assert!(matches!(undone.refused[1].reason, Reason::InLeftTree), "{undone:?}");
    fs::remove_file(world.tree.join("a/tree")).expect("removed");
    assert_eq!(world.undo().expect("a run").done, 2);
    assert_same(&before, &world.snapshot(), WHOLE - Compare::DIR_MTIMES);
}

#[test]
fn the_quarantine_can_be_restored_without_the_journal() {
    let (world, entries, before) = world_with(&ALL);
    run(&world, entries);
    let outer = world.stores()[0].parent().expect("a parent").to_path_buf();
    testkit::remove_tree(&world.runs).expect("is removed");
    let outer = outer.as_os_str().as_bytes();
    let shelf = Quarantine::open(outer, |error| panic!("{error}")).expect("opens");
    assert!(shelf.list().expect("is listed").iter().all(|file| file.rule.is_some()));
    let (restored, ended) = shelf.restore(&[], &Progress::default()).expect("begins");
    ended.expect("ends");
    assert_eq!((restored.done, restored.refused.len()), (3, 0), "{restored:?}");
    assert_same(&before, &world.snapshot(), WHOLE - Compare::DIR_MTIMES);
}

#[test]
fn own_files_and_trees_that_contain_them_are_left_alone() {
    let (world, entries, before) = world_with(&["a/file", "a/tree"]);
    let own = OwnFiles::new(&[world.tree.join("a/file"), world.tree.join("a/tree/b/c")]);
    let runs = Runs::open(&world.runs, |_| {}).expect("opens");
    let mut entries = entries;
    // Other entries may create a quarantine directory in this folder, which changes it.
    entries.insert(0, entry(&world.folder()));
    let swept = runs.sweep(&options(&own), entries, &Progress::default());
    let outcome = swept.expect("begins").1;
    assert_eq!((outcome.done, outcome.refused.len()), (0, 3), "{outcome:?}");
    assert!(outcome.refused.iter().all(|refusal| matches!(refusal.reason, Reason::OwnFile)));
    assert_same(&before, &world.snapshot(), Compare::ALL);
}

#[test]
fn quarantine_directories_and_trees_with_one_at_the_top_are_left_alone() {
    let tree = TreeBuilder::new().file("a/.lop-quarantine-0/run/1", "").file("a/b", "");
    let world = World::new(&tree);
    let names = ["a/.lop-quarantine-0/run/1", "a/.lop-quarantine-0", "a"];
    let outcome = run(&world, names.map(|name| entry(&world.tree.join(name))).to_vec());
    assert_eq!((outcome.done, outcome.refused.len()), (0, 3), "{outcome:?}");
    assert!(outcome.refused.iter().all(|refusal| matches!(refusal.reason, Reason::InQuarantine)));
}

#[test]
fn a_tree_that_its_caller_rejects_is_left_alone() {
    let (world, entries, before) = world_with(&["a/tree"]);
    let runs = Runs::open(&world.runs, |_| {}).expect("opens");
    let own = OwnFiles::default();
    let verify = |entry: &SweepEntry, tree: &Dir| {
        assert!(entry.is_tree());
        tree.stat_child(c"d").is_err()
    };
    let options = SweepOptions { verify_tree: Some(&verify), ..options(&own) };
    let outcome = runs.sweep(&options, entries, &Progress::default()).expect("begins").1;
    assert!(matches!(outcome.refused[0].reason, Reason::NoMatch), "{outcome:?}");
    assert_same(&before, &world.snapshot(), Compare::ALL);
}

#[test]
fn mount_points_and_trees_around_them_are_left_alone() {
    let mount = match Mount::new(FileSystem::Tmpfs, 1 << 20) {
        Ok(mount) => mount,
        Err(reason) => return skipped(format!("a file system of its own: {reason}")),
    };
    let world = World::new(&TreeBuilder::new().file("kept", ""));
    let point = mount.path().canonicalize().expect("a mount");
    let above = point.parent().expect("a parent").to_path_buf();
    let outcome = run(&world, vec![entry(&above), entry(&point)]);
    assert_eq!((outcome.done, outcome.refused.len()), (0, 2), "{outcome:?}");
    assert!(outcome.refused.iter().all(|refusal| matches!(refusal.reason, Reason::MountPoint)));
}

#[test]
fn an_interrupted_sweep_leaves_the_remaining_entries_alone() {
    let (world, entries, before) = world_with(&ALL);
    let runs = Runs::open(&world.runs, |_| {}).expect("opens");
    let progress = Progress::default();
    let calls = RefCell::new(0);
    let entries = entries.into_iter().inspect(|_| {
        *calls.borrow_mut() += 1;
        progress.stop();
    });
    let own = OwnFiles::default();
    let (_, outcome, ended) = runs.sweep(&options(&own), entries, &progress).expect("begins");
    assert!(matches!(ended, Err(Error::Interrupted(_))), "{ended:?}");
    assert_eq!(outcome.done, 0);
    drop(runs);
    assert!(world.undo().is_none());
    assert_same(&before, &world.snapshot(), Compare::ALL);
}

#[test]
fn a_sweep_and_its_undo_sync_once_per_batch() {
    let tree =
        (0..5000).fold(TreeBuilder::new(), |tree, i| tree.file(format!("d{}/{i}", i % 7), ""));
    let world = World::new(&tree);
    let before = world.snapshot();
    let files = before.entries.iter().filter(|(_, entry)| entry.sha256.is_some());
    let entries: Vec<_> =
        files.map(|(path, _)| entry(&world.tree.join(OsStr::from_bytes(path)))).collect();
    assert_eq!(entries.len(), 5000);
    // Each entry is renamed once. Writing lines, syncing and setting times also count as changes.
    let most = 5000 + 100;
    before_change(most, || {});
    assert_eq!(run(&world, entries).done, 5000);
    assert!(!was_called(), "the sweep made too many changes");
    before_change(most, || {});
    assert_eq!(world.undo().expect("a run").done, 5000);
    assert!(!was_called(), "the undo made too many changes");
    assert_same(&before, &world.snapshot(), WHOLE - Compare::DIR_MTIMES);
}
