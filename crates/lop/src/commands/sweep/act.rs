//! `--apply` and `--delete`: asks, takes the entries, and reports the result.

use std::sync::Arc;

use runtime::Progress;

use super::conclusion::Report;
use super::delete::{self, Removed};
use super::quarantine;
use super::summary::Summary;
use super::taking::Batch;
use crate::args::SweepArgs;
use crate::commands::purge::guard;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::monitor::Monitor;
use crate::output::problems;
use crate::prompt::confirm::{Question, can_ask};
use crate::settings::{Resources, Settings, Verbosity};

/// Takes entries.
///
/// # Errors
///
/// Fails if the user declines, if the run cannot start, or on an interrupt. The changes made before an interrupt are
/// kept.
pub(super) fn take(
    batches: &[Batch<'_>],
    args: &SweepArgs,
    settings: &Settings,
    report: &Report<'_>,
) -> Result<Exit, CommandError> {
    let wanted = Summary::of_batches(batches);
    if wanted.matches == 0 {
        return report.conclude(
            Summary::default(),
            Summary::nothing_text,
            Ok(()),
            || Ok(()),
            settings,
        );
    }
    confirm(&wanted, args, settings)?;
    let resources = Resources::of(&args.storage);
    if args.delete {
        remove(batches, report, &resources, settings)
    } else {
        quarantine::move_aside(batches, report, &resources, settings)
    }
}

/// Asks for confirmation on a terminal. With `--quiet`, only `--delete` asks.
fn confirm(wanted: &Summary, args: &SweepArgs, settings: &Settings) -> Result<(), CommandError> {
    let is_quiet = settings.verbosity == Verbosity::Quiet && !args.delete;
    if is_quiet || !can_ask(args.yes) {
        return Ok(());
    }
    let amount = wanted.amount();
    let (about, prompt) = if args.delete {
        (format!("{amount} would be removed for good"), "Remove them? They cannot be restored.")
    } else {
        (format!("{amount} would be moved to quarantine"), "Move them?")
    };
    let question = Question { about, paths: Vec::new(), of: 0, prompt };
    if question.ask(settings)? {
        Ok(())
    } else {
        Err(CommandError::new(Exit::Refused, "nothing was changed"))
    }
}

fn remove(
    batches: &[Batch<'_>],
    report: &Report<'_>,
    resources: &Resources,
    settings: &Settings,
) -> Result<Exit, CommandError> {
    let progress = Arc::new(Progress::default());
    let monitor = Monitor::begin(&progress, settings)?;
    let Removed { mut summary, problems, failed, ended } =
        delete::remove(batches, &guard(settings), resources, &progress);
    let ended = ended.and(monitor.finish()).map_err(Into::into);
    problems::print_some(&problems, failed, settings);
    summary.failed = failed;
    report.conclude(summary, Summary::removed_text, ended, || Ok(()), settings)
}
