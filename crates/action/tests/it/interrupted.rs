//! Runs that the user interrupts. Their history and their undo cover only the files that they reached.

#![expect(clippy::disallowed_methods, reason = "somebody changes a test's own tree")]

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use action::Reason;
use action::journal::FileState;
use action::plan::Kind;
use action::run::Runs;
use fsops::Lock;
use fsops::faults::{ChangeFault, before_change, was_called};
use runtime::Progress;
use testkit::{TreeBuilder, assert_same};

use crate::child::{Orders, What};
use crate::world::{WHOLE, World, apply_with, odd_tree, plans};

const PAIRS: u64 = 20;

/// Interrupts a run before this change, and then makes the changes that it did not reach by hand. Returns the number of
/// files that the run changed, that it recorded but did not change, and that failed its first checks.
fn undoes_only_its_changes(kind: Kind, change: u64) -> (u64, usize, u64) {
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
    for (_, other) in pairs.iter().skip(4).step_by(5) {
        fs::write(Path::new(OsStr::from_bytes(other)), "changed").expect("written");
    }
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
    let changed =
        outcome.refused.iter().filter(|refusal| matches!(refusal.reason, Reason::Changed));
    assert_eq!(summary.unrecorded, changed.count() as u64, "{:?}", outcome.refused);
    assert_eq!((summary.done, summary.failed), (outcome.done, left as u64 + summary.unrecorded));
    assert_eq!(world.undo().map_or(0, |undone| undone.done), outcome.done);
    (outcome.done, left, summary.unrecorded)
}

/// A run that is interrupted, and whose journal then cannot be written, must not look as if the journal were complete.
#[test]
fn an_interruption_hides_no_error_of_the_journal() {
    let mut hidden = 0;
    let kinds = [(Kind::Delete, 8), (Kind::Delete, 13), (Kind::Hardlink, 8), (Kind::Hardlink, 13)];
    for (kind, stop) in kinds {
        for failing in stop..stop + 12 {
            let world = World::new(&odd_tree());
            let before = world.snapshot();
            let mut orders = Orders::of(&world, What::Apply(kind));
            orders.stopped_at = Some(stop);
            let ended = orders.carry_out(failing, ChangeFault::Fail(28));
            while world.undo().is_some_and(|undone| undone.done > 0) {}
            let same = std::panic::catch_unwind(|| {
                assert_same(&before, &world.snapshot(), WHOLE - testkit::Compare::DIR_MTIMES);
            });
            assert!(same.is_ok(), "{kind:?}, failure at change {failing}: {}", ended.account);
            hidden += u64::from(ended.account.contains("No space left"));
        }
    }
    assert!(hidden > 0, "no write to the journal failed");
}

#[test]
fn an_undo_reverts_only_changes_of_the_interrupted_run() {
    for kind in [Kind::Delete, Kind::Hardlink] {
        let ends: Vec<_> = (1..24).map(|change| undoes_only_its_changes(kind, change)).collect();
        assert!(ends.iter().any(|&(done, left, _)| done > 0 && left > 1), "{kind:?}: {ends:?}");
        assert!(ends.iter().any(|&(_, left, failed)| left > 0 && failed > 0), "{kind:?}: {ends:?}");
    }
}

#[test]
fn a_run_without_an_end_may_be_running_only_while_a_process_holds_the_lock() {
    let world = World::new(&TreeBuilder::new().file("a", "same\n").file("b", "same\n"));
    let first = || Runs::first_that_may_run(&world.runs).expect("listed");
    let before = first();
    assert_eq!(before, 1, "there is no run");
    assert_eq!(world.apply(Kind::Delete).done, 1);
    let journal = world.runs.join("1.jsonl");
    let text = fs::read_to_string(&journal).expect("a journal");
    let run = || Runs::list(&world.runs).expect("listed").remove(0).expect("a run");
    let lock = Lock::take(&world.runs.join("lock"), |_| {}).expect("locked");
    assert!(run().ended_ms.is_some() && !run().may_run(first()), "{text}");
    let end = text.trim_end().rfind('\n').expect("several lines") + 1;
    fs::write(&journal, &text[..end]).expect("written");
    assert!(run().may_run(first()));
    assert!(run().result(true).ends_with(", may still be running"), "{:?}", run());
    drop(lock);
    assert!(!run().may_run(first()));
    assert!(run().result(false).ends_with(", interrupted"), "{:?}", run());
    assert!(run().may_run(before), "the run began after the lock was read");
}
