//! Ends a sweep that took entries: prints the result, updates the catalog, and returns the exit code.
//!
//! The result is printed even if the run stopped early, because its changes are not reverted.

use std::io::Write;

use super::summary::Summary;
use crate::acting::conclusion::not_updated;
use crate::error::CommandError;
use crate::exit::Exit;
use crate::output::stdout;
use crate::settings::Settings;

/// How to report a run.
pub(super) struct Report<'r> {
    /// The entries that were left alone or could not be examined before the run began.
    pub(super) before: Summary,
    /// Returns the JSON document with the totals of the run.
    pub(super) document: &'r dyn Fn(&Summary) -> String,
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
