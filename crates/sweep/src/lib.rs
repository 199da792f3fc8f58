//! Finds junk by rules. This crate reads rule files, checks the rules, binds their variables to the
//! directories of a target, and walks only the directories that a rule can reach. It never changes
//! the target.
//!
//! | module | contents |
//! |---|---|
//! | [`rule`] | rules, independent of file formats: patterns, variables, conditions |
//! | [`formats`] | reads TOML, winapp2.ini, CleanerML and tmpfiles.d |
//! | [`bindings`] | finds the directories that play the role of each variable |
//! | [`guard`] | refuses rules that could take too much |
//! | [`matcher`] | compiles the rules and matches names |
//! | [`preview`] | the walk, and what each rule would take |
//! | [`explain`] | why a rule matches a path |
//! | [`sums`] | sums that show later whether a tree has changed |

pub mod bindings;
pub mod explain;
pub mod formats;
mod git;
pub mod guard;
pub mod matcher;
pub mod preview;
pub mod rule;
pub mod sums;
