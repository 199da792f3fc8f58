//! Runs that the user interrupts. Their history and their undo cover only the files that they reached.

#![expect(clippy::disallowed_methods, reason = "somebody changes a test's own tree")]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use action::journal::FileState;
use action::plan::Kind;
use action::run::{ApplyOptions, DiskBatch, Runs};
use device::{Disks, Io, Threads};
use fsops::faults::{before_change, was_called};
use runtime::Progress;
use testkit::{TreeBuilder, without_forks};

use crate::world::{World, plans};

const PAIRS: u64 = 20;

/// Interrupts a run before this change, and then makes the changes that it did not reach by hand.
fn undoes_only_its_changes(kind: Kind, change: u64) -> u64 {
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
    let how = ApplyOptions {
        kind,
        directory_times: false,
        threads: Threads { first: 1, grows: false },
        open_dirs: 8,
        open_files: 64,
        distinct: Vec::new(),
        own: walk::OwnFiles::default(),
    };
    let device = plans[0].keep.stat.device;
    let groups = Box::new(plans.into_iter().map(Into::into));
    let batches = vec![DiskBatch { disk: Disks::new(Io::Cached).of(device), groups }];
    let runs = Runs::open(&world.runs, |_| {}).expect("opens");
    let quiet = without_forks();
    let stopped = Arc::clone(&progress);
    before_change(change, move || stopped.stop());
    let (run, outcome, ended) = runs.apply(&how, batches, &progress).expect("begins");
    assert!(was_called() && ended.is_err(), "{ended:?}");
    drop(quiet);
    drop(runs);
    for (kept, other) in &pairs {
        let [kept, other] = [kept, other].map(|path| Path::new(OsStr::from_bytes(path)));
        drop(fs::remove_file(other));
        if kind == Kind::Hardlink {
            fs::hard_link(kept, other).expect("linked");
        }
    }
    let (summary, files) = Runs::actions(&world.runs, run).expect("a run");
    assert_eq!((summary.done, summary.failed), (outcome.done, PAIRS - outcome.done));
    let states: Vec<FileState> = files.map(|file| file.expect("a file").state).collect();
    let left = states.iter().filter(|state| matches!(state, FileState::LeftAlone(_))).count();
    assert_eq!(left as u64, PAIRS - outcome.done, "{states:?}");
    assert_eq!(world.undo().map_or(0, |undone| undone.done), outcome.done);
    outcome.done
}

#[test]
fn an_undo_reverts_only_changes_of_the_interrupted_run() {
    for kind in [Kind::Delete, Kind::Hardlink] {
        let done = [4, 20, 40].map(|change| undoes_only_its_changes(kind, change));
        assert!(done.iter().any(|&done| done > 0), "{kind:?}: {done:?}");
    }
}
