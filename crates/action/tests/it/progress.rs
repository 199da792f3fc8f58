//! The progress counters of a run and of its undo. The totals are known in advance, and the counters reach the totals.

#![expect(clippy::disallowed_methods, reason = "tests change the trees they made")]

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use action::plan::{Amount, Kind, Plan};
use action::run::{ApplyOptions, ApplyOutcome, DiskBatch, Runs};
use device::{Disks, Io, Threads};
use runtime::{Progress, Stage};
use testkit::{TreeBuilder, without_forks};

use crate::world::{World, plans};

/// Creates three identical files of 100,000 bytes and two identical files of 30 bytes. One of the
/// large files has two names.
fn world() -> World {
    let tree = TreeBuilder::new()
        .seeded("large 1", 1, 100_000)
        .seeded("large 2", 1, 100_000)
        .seeded("large 3", 1, 100_000)
        .hard_link("large 3", "large 4")
        .seeded("small 1", 2, 30)
        .seeded("small 2", 2, 30);
    World::new(&tree)
}

/// Returns the number of files and bytes done, and their totals.
fn counters(progress: &Progress) -> [(u64, u64); 2] {
    let load = |counter: &AtomicU64| counter.load(Relaxed);
    [
        (load(&progress.files_done), load(&progress.bytes_done)),
        (load(&progress.files_total), load(&progress.bytes_total)),
    ]
}

fn apply(runs: &Runs, kind: Kind, plans: Vec<Plan>) -> (Progress, ApplyOutcome) {
    let _quiet = without_forks();
    let progress = Progress::default();
    plans.iter().map(|plan| plan.amount(kind)).sum::<Amount>().expect(&progress);
    let how = ApplyOptions {
        kind,
        directory_times: false,
        threads: Threads { first: 2, grows: false },
        open_dirs: 8,
        open_files: 64,
        distinct: Vec::new(),
        own: walk::OwnFiles::default(),
    };
    let device = plans[0].keep.stat.device;
    let groups = Box::new(plans.into_iter().map(Into::into));
    let lots = vec![DiskBatch { disk: Disks::new(Io::Cached).of(device), groups }];
    let (_, outcome, ended) = runs.apply(&how, lots, &progress).expect("runs");
    ended.expect("ends");
    (progress, outcome)
}

#[test]
fn the_totals_of_a_run_are_known_in_advance_and_reached() {
    for (kind, bytes) in [
        // The kept file is read too.
        (Kind::Delete, 400_060),
        (Kind::Hardlink, 400_060),
        (Kind::Symlink, 400_060),
        (Kind::Quarantine, 400_060),
        (Kind::Reflink, 300_030),
    ] {
        let world = world();
        let runs = Runs::open(&world.runs, |_| {}).expect("opens");
        let (progress, outcome) = apply(&runs, kind, plans(&world.tree, kind));
        // Some file systems cannot share extents.
        let is_done = outcome.refused.is_empty() || kind == Kind::Reflink;
        assert!(is_done, "{kind:?}: {outcome:?}");
        assert_eq!(counters(&progress), [(4, bytes); 2], "{kind:?}");
        assert_eq!(progress.stage(), Stage::Act);
    }
    let world = world();
    let runs = Runs::open(&world.runs, |_| {}).expect("opens");
    let (progress, _) = apply(&runs, Kind::Separate, plans(&world.tree, Kind::Separate));
    assert_eq!(counters(&progress), [(1, 100_000); 2]);
}

#[test]
fn refused_files_count_as_processed() {
    for gone in ["large 1", "large 2", "small 2"] {
        let world = world();
        let runs = Runs::open(&world.runs, |_| {}).expect("opens");
        let plans = plans(&world.tree, Kind::Hardlink);
        fs::remove_file(world.tree.join(gone)).expect("removed");
        let (progress, outcome) = apply(&runs, Kind::Hardlink, plans);
        assert!(!outcome.refused.is_empty(), "{gone}: {outcome:?}");
        assert_eq!(counters(&progress), [(4, 400_060); 2], "{gone}");
    }
}

#[test]
fn the_totals_of_an_undo_are_known_in_advance_and_reached() {
    for (kind, bytes) in [
        // If a file had two names, one name is restored as a copy, and the other name as a link to that copy.
        (Kind::Delete, 200_030),
        (Kind::Hardlink, 200_030),
        (Kind::Symlink, 200_030),
        (Kind::Quarantine, 0),
        (Kind::Separate, 0),
    ] {
        for keeps in [true, false] {
            let world = world();
            let runs = Runs::open(&world.runs, |_| {}).expect("opens");
            let plans = plans(&world.tree, kind);
            let files = plans.iter().map(|plan| plan.others.len() as u64).sum();
            let (_, outcome) = apply(&runs, kind, plans);
            assert!(outcome.refused.is_empty(), "{kind:?}: {outcome:?}");
            if !keeps {
                fs::remove_file(world.tree.join("large 1")).expect("removed");
            }
            let progress = Progress::default();
            let _quiet = without_forks();
            let undone = runs.undo(None, &[], &progress, |error| panic!("{error}"));
            undone.expect("undoes").2.expect("ends");
            let [done, total] = counters(&progress);
            assert_eq!(total, (files, bytes), "{kind:?}");
            assert!(done.0 == files && done.1 >= bytes, "{kind:?}, {keeps}: {done:?}");
            assert_eq!(progress.stage(), Stage::Restore);
        }
    }
}
