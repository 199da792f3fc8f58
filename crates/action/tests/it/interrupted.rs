//! Runs that the user interrupts. Their history and their undo cover only the files that they reached.

#![expect(clippy::disallowed_methods, reason = "somebody changes a test's own tree")]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use action::journal::FileState;
use action::plan::Kind;
use action::run::Runs;
use fsops::faults::{before_change, was_called};
use runtime::Progress;
use testkit::TreeBuilder;

use crate::world::{World, apply_with, plans};

const PAIRS: u64 = 20;

/// Interrupts a run before this change, and then makes the changes that it did not reach by hand. Returns the number of
/// files that the run changed, and of those that it recorded but did not change.
fn undoes_only_its_changes(kind: Kind, change: u64) -> (u64, usize) {
    let pair = |tree: TreeBuilder, i| {
        tree.seeded(format!("a/{i}"), i, 5000).seeded(format!("b/{i}"), i, 5000)
    };
    let world = World::new(&(0..PAIRS).fold(TreeBuilder::new(), pair));
    let plans = plans(&world.tree, kind);
    let pairs: Vec<_> = plans
        .iter()
        .map(|plan| (plan.keep.target.path.clone(), plan.others[0].target.path.clone()))
        .collect();
    let progress = Arc::new(Progress::default());
    let groups = plans.into_iter().map(Into::into).collect();
    let runs = Runs::open(&world.runs, |_| {}).expect("opens");
    let stopped = Arc::clone(&progress);
    before_change(change, move || stopped.stop());
    let (run, outcome, ended) = apply_with(&runs, kind, groups, 1, &progress).expect("begins");
    assert!(was_called() && ended.is_err(), "{ended:?}");
    drop(runs);
    for (kept, other) in &pairs {
        let [kept, other] = [kept, other].map(|path| Path::new(OsStr::from_bytes(path)));
        drop(fs::remove_file(other));
        if kind == Kind::Hardlink {
            fs::hard_link(kept, other).expect("linked");
        }
    }
    let (summary, files) = Runs::actions(&world.runs, run).expect("a run");
    let states: Vec<FileState> = files.map(|file| file.expect("a file").state).collect();
    let left = states.iter().filter(|state| matches!(state, FileState::LeftAlone(_))).count();
    // The run takes a few groups at a time, and the journal has no intents for later groups.
    assert_eq!(states.len() as u64, outcome.done + left as u64, "{states:?}");
    assert_eq!((summary.done, summary.failed), (outcome.done, left as u64));
    assert_eq!(world.undo().map_or(0, |undone| undone.done), outcome.done);
    (outcome.done, left)
}

#[test]
fn an_undo_reverts_only_changes_of_the_interrupted_run() {
    for kind in [Kind::Delete, Kind::Hardlink] {
        let ends: Vec<_> = (1..12).map(|change| undoes_only_its_changes(kind, change)).collect();
        assert!(ends.iter().any(|&(done, left)| done > 0 && left > 1), "{kind:?}: {ends:?}");
    }
}
