//! `--apply`: moves the entries to quarantine as a run that `lop undo` reverts.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use action::run::ApplyOutcome;
use action::sweep::{SweepEntry, SweepOptions, VerifyTree};
use catalog::Catalog;
use fsops::Dir;
use runtime::Progress;
use sweep::sums::TreeSums;

use super::conclusion::Report;
use super::summary::Summary;
use super::taking::{Batch, Taking, TreeProof};
use crate::acting::{catalog_update, conclusion};
use crate::error::CommandError;
use crate::exit::Exit;
use crate::monitor::Monitor;
use crate::output::problems;
use crate::settings::{Resources, Settings};

/// Moves the entries of all targets to quarantine.
///
/// # Errors
///
/// Fails if the run cannot start, or on an interrupt. Entries moved before an interrupt stay in quarantine.
pub(super) fn move_aside(
    batches: &[Batch<'_>],
    report: &Report<'_>,
    resources: &Resources,
    settings: &Settings,
) -> Result<Exit, CommandError> {
    let progress = Arc::new(Progress::default());
    // Signals are not caught yet, so Ctrl-C terminates lop while it waits for another process.
    let runs = conclusion::open_runs(&Catalog::runs_dir(&settings.catalog()?), settings)?;
    let monitor = Monitor::begin(&progress, settings)?;
    let (own, sums) = (settings.own(), sums(batches));
    let verify = |entry: &SweepEntry, top: &Dir| {
        let wanted = sums.get(&entry.path);
        wanted.is_none_or(|wanted| TreeSums::of(top, &progress).is_ok_and(|now| now == *wanted))
    };
    let verify_tree: Option<&VerifyTree<'_>> = if sums.is_empty() { None } else { Some(&verify) };
    let options = SweepOptions {
        own: &own,
        open_dirs: resources.open_dirs,
        directory_times: false,
        verify_tree,
    };
    let (run, outcome, ended) = runs.sweep(
        &options,
        each(batches).map(|(path, entry)| sweep_entry(path, entry)),
        &progress,
    )?;
    let ended = ended.and(monitor.finish().map_err(Into::into));
    drop(runs);
    problems::print(&outcome.refused, settings);
    let mut summary = moved(batches, &outcome);
    (summary.run, summary.failed) = (Some(run), outcome.refused.len() as u64);
    let update = || catalog_update::follow_run(run, &outcome.statuses, settings);
    report.conclude(summary, Summary::moved_text, ended.map_err(Into::into), update, settings)
}

/// Returns the entries of all targets with their absolute paths.
fn each<'b>(batches: &'b [Batch<'_>]) -> impl Iterator<Item = (Vec<u8>, &'b Taking<'b>)> {
    batches.iter().flat_map(|batch| {
        batch.entries.iter().map(|entry| (batch.target.absolute_path(entry.path), entry))
    })
}

fn sweep_entry(path: Vec<u8>, entry: &Taking<'_>) -> SweepEntry {
    let Taking { was, rule, files, bytes, .. } = *entry;
    SweepEntry { path, was, rule: rule.to_string(), files, bytes }
}

/// Returns the sums that directories must still have, by path.
fn sums(batches: &[Batch<'_>]) -> HashMap<Vec<u8>, TreeSums> {
    let sums = each(batches).filter_map(|(path, entry)| match entry.proof {
        TreeProof::Sums(sums) => Some((path, sums)),
        TreeProof::Since(_) => None,
    });
    sums.collect()
}

/// Returns the totals of the entries that were moved. A run takes the entries in order, so these are the first ones
/// that were not left alone.
fn moved(batches: &[Batch<'_>], outcome: &ApplyOutcome) -> Summary {
    let left: HashSet<&[u8]> =
        outcome.refused.iter().map(|refusal| refusal.path.as_slice()).collect();
    let mut summary = Summary::default();
    let taken = each(batches).filter(|(path, _)| !left.contains(path.as_slice()));
    for (_, entry) in taken.take(usize::try_from(outcome.done).unwrap_or(usize::MAX)) {
        summary.add(entry);
    }
    summary
}
