//! Tests of the crate on real trees.

mod rule_files;
