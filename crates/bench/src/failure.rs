//! Why something could not be done, for the person at the terminal.

use std::fmt;
use std::path::Path;

/// A reason, with the path or command it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure(String);

impl Failure {
    /// A reason in words.
    pub fn new(reason: impl Into<String>) -> Self {
        Self(reason.into())
    }

    /// What went wrong with a path.
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
