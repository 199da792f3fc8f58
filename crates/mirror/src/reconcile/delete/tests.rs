//! Tests of the conditions under which extraneous entries are kept.

use testkit::TreeBuilder;
use wire::{KeptReason, Removal};

use super::Deleter;
use crate::engine::extraneous::Extraneous;
use crate::engine::fixture::{Fixture, plain};
use crate::model::dir_node::DirNode;
use crate::outcome::Outcome;
use crate::{Consent, Options};

/// Returns an extraneous file, and an extraneous directory with two entries.
fn two_extraneous() -> (Fixture, Extraneous) {
    let tree = TreeBuilder::new().file("from/a", "a").file("to/x", "x");
    let fixture = Fixture::new(&tree.file("to/y/1", "1").file("to/y/2", "2"));
    let mut extraneous = Extraneous::default();
    extraneous.add(&DirNode::top(), &[c"x", c"y"]);
    (fixture, extraneous)
}

/// Returns the reason why the entries would be kept after a run with the outcome `found`.
fn reason(options: &Options, mut found: Outcome, ask: Option<Consent<'_>>) -> Option<KeptReason> {
    let (fixture, extraneous) = two_extraneous();
    let job = fixture.job(options);
    let guard = purge::Guard::new(None, &[]);
    let mut deleter = Deleter { job: &job, guard, outcome: &mut found, lookalike: None };
    deleter.reason_to_keep(&extraneous, ask)
}

fn all_read() -> Outcome {
    let mut outcome = Outcome::default();
    outcome.has_files = true;
    outcome
}

#[test]
fn nothing_is_deleted_unless_all_of_the_source_was_read() {
    let options = Options { delete: true, ..plain() };
    assert_eq!(reason(&options, all_read(), None), None);
    let mut failed = all_read();
    failed.counts.source_failed = true;
    assert_eq!(reason(&options, failed, None), Some(KeptReason::SourceFailed));
}

#[test]
fn a_source_without_files_deletes_only_if_that_is_allowed() {
    let options = Options { delete: true, ..plain() };
    assert_eq!(reason(&options, Outcome::default(), None), Some(KeptReason::SourceEmpty));
    let options = Options { allow_empty: true, ..options };
    assert_eq!(reason(&options, Outcome::default(), None), None);
}

#[test]
fn the_limit_counts_entries_and_not_names() {
    for (most, kept) in [(3, Some(KeptReason::TooMany)), (4, None)] {
        let options = Options { delete: true, max_delete: Some(most), ..plain() };
        assert_eq!(reason(&options, all_read(), None), kept, "{most}");
    }
}

#[test]
fn the_user_decides_with_the_figures_at_hand_and_not_in_a_dry_run() {
    let options = Options { delete: true, ..plain() };
    let decline = |removal: &Removal| {
        assert_eq!((removal.entries, removal.names), (4, 2));
        assert_eq!(removal.some, [b"x".to_vec(), b"y".to_vec()]);
        false
    };
    assert_eq!(reason(&options, all_read(), Some(&decline)), Some(KeptReason::Declined));
    assert_eq!(reason(&options, all_read(), Some(&|_| true)), None);
    let dry_run = Options { dry_run: true, ..options };
    assert_eq!(reason(&dry_run, all_read(), Some(&|_| panic!("is not asked"))), None);
}

#[test]
fn everything_that_is_kept_is_counted_by_name() {
    let (fixture, extraneous) = two_extraneous();
    let options = Options { delete: true, max_delete: Some(3), ..plain() };
    let (job, mut outcome) = (fixture.job(&options), all_read());
    extraneous.delete(&job, &mut outcome, None);
    assert_eq!(
        (outcome.counts.kept, outcome.counts.kept_entries, outcome.counts.removed),
        (2, 4, 0)
    );
    assert!(fixture.tree.join("to/y/2").exists() && fixture.tree.join("to/x").exists());
}
