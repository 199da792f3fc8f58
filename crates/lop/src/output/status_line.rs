//! A line on the terminal that shows the state of a command that runs for a long time.

use std::io::{self, Write};
use std::time::{Duration, Instant};

use crate::output::terminal::{columns, cut};
use crate::settings::{ProgressStyle, Settings};

/// Interval between two updates of the line.
const INTERVAL: Duration = Duration::from_secs(2);

/// The line. It exists only on a terminal, and if progress is shown.
#[derive(Debug)]
pub(crate) struct StatusLine {
    is_shown: bool,
    drawn: Option<Instant>,
}

impl StatusLine {
    pub(crate) fn new(settings: &Settings) -> StatusLine {
        let is_shown = settings.stderr.terminal && settings.progress == ProgressStyle::Text;
        StatusLine { is_shown, drawn: None }
    }

    /// Shows the text if the line is due.
    pub(crate) fn show(&mut self, text: impl FnOnce() -> String) {
        let now = Instant::now();
        if self.is_shown && self.drawn.is_none_or(|drawn| now >= drawn + INTERVAL) {
            self.drawn = Some(now);
            let text = text();
            // A line of the full width would wrap on some terminals.
            let text = cut(&text, columns(Some(io::stderr())) - 1);
            let _unseen = write!(io::stderr().lock(), "\r{text}\x1b[K");
        }
    }

    /// Removes the line.
    pub(crate) fn clear(&mut self) {
        if self.drawn.take().is_some() {
            let _unseen = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }
}
