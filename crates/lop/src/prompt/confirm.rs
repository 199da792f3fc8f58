//! Confirmation on the terminal before a command removes many entries that cannot be restored.
//!
//! Scripts are never asked, so they cannot hang.

use std::io::{self, IsTerminal, Write};

use crate::error::CommandError;
use crate::monitor::interrupt;
use crate::quantity::count;
use crate::settings::Settings;

/// Number of files or entries above which a removal must be confirmed.
pub(crate) const CONFIRM_ABOVE: u64 = 1000;

/// Number of entries up to which no confirmation is needed, even if they are a large part of the whole.
pub(crate) const NEVER_CONFIRM_UP_TO: u64 = 10;

/// Maximum number of paths in a question.
const MAX_LISTED_PATHS: usize = 5;

/// Returns true if `--yes` was not given and there is a terminal to ask on.
pub(crate) fn can_ask(yes: bool) -> bool {
    !yes && io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// A question to the user.
pub(crate) struct Question<'q> {
    /// Introduction to the question. A sentence, which ends with a colon if paths follow.
    pub(crate) about: String,
    /// Example paths, out of `of` in total.
    pub(crate) paths: Vec<&'q [u8]>,
    pub(crate) of: u64,
    /// The question itself, such as "Remove them?".
    pub(crate) prompt: &'q str,
}

impl Question<'_> {
    /// Asks the question and returns true if the answer is yes. The end of the input counts as no.
    ///
    /// # Errors
    ///
    /// Fails if the answer cannot be read.
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
