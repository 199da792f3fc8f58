//! No matter when a run is killed, no content is lost, and each file still has at least one of its names. The next run
//! or an undo completes the work. These tests kill processes at more than 600 points.

use action::plan::Kind;
use action::run::Runs;
use fsops::faults::ChangeFault;
use testkit::{
    FileSystem, Mount, Snapshot, TempTree, TreeBuilder, assert_contents_kept, assert_same, skipped,
};

use crate::child::{What, run};
use crate::world::{WHOLE, World, odd_tree};

const EVERY_KIND: [Kind; 6] =
    [Kind::Hardlink, Kind::Delete, Kind::Symlink, Kind::Quarantine, Kind::Separate, Kind::Sweep];

/// Kills a run at each of its changes, checks the remaining files, undoes the run, and checks
/// again.
fn killed_everywhere(kind: Kind) -> u64 {
    let mut points = 0;
    for number in 0.. {
        let world = World::new(&odd_tree());
        let before = world.snapshot();
        let ended = run(&world.folder(), What::Apply(kind), number, ChangeFault::Kill);
        contents_are_there(&world, &before, &ended.account);
        while world.undo().is_some_and(|undone| undone.done > 0) {}
        assert_same(&before, &world.snapshot(), WHOLE - testkit::Compare::DIR_MTIMES);
        nothing_is_left(&world, number);
        if !ended.killed {
            assert!(ended.changes.expect("runs to the end") <= number);
            break;
        }
        points += 1;
    }
    points
}

/// Kills a run at each of its changes, and starts another run to complete the work.
fn killed_and_run_again(kind: Kind) -> u64 {
    let whole = World::new(&odd_tree());
    let whole_run = whole.apply(kind);
    assert!(whole_run.refused.is_empty(), "{:?}", whole_run.refused);
    let planned = whole_run.done;
    let after = whole.snapshot();
    let mut points = 0;
    for number in 0.. {
        let world = World::new(&odd_tree());
        let before = world.snapshot();
        let ended = run(&world.folder(), What::Apply(kind), number, ChangeFault::Kill);
        let again = world.apply(kind);
        assert!(again.refused.is_empty(), "{:?}", again.refused);
        assert!(again.done <= planned);
        contents_are_there(&world, &before, &ended.account);
        if !kind.fills_quarantine() {
            nothing_is_left(&world, number);
        }
        let what = testkit::Compare::NAMES | testkit::Compare::BYTES | testkit::Compare::LINKS;
        assert_same(&after, &world.snapshot(), what);
        if !ended.killed {
            break;
        }
        points += 1;
    }
    points
}

/// Kills an undo at each of its changes, and repeats the undo until nothing is left to undo.
fn undo_killed_everywhere(kind: Kind) -> u64 {
    let mut points = 0;
    for number in 0.. {
        let world = World::new(&odd_tree());
        let before = world.snapshot();
        world.apply(kind);
        let ended = run(&world.folder(), What::Undo, number, ChangeFault::Kill);
        contents_are_there(&world, &before, &ended.account);
        while let Some(undone) = world.undo() {
            assert!(undone.refused.is_empty(), "at {number}: {:?}", undone.refused);
        }
        assert_same(&before, &world.snapshot(), WHOLE - testkit::Compare::DIR_MTIMES);
        nothing_is_left(&world, number);
        if !ended.killed {
            break;
        }
        points += 1;
    }
    points
}

pub(crate) fn contents_are_there(world: &World, before: &Snapshot, account: &str) {
    let mut places = vec![world.snapshot()];
    places.extend(world.stores().iter().map(Snapshot::of));
    let places: Vec<&Snapshot> = places.iter().collect();
    let kept = std::panic::catch_unwind(|| assert_contents_kept(before, &places));
    assert!(kept.is_ok(), "{account}");
}

/// Asserts that no file is left in a staging directory. Empty directories and manifests may remain.
pub(crate) fn no_file_is_left(world: &World, number: u64) {
    for store in world.stores() {
        let entries = Snapshot::without_names(&store, &["manifest.jsonl"]).entries;
        assert_eq!(entries.len(), 1, "at change {number}: {:?}", entries.keys());
        testkit::remove_tree(&store).expect("is empty");
    }
}

pub(crate) fn nothing_is_left(world: &World, number: u64) {
    let stores = world.stores();
    let left: Vec<String> =
        stores.iter().map(|store| format!("{:?}", Snapshot::of(store).entries.keys())).collect();
    assert!(stores.is_empty(), "at change {number}: {stores:?} {left:?}");
}

#[test]
fn a_hardlink_run_may_be_killed_anywhere() {
    assert!(killed_everywhere(Kind::Hardlink) > 40);
}

#[test]
fn a_delete_run_may_be_killed_anywhere() {
    assert!(killed_everywhere(Kind::Delete) > 33);
}

#[test]
fn a_symlink_run_may_be_killed_anywhere() {
    assert!(killed_everywhere(Kind::Symlink) > 40);
}

#[test]
fn a_quarantine_run_may_be_killed_anywhere() {
    assert!(killed_everywhere(Kind::Quarantine) > 25);
}

#[test]
fn a_sweep_may_be_killed_anywhere() {
    assert!(killed_everywhere(Kind::Sweep) > 20);
}

#[test]
fn a_run_that_separates_names_may_be_killed_anywhere() {
    assert!(killed_everywhere(Kind::Separate) > 39);
}

#[test]
fn the_next_run_finishes_a_killed_run() {
    for kind in EVERY_KIND {
        assert!(killed_and_run_again(kind) > 20);
    }
}

#[test]
fn an_undo_may_be_killed_anywhere() {
    for kind in EVERY_KIND {
        assert!(undo_killed_everywhere(kind) > 13);
    }
}

#[test]
fn no_staging_directory_is_left_by_a_killed_run() {
    let mount = match Mount::new(FileSystem::Tmpfs, 16 << 20) {
        Ok(mount) => mount,
        Err(reason) => return skipped(format!("a file system of its own: {reason}")),
    };
    for what in [What::Apply(Kind::Delete), What::Discard] {
        for number in 0.. {
            let tree = TreeBuilder::new().file("a", "equal").file("e", "equal").symlink("f", "a");
            let world = World::in_home(&tree, TempTree::new_in(&mount));
            let ended = run(&world.folder(), what, number, ChangeFault::Kill);
            drop(Runs::open(&world.runs, |_| {}));
            if what == What::Discard {
                crate::discard::finish(&world);
            }
            let names = std::fs::read_dir(&mount).expect("a directory").flatten();
            let names: Vec<_> = names.map(|name| name.file_name()).collect();
            assert_eq!(names.len(), 1, "{what:?} at {number}: {names:?} {}", ended.account);
            if !ended.killed {
                break;
            }
        }
    }
}
