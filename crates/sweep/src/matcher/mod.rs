//! Matches the names of a tree against all rules at once.

pub mod fold;
