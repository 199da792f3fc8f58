//! Matches the names of a tree against all rules at once.
//!
//! [`automaton`] holds the patterns of all rules as one trie per variable. [`routes`] leads from the
//! target to the directories that the variables are bound to. The cost of a name depends on the
//! number of patterns that are still possible in its directory, and not on the number of rules.

pub(crate) mod automaton;
pub mod fold;
pub(crate) mod routes;
