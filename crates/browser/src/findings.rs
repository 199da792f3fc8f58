//! The complaints of the browser about the pages that a test opened.
//!
//! All of them arrive through the log of the console, because this log outlasts a page. The script
//! `observers.js` adds long tasks and violations of the content security policy to it.

use std::fmt;
use std::time::Duration;

use serde_json::Value;

/// The word before each message of `observers.js`.
const MARK: &str = "lop-browser ";

/// A task on the main thread of a page that took more than 50 ms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LongTask {
    /// The duration of the task.
    pub duration: Duration,
    /// The processor time that the main thread used since the log was last read. The task used at
    /// most this much.
    pub processor_time: Duration,
    /// The start of the task and the path of the page.
    pub place: String,
}

/// Everything that the browser complained about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Findings {
    /// Errors and warnings in the console, including uncaught exceptions and failed requests.
    pub console: Vec<String>,
    /// Violations of the content security policy.
    pub csp: Vec<String>,
    /// Tasks that took longer than the browser allows itself between two frames.
    pub long_tasks: Vec<LongTask>,
}

impl Findings {
    /// Returns whether the browser complained about nothing.
    pub fn is_empty(&self) -> bool {
        self.console.is_empty() && self.csp.is_empty() && self.long_tasks.is_empty()
    }

    /// Adds an entry of the console's log. `used` is the processor time of the main thread since
    /// the log was last read.
    pub(crate) fn add(&mut self, entry: &Value, used: Duration) {
        let text = |key: &str| entry[key].as_str().unwrap_or_default();
        let message = text("message");
        if let Some((_, own)) = message.split_once(MARK) {
            self.add_own(own.trim_end_matches('"'), used);
        } else if ["SEVERE", "WARNING"].contains(&text("level")) {
            self.console.push(format!("{}: {message}", text("level")));
        }
    }

    fn add_own(&mut self, message: &str, used: Duration) {
        if let Some(violation) = message.strip_prefix("csp ") {
            self.csp.push(violation.to_owned());
        } else if let Some(task) = message.strip_prefix("longtask ") {
            let (millis, place) = task.split_once(' ').unwrap_or((task, ""));
            let duration = Duration::from_millis(millis.parse().unwrap_or(u64::MAX));
            let place = place.to_owned();
            self.long_tasks.push(LongTask { duration, processor_time: used, place });
        }
    }

    /// Removes the complaints that a test expects, and tasks that took at most `limit` or used at most
    /// this much processor time.
    pub(crate) fn without(mut self, expected: &[String], limit: Duration) -> Self {
        let is_new = |text: &String| !expected.iter().any(|part| text.contains(part));
        self.console.retain(is_new);
        self.csp.retain(is_new);
        self.long_tasks.retain(|task| task.duration.min(task.processor_time) > limit);
        self
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for message in &self.console {
            writeln!(f, "console: {message}")?;
        }
        for violation in &self.csp {
            writeln!(f, "content security policy: {violation}")?;
        }
        for LongTask { duration, processor_time, place } in &self.long_tasks {
            writeln!(f, "long task: {duration:?} {place}, processor time <= {processor_time:?}")?;
        }
        Ok(())
    }
}
