//! The confirmation before a command removes much that cannot be restored: on a terminal it asks once.
//!
//! A script is never asked, so that it cannot hang.

use std::io::{self, IsTerminal, Write};

use crate::error::CommandError;
use crate::monitor::interrupt;
use crate::quantity::count;
use crate::settings::Settings;

/// More files or entries than this are not removed without a question.
pub(crate) const CONFIRM_ABOVE: u64 = 1000;

/// This few entries are removed without a question, however large a part of the whole they are.
pub(crate) const NEVER_CONFIRM_UP_TO: u64 = 10;

/// How many paths a question lists.
const MAX_LISTED_PATHS: usize = 5;

/// Returns whether there is a user who can be asked and who did not give `--yes`.
pub(crate) fn can_ask(yes: bool) -> bool {
    !yes && io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// A question to the user.
pub(crate) struct Question<'q> {
    /// The subject of the question: a sentence, with a colon at the end if paths follow.
    pub(crate) about: String,
    /// Some of the paths, out of `of`.
    pub(crate) paths: Vec<&'q [u8]>,
    pub(crate) of: u64,
    /// The question itself: "Remove them?"
    pub(crate) prompt: &'q str,
}

impl Question<'_> {
    /// Asks, and returns whether the answer was yes. The end of the input counts as no.
    ///
    /// # Errors
    ///
    /// Fails if the answer could not be read.
    pub(crate) fn ask(&self, settings: &Settings) -> Result<bool, CommandError> {
        let shown = &self.paths[..self.paths.len().min(MAX_LISTED_PATHS)];
        settings.complain(self.about.as_bytes());
        for path in shown {
            let path = settings.stderr.names.show_line(path);
            settings.stderr.note(&[b"  ", &*path].concat());
        }
        let rest = self.of.saturating_sub(shown.len() as u64);
        if rest > 0 && !shown.is_empty() {
            settings.note(&format!("  \u{2026} and {} more", count(rest)));
        }
        let mut stderr = io::stderr().lock();
        let _unseen = write!(stderr, "{} [y/N] ", self.prompt).and_then(|()| stderr.flush());
        let mut answer = String::new();
        // Ctrl-C ends the program here, because nothing is being changed.
        let read = interrupt::default_during(|| io::stdin().read_line(&mut answer));
        read.map_err(|e| CommandError::failed("cannot read the answer").because(e))?;
        Ok(matches!(answer.trim(), "y" | "Y" | "yes" | "Yes" | "YES"))
    }
}
