//! Counts the entries that would be removed, for the confirmation and the progress line.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use purge::{Operation, Options, Target};
use runtime::Progress;

use crate::error::CommandError;
use crate::monitor::Monitor;
use crate::prompt::confirm::{CONFIRM_ABOVE, Question};
use crate::quantity::count;
use crate::settings::{Patterns, Settings};

/// Time limit for the count. Two seconds are negligible if the removal takes hours, and a removal that takes seconds
/// needs no estimate.
const TIME_LIMIT: Duration = Duration::from_secs(2);

/// The number of entries that would be removed.
pub(super) struct Estimate {
    pub(super) entries: u64,
    /// True if the count finished within the time limit.
    pub(super) is_complete: bool,
}

impl Estimate {
    /// Counts the entries of `targets` that `options` select, within a time limit.
    ///
    /// # Errors
    ///
    /// Fails on an interrupt.
    pub(super) fn count(
        targets: &[Target],
        options: &Options,
        settings: &Settings,
    ) -> Result<Estimate, CommandError> {
        let progress = Arc::new(Progress::default());
        let monitor = Monitor::begin(&progress, settings)?;
        let timer = Arc::clone(&progress);
        // If the thread cannot be started, the count has no time limit.
        let _unstarted = std::thread::Builder::new().spawn(move || {
            std::thread::sleep(TIME_LIMIT);
            timer.stop();
        });
        let throttle = Arc::default();
        let options = Options { operation: Operation::Count, throttle, ..options.clone() };
        let (outcome, ended) = purge::purge(targets, &options, &progress, None);
        monitor.finish()?;
        Ok(Estimate { entries: outcome.files + outcome.dirs, is_complete: ended.is_ok() })
    }

    /// Asks the user for confirmation, and returns whether the removal may begin. A small removal needs no confirmation
    /// unless a pattern matched nothing, because such a pattern may be mistyped.
    ///
    /// # Errors
    ///
    /// Fails if the answer could not be read.
    pub(super) fn is_confirmed(
        &self,
        paths: &[PathBuf],
        patterns: &Patterns,
        settings: &Settings,
    ) -> Result<bool, CommandError> {
        let unmatched = patterns.unmatched();
        let is_little = self.entries == 0 || self.entries <= CONFIRM_ABOVE && unmatched.is_empty();
        if self.is_complete && is_little {
            return Ok(true);
        }
        let more_than = if self.is_complete { "" } else { "more than " };
        let unmatched_text =
            unmatched.into_iter().map(|option| format!("{option} matched nothing; "));
        let unmatched_text: String = unmatched_text.collect();
        let question = Question {
            about: format!(
                "{unmatched_text}{more_than}{} entries would be removed:",
                count(self.entries)
            ),
            paths: paths.iter().map(|path| path.as_os_str().as_encoded_bytes()).collect(),
            of: paths.len() as u64,
            prompt: "Remove them? They cannot be restored.",
        };
        question.ask(settings)
    }
}
