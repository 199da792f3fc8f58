//! The path of a directory can decide whether the files in it match a filter.

/// The result of testing the path of a directory, for all files in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// No file directly in the directory matches.
    None,
    /// All files in the directory and in its subdirectories match.
    All,
    /// The names decide. The parts of a word before and after its last slash match separately.
    Joint,
    /// The names decide.
    Names,
}
