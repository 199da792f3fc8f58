//! Small types of patterns: their purpose, and what can be wrong with them.

/// An invalid pattern.
#[derive(Debug, thiserror::Error)]
#[error("pattern {pattern:?}: {reason}")]
pub struct FilterError {
    /// The pattern as given.
    pub pattern: String,
    /// The reason why it is invalid.
    pub reason: String,
}

/// The purpose of a set of patterns. It decides between two readings of one pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// The patterns select entries to act on. A path into the top directory is only read as that
    /// path.
    Include,
    /// The patterns select entries to leave alone. All readings count.
    Exclude,
}

/// A pattern that means one thing relative to the top directory, and another thing as a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Twofold {
    /// The pattern as typed.
    pub typed: String,
    /// The meaning relative to the top directory, as an absolute path.
    pub inside: String,
    /// The meaning as a path, made absolute.
    pub path: String,
}
