//! One policy for what cannot be taken back: on a terminal the user is asked, once, before much goes.
//!
//! A script is never asked, so that it cannot hang.

use std::io::{self, IsTerminal, Write};

use crate::error::CommandError;
use crate::monitor::interrupt;
use crate::quantity::count;
use crate::settings::Settings;

/// More than this does not go without a question.
pub(crate) const MANY: u64 = 1000;

/// As little as this goes without a question, whatever part of the whole it is.
pub(crate) const FEW: u64 = 10;

/// Paths that a question names.
const NAMED: usize = 5;

/// Returns whether somebody is there who can be asked, and did not say `--yes`.
pub(crate) fn can_ask(yes: bool) -> bool {
    !yes && io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// What somebody is asked about.
pub(crate) struct Question<'q> {
    /// What it is about, as a sentence that ends in a colon if paths follow.
    pub(crate) about: String,
    /// Some paths, of so many.
    pub(crate) paths: Vec<&'q [u8]>,
    pub(crate) of: u64,
    /// The question itself: "Remove them?"
    pub(crate) ask: &'q str,
}

impl Question<'_> {
    /// Asks, and returns whether the answer was yes. The end of the input is a no.
    ///
    /// # Errors
    ///
    /// The answer could not be read.
    pub(crate) fn put(&self, settings: &Settings) -> Result<bool, CommandError> {
        let shown = &self.paths[..self.paths.len().min(NAMED)];
        settings.complain(self.about.as_bytes());
        for path in shown {
            let path = settings.stderr.names.show_line(path);
            settings.note_bytes(&[b"  ", &*path].concat());
        }
        let rest = self.of.saturating_sub(shown.len() as u64);
        if rest > 0 && !shown.is_empty() {
            settings.note(&format!("  \u{2026} and {} more", count(rest)));
        }
        let mut stderr = io::stderr().lock();
        let _unseen = write!(stderr, "{} [y/N] ", self.ask).and_then(|()| stderr.flush());
        let mut answer = String::new();
        // Ctrl-C ends the program here, as nothing is under way.
        let read = interrupt::default_during(|| io::stdin().read_line(&mut answer));
        read.map_err(|e| CommandError::failed("cannot read the answer").because(e))?;
        Ok(matches!(answer.trim(), "y" | "Y" | "yes" | "Yes" | "YES"))
    }
}
