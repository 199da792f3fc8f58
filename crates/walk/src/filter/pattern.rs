//! Small types for patterns: their purpose, and their errors.

/// An invalid pattern.
#[derive(Debug, thiserror::Error)]
#[error("pattern {pattern:?}: {reason}")]
pub struct FilterError {
    /// The pattern as given.
    pub pattern: String,
    /// The reason why it is invalid.
    pub reason: String,
}

/// The purpose of a set of patterns. It decides how an ambiguous pattern is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternUse {
    /// The patterns select entries to act on. An absolute path into the top directory is read only
    /// as a path.
    Include,
    /// The patterns select entries to leave alone. All readings apply.
    Exclude,
}

/// A pattern with two meanings: one relative to the top directory, and another as a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AmbiguousPattern {
    /// The pattern as typed.
    pub typed: String,
    /// The pattern relative to the top directory, as an absolute path.
    pub inside: String,
    /// The pattern as a path, made absolute.
    pub path: String,
}
