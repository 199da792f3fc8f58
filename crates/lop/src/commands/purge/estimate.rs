//! How much a removal will be, counted before it begins: for the question, and for a line of progress.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use purge::{Deed, Options, Target};
use runtime::Progress;

use crate::error::CommandError;
use crate::monitor::Monitor;
use crate::prompt::confirm::{MANY, Question};
use crate::quantity::count;
use crate::settings::Patterns;
use crate::settings::Settings;

/// How long entries are counted ahead: whoever waits for a removal of hours does not mind, and one of
/// seconds needs no forecast.
const PATIENCE: Duration = Duration::from_secs(2);

/// What was counted before anything is removed.
pub(super) struct Estimate {
    pub(super) entries: u64,
    /// There was time enough for all of it.
    pub(super) whole: bool,
}

impl Estimate {
    /// Counts what `options` select of `targets`, for as long as that is bearable.
    pub(super) fn count(
        targets: &[Target],
        options: &Options,
        settings: &Settings,
    ) -> Result<Estimate, CommandError> {
        let progress = Arc::new(Progress::default());
        let monitor = Monitor::begin(&progress, settings)?;
        let bell = Arc::clone(&progress);
        // Where no thread can be started it takes as long as it takes.
        let _unstarted = std::thread::Builder::new().spawn(move || {
            std::thread::sleep(PATIENCE);
            bell.stop();
        });
        let throttle = Arc::default();
        let options = Options { deed: Deed::Count, throttle, ..options.clone() };
        let (outcome, ended) = purge::purge(targets, &options, &progress, None);
        monitor.finish()?;
        Ok(Estimate { entries: outcome.files + outcome.dirs, whole: ended.is_ok() })
    }

    /// Returns whether it may go: little does without a question, unless a pattern matched nothing, which may
    /// be a slip.
    pub(super) fn may_go(
        &self,
        paths: &[PathBuf],
        patterns: &Patterns,
        settings: &Settings,
    ) -> Result<bool, CommandError> {
        let unmatched = patterns.unmatched();
        let is_little = self.entries == 0 || self.entries <= MANY && unmatched.is_empty();
        if self.whole && is_little {
            return Ok(true);
        }
        let least = if self.whole { "" } else { "more than " };
        let slips = unmatched.into_iter().map(|option| format!("{option} matched nothing; "));
        let slips: String = slips.collect();
        let question = Question {
            about: format!("{slips}{least}{} entries would be removed:", count(self.entries)),
            paths: paths.iter().map(|path| path.as_os_str().as_encoded_bytes()).collect(),
            of: paths.len() as u64,
            ask: "Remove them? They cannot be brought back.",
        };
        question.put(settings)
    }
}
