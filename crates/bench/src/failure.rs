//! Errors of this crate: a message for the person at the terminal.

use std::fmt;
use std::path::Path;

/// A message, with the path or command that it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure(String);

impl Failure {
    /// Returns a failure with a message.
    pub fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }

    /// Returns a failure about a path.
    pub fn at(path: &Path, reason: impl fmt::Display) -> Self {
        Self(format!("{}: {reason}", path.display()))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}
