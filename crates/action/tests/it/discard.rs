//! Trash runs that are killed or fail at each of their changes. Each tree is then complete, either at its original path
//! or in the trash, and the next process finds it.

#![expect(clippy::disallowed_methods, reason = "tests remove what they made")]

use std::ffi::CStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use action::run::Runs;
use action::trash::{Claim, Started, TrashRun, TrashSummary, Tree};
use action::{Error, Reason};
use fsops::Dir;
use fsops::faults::ChangeFault;
use testkit::{FileSystem, Mount, PathBytes, TempTree, TreeBuilder};

use crate::child::{What, run};
use crate::crash::contents_are_there;
use crate::world::World;

const ENOSPC: i32 = 28;
const EXDEV: i32 = 18;

fn builder() -> TreeBuilder {
    TreeBuilder::new()
        .file("a/b/c", "one")
        .file("a/d", "two")
        .file("e", "three")
        .symlink("f", "a")
        .file("kept", "four")
}

/// Returns all trees except `kept`.
pub(crate) fn trees(folder: &Path) -> Vec<Tree> {
    let dir = Dir::open(folder).expect("a folder");
    let tree = |name: &CStr| Tree {
        path: [folder.as_os_str().as_bytes(), b"/", name.to_bytes()].concat(),
        was: dir.stat_child(name).expect("metadata"),
    };
    [c"a", c"e", c"f"].map(tree).to_vec()
}

fn take(runs: &Path, run: u64) -> TrashRun {
    match TrashRun::claim(runs, run).expect("is read") {
        Claim::Claimed(discard) => *discard,
        other => panic!("{other:?}"),
    }
}

/// Claims all unfinished runs and removes their trees.
pub(crate) fn finish(world: &World) -> usize {
    let mut removed = 0;
    for run in TrashRun::unfinished(&world.runs).expect("a list") {
        // A run that is killed before it begins leaves a lock file behind, but there is nothing to claim.
        let Claim::Claimed(discard) = TrashRun::claim(&world.runs, run).expect("is read") else {
            continue;
        };
        let (left, unknown) = discard.remaining().expect("is read");
        assert!(unknown.is_empty(), "{unknown:?}");
        for tree in left {
            assert!(fs::symlink_metadata(tree.path.to_path()).is_err(), "it is in one place only");
            let at: PathBuf = tree.at.to_path();
            if at.is_dir() && !at.is_symlink() {
                testkit::remove_tree(&at).expect("is removed");
            } else {
                fs::remove_file(at).expect("is removed");
            }
            removed += 1;
        }
        assert!(discard.finish().expect("is recorded"));
    }
    let over = TrashRun::unfinished(&world.runs).expect("a list");
    assert!(over.is_empty(), "{over:?}");
    removed
}

/// Kills a process at each of its changes, or makes each change fail. Returns the number of changes.
fn at_each_change(blow: ChangeFault) -> u64 {
    for number in 1.. {
        let world = World::new(&builder());
        let before = world.snapshot();
        let ended = run(&world.folder(), What::Discard, number, blow);
        contents_are_there(&world, &before, &ended.account);
        let there = trees_there(&world.tree);
        assert_eq!(finish(&world) + there, 3, "{}", ended.account);
        assert!(world.tree.join("kept").exists());
        assert_eq!(trees_there(&world.tree), there, "what was not moved stays");
        let lost: Vec<_> = world.stores().iter().flat_map(fs::read_dir).flatten().collect();
        assert!(lost.is_empty(), "{lost:?} {}", ended.account);
        if !ended.killed && ended.changes.is_some_and(|changes| changes < number) {
            assert_eq!(there, 0, "{}", ended.account);
            return number - 1;
        }
    }
    unreachable!("a run ends")
}

fn trees_there(tree: &Path) -> usize {
    ["a", "e", "f"].iter().filter(|name| tree.join(name).symlink_metadata().is_ok()).count()
}

#[test]
fn a_kill_at_any_change_leaves_each_tree_whole_in_one_known_place() {
    // The run creates a journal, a quarantine directory and a staging directory. For each tree, it writes one journal
    // line and makes one move.
    assert!(at_each_change(ChangeFault::Kill) >= 10);
}

#[test]
fn a_failure_of_any_change_leaves_each_tree_whole_in_one_known_place() {
    for errno in [ENOSPC, EXDEV] {
        assert!(at_each_change(ChangeFault::Fail(errno)) >= 10);
    }
}

#[test]
fn entries_that_changed_since_the_user_chose_them_stay() {
    let world = World::new(&builder());
    let mut trees = trees(&world.tree);
    trees[0].was.inode += 1;
    // Simulates a reused inode number.
    trees[1].was.born_ns += 1;
    let Started { run: discard, refused, moved, .. } =
        TrashRun::begin(&world.runs, &trees).expect("begins");
    assert_eq!(moved, 1);
    let reasons: Vec<_> = refused.iter().map(|refusal| &refusal.reason).collect();
    assert!(matches!(reasons[..], [Reason::Swapped, Reason::Swapped]), "{refused:?}");
    assert!(world.tree.join("a/b/c").exists() && world.tree.join("e").exists());
    assert_eq!(discard.remaining().expect("is read").0.len(), 1);
    drop(discard);
    assert_eq!(finish(&world), 1);
}

#[test]
fn one_process_claims_a_run_and_others_learn_its_number() {
    let world = World::new(&builder());
    let begun = TrashRun::begin(&world.runs, &trees(&world.tree)).expect("begins");
    let discard = begun.run;
    let run = discard.run();
    let busy = TrashRun::claim(&world.runs, run).expect("is read");
    assert!(
        matches!(busy, Claim::Busy(Some(process)) if process == std::process::id()),
        "{busy:?}"
    );
    assert_eq!(listed(&world)[0].process, Some(std::process::id()));
    drop(discard);
    assert_eq!(listed(&world)[0].process, None);
    take(&world.runs, run).note_progress(7, None).expect("is recorded");
    let again = take(&world.runs, run);
    again.note_progress(5, None).expect("is recorded");
    again.note_progress(8, Some(9)).expect("is recorded");
    drop(again);
    assert_eq!(finish(&world), 3);
    let ended = &listed(&world)[0];
    assert_eq!((ended.entries, ended.failed), (15, 9));
    assert!(ended.ended_ms.is_some() && ended.trees.len() == 3);
    assert!(matches!(TrashRun::claim(&world.runs, run).expect("is read"), Claim::Over));
    let names: Vec<_> = fs::read_dir(&world.runs).expect("a folder").flatten().collect();
    assert_eq!(names.len(), 1, "no lock is left: {names:?}");
}

/// Returns the trash runs. All journals must be readable.
fn listed(world: &World) -> Vec<TrashSummary> {
    let runs = TrashSummary::list(&world.runs).expect("a list");
    runs.into_iter().map(|run| run.expect("is read")).collect()
}

#[test]
fn runs_of_both_kinds_share_one_sequence_of_numbers() {
    let world = World::new(&builder().file("twin", "four"));
    let trees = trees(&world.tree);
    drop(TrashRun::begin(&world.runs, &trees[..1]).expect("begins"));
    world.apply(action::plan::Kind::Delete);
    drop(TrashRun::begin(&world.runs, &trees[1..]).expect("begins"));
    let discards = listed(&world);
    assert_eq!(discards.iter().map(|run| run.run).collect::<Vec<_>>(), [1, 3]);
    let files = Runs::list(&world.runs).expect("a list").remove(0);
    assert_eq!(files.expect("is read").run, 2);
    let runs = Runs::open(&world.runs, |_| {}).expect("opens");
    let undone = runs.undo(Some(1), &[], &runtime::Progress::default(), |_| {});
    assert!(matches!(undone, Err(Error::WasPurge(1))), "{undone:?}");
    assert_eq!(finish(&world), 3);
}

#[test]
fn trees_on_an_unmounted_file_system_do_not_count_as_gone() {
    let mount = match Mount::new(FileSystem::Tmpfs, 16 << 20) {
        Ok(mount) => mount,
        Err(reason) => return testkit::skipped(format!("no file system to unmount: {reason}")),
    };
    let runs = TempTree::new();
    builder().make(mount.path());
    let point = mount.path().canonicalize().expect("a mount");
    let begun = TrashRun::begin(runs.path(), &trees(&point)).expect("begins");
    let Started { run: discard, refused, .. } = begun;
    assert!(refused.is_empty(), "{refused:?}");
    drop(mount);
    assert!(discard.find_missing().expect("is checked").is_empty());
    let (left, unknown) = discard.remaining().expect("is read");
    assert!(left.is_empty() && unknown.len() == 3);
    assert!(matches!(unknown[0].reason, Reason::StagingMissing { .. }), "{unknown:?}");
    assert!(!discard.finish().expect("is checked"));
}

/// A missing staging directory does not prove that the tree is gone: the file system with the directory may have been
/// unmounted.
#[test]
fn only_an_empty_staging_directory_proves_that_a_tree_is_gone() {
    let world = World::new(&builder());
    let discard = TrashRun::begin(&world.runs, &trees(&world.tree)).expect("begins").run;
    let store = world.stores().pop().expect("a store");
    let away = store.with_extension("away");
    fs::rename(&store, &away).expect("is moved");
    let (left, unknown) = discard.remaining().expect("is read");
    assert!(left.is_empty() && unknown.len() == 3, "{unknown:?}");
    fs::rename(&away, &store).expect("is moved back");
    drop(discard);
    assert_eq!(finish(&world), 3);
}

#[test]
fn a_journal_cannot_name_directories_that_are_not_staging_directories() {
    let world = World::new(&builder());
    let begun = TrashRun::begin(&world.runs, &trees(&world.tree)).expect("begins");
    let store = world.stores().pop().expect("a store");
    let journal = world.runs.join(format!("{}.purge.jsonl", begun.run.run()));
    let text = fs::read_to_string(&journal).expect("a journal");
    let own = store.to_str().expect("UTF-8");
    let elsewhere = world.tree.join("private");
    fs::create_dir(&elsewhere).expect("is made");
    fs::write(&journal, text.replace(own, elsewhere.to_str().expect("UTF-8"))).expect("written");
    let (left, unknown) = begun.run.remaining().expect("is read");
    assert!(left.is_empty() && unknown.len() == 3, "{unknown:?}");
    fs::write(&journal, text).expect("written");
    drop(begun);
    assert_eq!(finish(&world), 3);
    assert!(elsewhere.exists());
}

#[test]
fn an_entry_moved_by_mistake_is_moved_back_once_its_name_is_free() {
    let world = World::new(&builder());
    let begun = TrashRun::begin(&world.runs, &trees(&world.tree)).expect("begins");
    let run = begun.run.run();
    let store = world.stores().pop().expect("a store");
    // Simulates a process that was killed before it verified the moved entry.
    let journal = world.runs.join(format!("{run}.purge.jsonl"));
    let text = fs::read_to_string(&journal).expect("a journal");
    let lines: Vec<&str> = text.lines().filter(|line| !line.contains(r#""moved""#)).collect();
    fs::write(&journal, lines.join("\n")).expect("written");
    // The new entry may get the inode number of the removed one.
    fs::remove_file(store.join("1")).expect("is removed");
    fs::write(world.tree.join("new"), "somebody's").expect("written");
    fs::rename(world.tree.join("new"), store.join("1")).expect("is moved");
    fs::write(world.tree.join("e"), "in the way").expect("written");
    drop(begun);
    let discard = take(&world.runs, run);
    let (left, unknown) = discard.remaining().expect("is read");
    assert_eq!((left.len(), unknown.len()), (2, 1));
    assert!(matches!(unknown[0].reason, Reason::Stranded { .. }), "{unknown:?}");
    fs::remove_file(world.tree.join("e")).expect("is removed");
    let (_, unknown) = discard.remaining().expect("is read");
    assert!(matches!(unknown[0].reason, Reason::Swapped), "{unknown:?}");
    assert_eq!(fs::read(world.tree.join("e")).expect("is back"), b"somebody's");
    drop(discard);
    assert_eq!(finish(&world), 2);
}

#[test]
fn the_number_of_a_staging_directory_that_cannot_be_made_is_not_reused() {
    let mounts = [(); 2].map(|()| Mount::new(FileSystem::Tmpfs, 16 << 20));
    let [Ok(full), Ok(free)] = mounts else {
        return testkit::skipped("two file systems cannot be mounted");
    };
    let runs = TempTree::new();
    let of = |mount: &Mount| {
        builder().make(mount.path());
        trees(&mount.path().canonicalize().expect("a mount"))
    };
    let all = [of(&full), of(&free)].concat();
    // This directory is not private, so lop refuses to use it.
    let name = format!(".lop-quarantine-{}", fsops::effective_user());
    fs::create_dir(full.path().join(name)).expect("is made");
    let begun = TrashRun::begin(runs.path(), &all).expect("begins");
    assert_eq!((begun.moved, begun.refused.len()), (3, 3), "{:?}", begun.refused);
    assert_eq!(begun.run.remaining().expect("is read").0.len(), 3);
    assert!(!begun.run.finish().expect("is checked"), "they are still there");
}

#[test]
fn a_tree_is_moved_back_only_to_its_former_directory() {
    let world = World::new(&builder());
    let discard = TrashRun::begin(&world.runs, &trees(&world.tree)).expect("begins").run;
    let left = discard.remaining().expect("is read").0;
    let away = world.tree.with_extension("away");
    fs::rename(&world.tree, &away).expect("is moved");
    fs::create_dir(&world.tree).expect("is made");
    assert!(discard.move_back(&left[0]).is_err(), "others may see into this one");
    fs::remove_dir(&world.tree).expect("is empty");
    fs::rename(&away, &world.tree).expect("is moved back");
    discard.move_back(&left[0]).expect("is moved back");
    assert_eq!(fs::read(world.tree.join("a/b/c")).expect("is back"), b"one");
    drop(discard);
    assert_eq!(finish(&world), 2);
    assert!(world.tree.join("a/b/c").exists());
}

#[test]
fn a_run_is_not_over_while_its_staging_directory_has_entries() {
    let world = World::new(&builder());
    let begun = TrashRun::begin(&world.runs, &trees(&world.tree)).expect("begins");
    let run = begun.run.run();
    drop(begun);
    let journal = world.runs.join(format!("{run}.purge.jsonl"));
    let text = fs::read_to_string(&journal).expect("a journal");
    let known = text.lines().filter(|line| !line.contains(r#""n":1"#)).collect::<Vec<_>>();
    fs::write(&journal, known.join("\n")).expect("written");
    let discard = take(&world.runs, run);
    let (left, unknown) = discard.remaining().expect("is read");
    assert_eq!((left.len(), unknown.len()), (2, 1));
    assert!(matches!(unknown[0].reason, Reason::NotInJournal), "{unknown:?}");
    for tree in left {
        let at: PathBuf = tree.at.to_path();
        if at.is_symlink() {
            fs::remove_file(at).expect("is removed");
        } else {
            testkit::remove_tree(&at).expect("is removed");
        }
    }
    assert!(!discard.finish().expect("is checked"));
    fs::write(&journal, text).expect("written");
    assert_eq!(finish(&world), 1);
}
