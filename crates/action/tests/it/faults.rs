//! If any single change of a run fails, no content is lost. The run reports the failure and can be
//! undone.

use action::plan::Kind;
use fsops::faults::ChangeFault;
use testkit::assert_same;

use crate::child::{What, run};
use crate::crash::{contents_are_there, no_file_is_left, nothing_is_left};
use crate::world::{WHOLE, World, odd_tree};

/// EPERM, EINTR, EIO, EACCES, EXDEV, EINVAL, ENOSPC, EROFS, and EMLINK. These numbers are the same
/// on every Linux platform that Rust supports.
const ERRORS: [i32; 9] = [1, 4, 5, 13, 18, 22, 28, 30, 31];

fn fails_everywhere(kind: Kind, what: What, rounds: usize) {
    // In each round, a change fails with a different error. Successive changes also fail with different errors.
    for round in 0..rounds {
        for number in 0.. {
            let errno = ERRORS[(usize::try_from(number).expect("few") + 3 * round) % ERRORS.len()];
            let world = World::new(&odd_tree());
            let before = world.snapshot();
            if what == What::Undo {
                world.apply(kind);
            }
            let ended = run(&world.folder(), what, number, ChangeFault::Fail(errno));
            contents_are_there(&world, &before, &ended.account);
            while world.undo().is_some_and(|undone| undone.done > 0) {}
            let after = world.snapshot();
            let same = std::panic::catch_unwind(|| {
                assert_same(&before, &after, WHOLE - testkit::Compare::DIR_MTIMES);
            });
            assert!(same.is_ok(), "error {errno} at change {number}: {}", ended.account);
            match what {
                // If this run could not remove a directory, the next run removes it.
                What::Apply(_) => nothing_is_left(&world, number),
                _ => no_file_is_left(&world, number),
            }
            if ended.changes.expect("runs to the end") <= number {
                break;
            }
        }
    }
}

#[test]
fn any_change_of_a_hardlink_run_may_fail() {
    fails_everywhere(Kind::Hardlink, What::Apply(Kind::Hardlink), 3);
}

#[test]
fn any_change_of_a_delete_run_may_fail() {
    fails_everywhere(Kind::Delete, What::Apply(Kind::Delete), 3);
}

#[test]
fn any_change_of_a_symlink_run_may_fail() {
    fails_everywhere(Kind::Symlink, What::Apply(Kind::Symlink), 3);
}

#[test]
fn any_change_of_a_quarantine_run_may_fail() {
    fails_everywhere(Kind::Quarantine, What::Apply(Kind::Quarantine), 3);
}

#[test]
fn any_change_of_a_sweep_may_fail() {
    fails_everywhere(Kind::Sweep, What::Apply(Kind::Sweep), 3);
}

#[test]
fn any_change_of_a_run_that_separates_names_may_fail() {
    fails_everywhere(Kind::Separate, What::Apply(Kind::Separate), 3);
}

#[test]
fn any_change_of_an_undo_may_fail() {
    for kind in [Kind::Hardlink, Kind::Delete, Kind::Quarantine, Kind::Separate, Kind::Sweep] {
        fails_everywhere(kind, What::Undo, 1);
    }
}
