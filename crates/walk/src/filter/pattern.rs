//! Small types that describe the purpose and the errors of patterns.

/// An invalid pattern.
#[derive(Debug, thiserror::Error)]
#[error("pattern {pattern:?}: {reason}")]
pub struct FilterError {
    /// The pattern as given.
    pub pattern: String,
    /// The reason why it is invalid.
    pub reason: String,
}

/// The purpose of a set of patterns. It determines how an ambiguous pattern is interpreted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternUse {
    /// The patterns select entries to act on. An absolute path into the top directory is
    /// interpreted only as a path.
    Include,
    /// The patterns select entries to leave alone. All interpretations apply.
    Exclude,
}

/// A pattern with two meanings: one relative to the top directory, and another as a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AmbiguousPattern {
    /// The pattern as typed.
    pub typed: String,
    /// The absolute path that the pattern denotes if it is relative to the top directory.
    pub inside: String,
    /// The absolute path that the pattern denotes if it is a path into the top directory.
    pub path: String,
}
