//! Two runs with separate journal directories act on the same tree at the same time, with opposite goals. At least one
//! file of each group remains, and every file that one of the runs restores is complete.

use std::path::{Path, PathBuf};
use std::sync::Barrier;

use action::plan::Kind;
use action::plan::Rule;
use action::run::{ApplyOutcome, Runs};
use testkit::{Snapshot, TreeBuilder, assert_contents_kept, stores};

use crate::world::{World, apply, other_runs, plans_of, undo};

const KINDS: [Kind; 4] = [Kind::Hardlink, Kind::Delete, Kind::Symlink, Kind::Quarantine];

fn tree() -> TreeBuilder {
    let mut tree = TreeBuilder::new();
    for i in 0..40u64 {
        tree = tree.seeded(format!("a/{i}"), i, 500 + i).seeded(format!("b/{i}"), i, 500 + i);
        if i % 3 == 0 {
            tree = tree.hard_link(format!("b/{i}"), format!("a/link {i}"));
        }
        if i % 4 == 0 {
            tree = tree.seeded(format!("c/{i}"), i, 500 + i);
        }
    }
    tree
}

fn judge(before: &Snapshot, tree: &Path, folders: &[PathBuf; 2]) {
    let stores = folders.iter().flat_map(|folder| stores(folder));
    let mut places: Vec<Snapshot> = stores.map(Snapshot::of).collect();
    places.push(Snapshot::of(tree));
    assert_contents_kept(before, &places.iter().collect::<Vec<_>>());
}

/// Starts both runs at the same time and returns their outcomes.
fn at_once(world: &World, folders: &[PathBuf; 2], kinds: [Kind; 2]) -> Vec<ApplyOutcome> {
    let barrier = Barrier::new(2);
    let run = |side: usize| {
        let rule = ["path:**/a/*", "path:**/b/*"][side];
        let rules = [Rule::parse(rule, &[]).expect("a rule")];
        let plans = plans_of(&world.tree, kinds[side], &rules, |_| None);
        let runs = Runs::open(&folders[side], |_| {}).expect("opens");
        barrier.wait();
        let (outcome, ended) = apply(&runs, kinds[side], plans, 2);
        ended.expect("ends");
        outcome
    };
    std::thread::scope(|scope| {
        let sides = [0, 1].map(|side| scope.spawn(move || run(side)));
        sides.map(|side| side.join().expect("does not panic")).into()
    })
}

#[test]
fn two_runs_with_opposite_goals_lose_nothing() {
    let mut met = 0;
    for round in 0..2 {
        for (one, other) in KINDS.iter().flat_map(|one| KINDS.iter().map(move |two| (*one, *two))) {
            let world = World::new(&tree());
            let folders = [world.runs.clone(), other_runs(&world)];
            let before = world.snapshot();
            let outcomes = at_once(&world, &folders, [one, other]);
            judge(&before, &world.tree, &folders);
            met += outcomes.iter().filter(|outcome| !outcome.refused.is_empty()).count();
            // Undoes both runs at the same time, and then one after the other to undo what is left.
            std::thread::scope(|scope| {
                for folder in &folders {
                    scope.spawn(move || undo(folder));
                }
            });
            judge(&before, &world.tree, &folders);
            for folder in folders.iter().cycle().skip(round % 2).take(4) {
                drop(undo(folder));
            }
            judge(&before, &world.tree, &folders);
        }
    }
    assert!(met > 3, "they hardly met: {met}");
}
