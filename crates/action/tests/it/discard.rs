//! Trees that are moved aside: killed or failed at each change, each is whole in one of two places, and the
//! next process knows where.

#![expect(clippy::disallowed_methods, reason = "tests remove what they made")]

use std::ffi::CStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use action::{Discard, Discarded, Error, Reason, Runs, Taken, Tree};
use fsops::Dir;
use fsops::faults::Blow;
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

/// Returns all but `kept`.
pub(crate) fn trees(folder: &Path) -> Vec<Tree> {
    let dir = Dir::open(folder).expect("a folder");
    let tree = |name: &CStr| Tree {
        path: [folder.as_os_str().as_bytes(), b"/", name.to_bytes()].concat(),
        key: dir.stat_child(name).expect("metadata").key(),
    };
    [c"a", c"e", c"f"].map(tree).to_vec()
}

fn take(runs: &Path, run: u64) -> Discard {
    match Discard::take(runs, run).expect("is read") {
        Taken::Ours(discard) => *discard,
        other => panic!("{other:?}"),
    }
}

/// Takes up what there is, and removes it.
fn finish(world: &World) -> usize {
    let mut removed = 0;
    for run in Discard::unfinished(&world.runs).expect("a list") {
        let discard = take(&world.runs, run);
        let (left, unknown) = discard.left().expect("is read");
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
        assert!(discard.end().expect("is noted"));
    }
    removed
}

/// Has a process killed or a call failed at each change; returns how many there were.
fn at_each_change(blow: Blow) -> u64 {
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
    // A journal, a store with its directory, and for each tree a line and a move.
    assert!(at_each_change(Blow::Kill) >= 10);
}

#[test]
fn a_failure_of_any_change_does_so_too() {
    for errno in [ENOSPC, EXDEV] {
        assert!(at_each_change(Blow::Fail(errno)) >= 10);
    }
}

#[test]
fn what_is_no_longer_what_it_was_stays() {
    let world = World::new(&builder());
    let mut trees = trees(&world.tree);
    trees[0].key.inode += 1;
    let (discard, refused) = Discard::begin(&world.runs, &trees).expect("begins");
    let reasons: Vec<_> = refused.iter().map(|refusal| &refusal.reason).collect();
    assert!(matches!(reasons[..], [Reason::Swapped]), "{refused:?}");
    assert!(world.tree.join("a/b/c").exists() && !world.tree.join("e").exists());
    assert_eq!(discard.left().expect("is read").0.len(), 2);
    drop(discard);
    assert_eq!(finish(&world), 2);
}

#[test]
fn one_process_has_a_run_and_others_learn_which() {
    let world = World::new(&builder());
    let (discard, _) = Discard::begin(&world.runs, &trees(&world.tree)).expect("begins");
    let run = discard.run();
    let busy = Discard::take(&world.runs, run).expect("is read");
    assert!(
        matches!(busy, Taken::Busy(Some(process)) if process == std::process::id()),
        "{busy:?}"
    );
    let listed = Discarded::list(&world.runs).expect("a list");
    assert_eq!(listed[0].process, Some(std::process::id()));
    drop(discard);
    assert_eq!(Discarded::list(&world.runs).expect("a list")[0].process, None);
    take(&world.runs, run).note(7, 8, 9).expect("is noted");
    assert_eq!(finish(&world), 3);
    let ended = &Discarded::list(&world.runs).expect("a list")[0];
    assert_eq!((ended.files, ended.dirs, ended.failed), (7, 8, 9));
    assert!(ended.ended_ms.is_some() && ended.trees.len() == 3);
    assert!(matches!(Discard::take(&world.runs, run).expect("is read"), Taken::Over));
    let names: Vec<_> = fs::read_dir(&world.runs).expect("a folder").flatten().collect();
    assert_eq!(names.len(), 1, "no lock is left: {names:?}");
}

#[test]
fn runs_of_both_kinds_have_numbers_of_their_own() {
    let world = World::new(&builder().file("twin", "four"));
    let trees = trees(&world.tree);
    drop(Discard::begin(&world.runs, &trees[..1]).expect("begins"));
    world.apply(action::Kind::Delete);
    drop(Discard::begin(&world.runs, &trees[1..]).expect("begins"));
    let discards = Discarded::list(&world.runs).expect("a list");
    assert_eq!(discards.iter().map(|run| run.run).collect::<Vec<_>>(), [1, 3]);
    assert_eq!(Runs::list(&world.runs).expect("a list")[0].run, 2);
    let runs = Runs::open(&world.runs, |_| {}).expect("opens");
    let undone = runs.undo(Some(1), &fsops::Watch::default());
    assert!(matches!(undone, Err(Error::Final(1))), "{undone:?}");
    assert_eq!(finish(&world), 3);
}

#[test]
fn what_is_on_a_file_system_that_is_not_there_is_not_taken_for_gone() {
    let mount = match Mount::new(FileSystem::Tmpfs, 16 << 20) {
        Ok(mount) => mount,
        Err(reason) => return testkit::skipped(format!("a file system that goes: {reason}")),
    };
    let runs = TempTree::new();
    builder().make(mount.path());
    let point = mount.path().canonicalize().expect("a mount");
    let (discard, refused) = Discard::begin(runs.path(), &trees(&point)).expect("begins");
    assert!(refused.is_empty(), "{refused:?}");
    drop(mount);
    let (left, unknown) = discard.left().expect("is read");
    assert!(left.is_empty() && unknown.len() == 3);
    assert!(matches!(unknown[0].reason, Reason::NotMounted), "{unknown:?}");
    assert!(!discard.end().expect("is looked at"));
}
