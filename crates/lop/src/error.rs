//! The error type of all commands.
//!
//! Libraries return errors, and only the binary adds advice on what to do about them ([`CommandError::hint`]).
//! `Settings` prints the errors, so this module depends only on the exit codes.

use std::error::Error;
use std::io;

pub(crate) use fsops::io_text;

use crate::exit::Exit;

/// A command's error: a message, its cause, the exit code, and advice for the user.
#[derive(Debug)]
pub(crate) struct CommandError {
    pub(crate) exit: Exit,
    message: String,
    source: Option<Box<dyn Error + Send + Sync>>,
    hints: Vec<String>,
}

impl CommandError {
    /// Returns an error that ends the run with `exit`.
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        CommandError { exit, message: message.into(), source: None, hints: Vec::new() }
    }

    /// Returns an error with the exit code [`Exit::Failed`].
    pub(crate) fn failed(message: impl Into<String>) -> Self {
        CommandError::new(Exit::Failed, message)
    }

    /// Returns an error with the exit code [`Exit::Usage`].
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        CommandError::new(Exit::Usage, message)
    }

    /// Adds the cause of the error.
    pub(crate) fn because(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Replaces the exit code.
    pub(crate) fn with_exit(mut self, exit: Exit) -> Self {
        self.exit = exit;
        self
    }

    /// Adds a hint that tells the user what to do.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Returns the message and all causes in the form "message: cause: cause of the cause".
    pub(crate) fn text(&self) -> String {
        let mut text = self.message.clone();
        let mut cause = self.source.as_deref().map(|e| e as &(dyn Error + 'static));
        let mut last = String::new();
        while let Some(error) = cause {
            let said = plain(error);
            // SQLite repeats its message as its own cause, prefixed with a number.
            if last.is_empty() || !said.ends_with(&last) {
                text.push_str(": ");
                text.push_str(&said);
            }
            last = said;
            cause = error.source();
        }
        text
    }

    /// Returns the hints in the order in which they were added.
    pub(crate) fn hints(&self) -> &[String] {
        &self.hints
    }
}

impl From<runtime::Interrupted> for CommandError {
    fn from(_: runtime::Interrupted) -> Self {
        CommandError::new(Exit::Interrupted, "interrupted")
    }
}

impl From<fsops::Error> for CommandError {
    fn from(error: fsops::Error) -> Self {
        let message = error.to_string();
        CommandError::failed(message).because(error.source)
    }
}

/// Returns the text of an error without the error number that the standard library appends to system messages.
fn plain(error: &(dyn Error + 'static)) -> String {
    match error.downcast_ref::<io::Error>() {
        Some(error) => io_text(error),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::{CommandError, io_text};

    #[test]
    fn text_is_the_message_and_its_causes() {
        let io = std::io::Error::from_raw_os_error(13);
        let error = CommandError::failed("cannot open x").because(io);
        assert_eq!(error.text(), "cannot open x: Permission denied");
    }

    #[test]
    fn an_error_without_a_number_keeps_its_text() {
        assert_eq!(io_text(&std::io::Error::other("odd")), "odd");
    }
}
