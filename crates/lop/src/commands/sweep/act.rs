//! `--apply` and `--delete`: asks, takes the entries, and reports the result.

use std::io::Write;
use std::sync::Arc;

use runtime::Progress;

use super::delete::{self, Removed};
use super::quarantine;
use super::summary::Summary;
use super::taking::Batch;
use crate::acting::conclusion::not_updated;
use crate::args::SweepArgs;
use crate::commands::purge::guard;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::monitor::Monitor;
use crate::output::{problems, stdout};
use crate::prompt::confirm::{Question, can_ask};
use crate::settings::{Resources, Settings, Verbosity};

/// How to report a run.
pub(super) struct Report<'r> {
    /// What is known before the run: entries that are left alone or could not be examined.
    pub(super) before: Summary,
    /// Returns the JSON document with the totals of the run.
    pub(super) document: &'r dyn Fn(&Summary) -> String,
}

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
    let resources = Resources::new(args.threads, args.io.into());
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

impl Report<'_> {
    /// Prints the result, calls `update` to record the changes in the catalog, and returns the exit code.
    ///
    /// # Errors
    ///
    /// Returns the error in `ended`, which stopped the run early.
    pub(super) fn conclude(
        &self,
        mut summary: Summary,
        text: fn(&Summary) -> String,
        ended: Result<(), CommandError>,
        update: impl FnOnce() -> Result<(), CommandError>,
        settings: &Settings,
    ) -> Result<Exit, CommandError> {
        summary.failed += self.before.failed;
        summary.problems += self.before.problems;
        if settings.json {
            let document = (self.document)(&summary);
            stdout::print(|out| writeln!(out, "{document}"))?;
        }
        let text = text(&summary);
        settings.summarize(text.as_bytes());
        let updated = update().inspect_err(|error| settings.report(&not_updated(error)));
        let is_partial = summary.failed + summary.problems > 0 || updated.is_err();
        let exit = Exit::Done.partial_if(is_partial);
        settings.finish(ended, exit, text.as_bytes())
    }
}
