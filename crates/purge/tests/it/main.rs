//! Trees, removed.
